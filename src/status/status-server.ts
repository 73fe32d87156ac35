/**
 * Answers probes over HTTP: `/livez`, `/readyz` and `/status.json`. It reads nothing of a request but its method and path, and
 * makes a document at most once a second, however often it is asked.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type ListenAddress, shownAddress } from '../config/format/listen-address.ts';
import { CeleryOtelError, reasonOf } from '../errors.ts';
import type { Verdict } from './status-board.ts';
import type { StatusDocument } from './status-document.ts';

/** What there is to say. */
export interface StatusSource {
  live(): Verdict;
  ready(): Verdict;
  document(): StatusDocument;
}

export interface StatusServer {
  /** `http://HOST:PORT`. */
  readonly url: string;
  close(): Promise<void>;
}

/** Probes are small, quick and few. */
const LIMITS = {
  maxHeaderSize: 8192,
  headersTimeout: 5000,
  requestTimeout: 5000,
  connectionsCheckingInterval: 1000,
};
const CONNECTIONS_MAX = 64;
const FRESH_MS = 1000;

/** @throws CeleryOtelError STATUS_UNAVAILABLE if it cannot listen there */
export async function openStatus(address: ListenAddress, source: StatusSource): Promise<StatusServer> {
  const document = cached(() => `${JSON.stringify(source.document())}\n`);
  const server = createServer(LIMITS, (request, response) => answer(request, response, source, document));
  boundConnections(server);
  const { host, port } = address;
  await new Promise<void>((resolve, reject) => {
    // For good: once it listens, a connection that cannot be accepted is an error too, and rejects nothing any more.
    server.on('error', (cause) =>
      reject(
        new CeleryOtelError(
          'STATUS_UNAVAILABLE',
          `status_address ${shownAddress(address)}: ${reasonOf(cause)}`,
          { cause },
        ),
      ),
    );
    server.listen(port, host, resolve);
  });
  // Probes do not keep the process alive.
  server.unref();
  return {
    url: `http://${shownAddress({ host, port: portOf(server.address()) ?? port })}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The oldest one makes room for a new one: whoever holds connections keeps no probe out. */
function boundConnections(server: Server): void {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    const [oldest] = open;
    if (open.size > CONNECTIONS_MAX) oldest?.destroy();
  });
}

function answer(
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
  source: StatusSource,
  document: () => string,
): void {
  if (method !== 'GET' && method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    send(response, 405, 'text/plain', 'Only GET and HEAD.\n');
    return;
  }
  switch (url.split('?', 1)[0]) {
    case '/livez':
      sendVerdict(response, source.live());
      return;
    case '/readyz':
      sendVerdict(response, source.ready());
      return;
    case '/status.json':
      send(response, 200, 'application/json', document());
      return;
    default:
      send(response, 404, 'text/plain', 'There are /livez, /readyz and /status.json.\n');
  }
}

function sendVerdict(response: ServerResponse, verdict: Verdict): void {
  send(response, verdict.ok ? 200 : 503, 'text/plain', verdict.ok ? 'ok\n' : `${verdict.reason}\n`);
}

/** Node sends no body for HEAD. A body of the request is not read: the connection ends with the answer. */
function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    'Content-Type': `${type}; charset=utf-8`,
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  });
  response.end(text);
}

function cached(make: () => string): () => string {
  let text = '';
  let untilMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = performance.now();
    if (nowMs >= untilMs) {
      text = make();
      untilMs = nowMs + FRESH_MS;
    }
    return text;
  };
}

function portOf(address: AddressInfo | string | null): number | undefined {
  return typeof address === 'object' ? address?.port : undefined;
}
