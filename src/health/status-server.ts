/**
 * Serves probes and people over HTTP: `/livez`, `/readyz`, `/status.json`, its details and the pages. Of a request, it reads only
 * method, path, host and token, and it makes a document at most once a second, however often it is requested.
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

/** The content that is served. */
export interface StatusSource {
  live(): Verdict;
  ready(): Verdict;
  document(): StatusDocument;
  /** The text of a service’s document, by its index; undefined if there is no such service. */
  service(index: number): Promise<string | undefined>;
  /** The text of the document of one task, queue or worker; undefined if there is no such service. */
  row(row: RowPath): Promise<string | undefined>;
  /** The text of what is known of a task id. */
  find(id: string): Promise<string>;
  /** The file of the pages that a path stands for, or undefined. */
  page(path: string): PageFile | undefined;
}

/** One task, queue or worker of the service with that index. */
export interface RowPath {
  readonly service: number;
  readonly kind: 'task' | 'queue' | 'worker';
  readonly name: string;
}

export interface PageFile {
  /** Its media type. */
  readonly type: string;
  readonly text: string;
}

export interface StatusAccess {
  readonly address: ListenAddress;
  /** The token required by all paths but the probes; undefined if none is. */
  readonly token?: string;
}

export interface StatusServer {
  /** `http://HOST:PORT`. */
  readonly url: string;
  /** Whether other machines can reach it without a token. */
  readonly isOpen: boolean;
  close(): Promise<void>;
}

interface Sources extends Pick<StatusSource, 'live' | 'ready' | 'page'> {
  readonly document: () => string;
  /** By the index of the service, by the path of a row, and by an id. */
  readonly details: {
    readonly service: StatusSource['service'];
    readonly row: (path: string) => Promise<string | undefined>;
    readonly find: (id: string) => Promise<string | undefined>;
  };
  readonly events: EventStream;
}

/** Limits for requests, which are small, quick and few. */
const LIMITS = {
  maxHeaderSize: 8192,
  headersTimeout: 5000,
  requestTimeout: 5000,
  connectionsCheckingInterval: 1000,
};
const CONNECTIONS_MAX = 64;
const SERVICE_PATH = /^\/services\/(\d{1,4})\.json$/u;
const ROW_PATH = /^\/details\/(\d{1,4})\/(task|queue|worker)s\/([^/]+)$/u;
const FIND_PATH = /^\/details\/find\/([^/]+)$/u;
/** The page loads only its own files. */
const PAGE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
} as const;
const NOT_FOUND =
  'The paths are those of the pages, /livez, /readyz, /status.json, /services/0.json, /details/0/tasks/NAME (queues, workers) and /details/find/ID.\n';
const COMMON_HEADERS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  Connection: 'close',
} as const;

const MISDIRECTED =
  'On loopback, celery-otel accepts only localhost or an IP address as Host: a proxy in front must send one of these.\n';

const DENIED =
  'A token is required (status_token): send it as a bearer token, or as the password of any user.\n';
/** Browsers prompt their users, and send the credentials with everything that the page loads. */
const CHALLENGES = ['Bearer realm="celery-otel"', 'Basic realm="celery-otel", charset="UTF-8"'];

/** Also IPv4 addresses in IPv6 form (RFC 4291, 2.5.5.2). */
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
  const service = cachedEach((index: number) => source.service(index), now);
  const events = openEventStream(document);
  const row = cachedEach(
    async (path: string) => {
      const asked = rowAt(path);
      return asked && source.row(asked);
    },
    now,
    0,
  );
  const find = cachedEach((id: string) => source.find(id), now, 0);
  const details = { service, row, find };
  const sources = { ...source, document, details, events };
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
    // Keep the handler: once the server listens, failed accepts also emit 'error'.
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
  // Many texts mean loopback (`127.1`, a name), so use the address it listens on.
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

/** Whether a header contains the token, in constant time. */
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

/** A digest, so that all texts have the same length. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function isLoopbackAddress({ address, family }: AddressInfo): boolean {
  return LOOPBACK.check(address, family === 'IPv6' ? 'ipv6' : 'ipv4');
}

/**
 * Whether the Host of a request is trustworthy. A foreign page could let its own host name resolve to loopback and read
 * data meant only for this machine (DNS rebinding); IP addresses cannot be rebound, and the user chose the name in the
 * option.
 */
function namesThisMachine(host: string | undefined, own: string): boolean {
  if (host === undefined) return true;
  const name = host.replace(/:\d*$/u, '');
  return (
    name.toLowerCase() === own.toLowerCase() || isLoopback(name) || isIP(name.replace(/^\[|\]$/gu, '')) !== 0
  );
}

/** A new connection replaces the oldest, so that a client that holds connections cannot block probes. */
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

function answerOthers(path: string, response: ServerResponse, source: Sources): void {
  const details = detailsAt(path, source.details);
  const file = details === undefined ? source.page(path) : undefined;
  if (file !== undefined) {
    send(response, 200, file.type, file.text, PAGE_HEADERS);
  } else if (details === undefined) {
    send(response, 404, 'text/plain', NOT_FOUND);
  } else {
    details.then(
      (text) => {
        if (text === undefined) send(response, 404, 'text/plain', 'There is no such service.\n');
        else send(response, 200, 'application/json', text);
      },
      () => send(response, 503, 'text/plain', 'Not available at the moment.\n'),
    );
  }
}

/** The document that is made for the path; undefined if none is. */
function detailsAt(
  path: string,
  { service, row, find }: Sources['details'],
): Promise<string | undefined> | undefined {
  const [, index] = SERVICE_PATH.exec(path) ?? [];
  if (index !== undefined) return service(Number(index));
  if (rowAt(path) !== undefined) return row(path);
  const [, encoded = ''] = FIND_PATH.exec(path) ?? [];
  const id = decoded(encoded);
  return id === undefined || id === '' ? undefined : find(id);
}

function rowAt(path: string): RowPath | undefined {
  const [, service, kind, encoded = ''] = ROW_PATH.exec(path) ?? [];
  const name = decoded(encoded);
  if (name === undefined || name === '') return undefined;
  if (kind !== 'task' && kind !== 'queue' && kind !== 'worker') return undefined;
  return { service: Number(service), kind, name };
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

function sendVerdict(response: ServerResponse, verdict: Verdict): void {
  send(response, verdict.ok ? 200 : 503, 'text/plain', verdict.ok ? 'ok\n' : `${verdict.reason}\n`);
}

/** Node sends no body for HEAD. A request body is not read: the connection is closed after the response. */
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
