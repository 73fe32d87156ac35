/**
 * Answers probes and people over HTTP: `/livez`, `/readyz`, `/status.json` and the page. It reads nothing of a request but its
 * method, path, host and token, and makes a document at most once a second, however often it is asked.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, BlockList, isIP, type Socket } from 'node:net';
import { isLoopback, type ListenAddress, shownAddress } from '../config/format/listen-address.ts';
import { CeleryOtelError, reasonOf } from '../text/errors.ts';
import { cached, cachedEach } from './cached.ts';
import { type EventStream, openEventStream } from './event-stream.ts';
import type { Verdict } from './status-board.ts';
import type { StatusDocument } from './status-document.ts';

/** What there is to say. */
export interface StatusSource {
  live(): Verdict;
  ready(): Verdict;
  document(): StatusDocument;
  /** The text of the document of a service, by its place; undefined if there is none. */
  service(index: number): Promise<string | undefined>;
  /** The files of the page, by their paths. */
  readonly page: ReadonlyMap<string, PageFile>;
}

export interface PageFile {
  /** Its media type. */
  readonly type: string;
  readonly text: string;
}

export interface StatusAccess {
  readonly address: ListenAddress;
  /** Asked for by all but the probes; undefined: nothing is. */
  readonly token?: string;
}

export interface StatusServer {
  /** `http://HOST:PORT`. */
  readonly url: string;
  /** Whether others than this machine may reach it, and need no token. */
  readonly isOpen: boolean;
  close(): Promise<void>;
}

interface Sources extends Pick<StatusSource, 'live' | 'ready' | 'service' | 'page'> {
  readonly document: () => string;
  readonly events: EventStream;
}

/** Probes are small, quick and few. */
const LIMITS = {
  maxHeaderSize: 8192,
  headersTimeout: 5000,
  requestTimeout: 5000,
  connectionsCheckingInterval: 1000,
};
const CONNECTIONS_MAX = 64;
const SERVICE_PATH = /^\/services\/(\d{1,4})\.json$/u;
/** The page needs nothing but its own files. */
const PAGE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
} as const;
const COMMON_HEADERS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  Connection: 'close',
} as const;

const MISDIRECTED =
  'On loopback, celery-otel answers to localhost and to addresses alone: a proxy in front has to send one as Host.\n';

const DENIED =
  'A token is asked for (status_token): send it as a bearer token, or as the password of any user.\n';
/** Browsers ask their users, and send what these give with everything that the page loads. */
const CHALLENGES = ['Bearer realm="celery-otel"', 'Basic realm="celery-otel", charset="UTF-8"'];

/** Also as IPv6 (RFC 4291, 2.5.5.2). */
const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8);
LOOPBACK.addAddress('::1', 'ipv6');

/** @throws CeleryOtelError STATUS_UNAVAILABLE if it cannot listen there */
export async function openStatus(
  { address, token }: StatusAccess,
  source: StatusSource,
): Promise<StatusServer> {
  const now = (): number => performance.now();
  const document = cached(() => `${JSON.stringify(source.document())}\n`, now);
  const service = cachedEach((index) => source.service(index), now);
  const events = openEventStream(document);
  const sources = { ...source, document, service, events };
  const mayAsk = token === undefined ? () => true : tokenCheck(token);
  const server = createServer(LIMITS, (request, response) => {
    const { host, authorization } = request.headers;
    if (isPrivate && !namesThisMachine(host, address.host)) send(response, 421, 'text/plain', MISDIRECTED);
    else if (PROBES.has(pathOf(request)) || mayAsk(authorization)) answer(request, response, sources);
    else {
      response.setHeader('WWW-Authenticate', CHALLENGES);
      send(response, 401, 'text/plain', DENIED);
    }
  });
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
  // Many texts lead to loopback (`127.1`, a name): what counts is where it listens.
  const at = server.address();
  const isPrivate = typeof at === 'object' && at !== null && isLoopbackAddress(at);
  // Probes do not keep the process alive.
  server.unref();
  return {
    url: `http://${shownAddress({ host, port: portOf(at) ?? port })}`,
    isOpen: !isPrivate && token === undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        events.close();
        server.closeAllConnections();
      }),
  };
}

const PROBES: ReadonlySet<string> = new Set(['/livez', '/readyz']);

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1).join();
}

/** Whether a header has the token; takes the same time for all of them. */
function tokenCheck(token: string): (authorization: string | undefined) => boolean {
  const expected = digestOf(token);
  return (authorization = '') => {
    const [, scheme = '', credentials = ''] = /^(bearer|basic) +(\S{1,1024}) *$/iu.exec(authorization) ?? [];
    const given =
      scheme.toLowerCase() === 'basic'
        ? Buffer.from(credentials, 'base64')
            .toString()
            .replace(/^[^:]*:/u, '')
        : credentials;
    return timingSafeEqual(digestOf(given), expected);
  };
}

/** Of one length, whatever the text. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function isLoopbackAddress({ address, family }: AddressInfo): boolean {
  return LOOPBACK.check(address, family === 'IPv6' ? 'ipv6' : 'ipv4');
}

/**
 * Whether a browser on this machine was sent here by its user. A page of another site can let its own name lead to loopback, and
 * would read what is meant for this machine alone (DNS rebinding); addresses cannot be led anywhere, and the name in the option is its
 * user’s.
 */
function namesThisMachine(host: string | undefined, own: string): boolean {
  if (host === undefined) return true;
  const name = host.replace(/:\d*$/u, '');
  return (
    name.toLowerCase() === own.toLowerCase() || isLoopback(name) || isIP(name.replace(/^\[|\]$/gu, '')) !== 0
  );
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

function answer(request: IncomingMessage, response: ServerResponse, source: Sources): void {
  const { method } = request;
  if (method !== 'GET' && method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    send(response, 405, 'text/plain', 'Only GET and HEAD.\n');
    return;
  }
  const path = pathOf(request);
  switch (path) {
    case '/livez':
      sendVerdict(response, source.live());
      return;
    case '/readyz':
      sendVerdict(response, source.ready());
      return;
    case '/status.json':
      send(response, 200, 'application/json', source.document());
      return;
    case '/events':
      response.writeHead(200, { ...COMMON_HEADERS, 'Content-Type': 'text/event-stream; charset=utf-8' });
      if (method === 'HEAD') response.end();
      else source.events.add(response);
      return;
    default:
      answerOthers(path, response, source);
  }
}

function answerOthers(path: string, response: ServerResponse, { page, service }: Sources): void {
  const file = page.get(path);
  const [, index] = SERVICE_PATH.exec(path) ?? [];
  if (file !== undefined) {
    send(response, 200, file.type, file.text, PAGE_HEADERS);
  } else if (index === undefined) {
    send(response, 404, 'text/plain', 'There are /, /livez, /readyz, /status.json and /services/0.json.\n');
  } else {
    service(Number(index)).then(
      (text) => {
        if (text === undefined) send(response, 404, 'text/plain', 'There is no such service.\n');
        else send(response, 200, 'application/json', text);
      },
      () => send(response, 503, 'text/plain', 'It is not available now.\n'),
    );
  }
}

function sendVerdict(response: ServerResponse, verdict: Verdict): void {
  send(response, verdict.ok ? 200 : 503, 'text/plain', verdict.ok ? 'ok\n' : `${verdict.reason}\n`);
}

/** Node sends no body for HEAD. A body of the request is not read: the connection ends with the answer. */
function send(
  response: ServerResponse,
  status: number,
  type: string,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, {
    ...COMMON_HEADERS,
    ...headers,
    'Content-Type': `${type}; charset=utf-8`,
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}

function portOf(address: AddressInfo | string | null): number | undefined {
  return typeof address === 'object' ? address?.port : undefined;
}
