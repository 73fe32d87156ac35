/**
 * Sends OTLP over HTTP/1.1: one POST per request, over keep-alive connections. One deadline covers the whole request. The status
 * decides about success; a bounded part of the body is read for its message.
 *
 * It does not retry: the export loop does, with back-off and newer data. The one exception is a keep-alive connection that the
 * backend closed at the moment of its reuse, since that says nothing about the state of the backend.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { VERSION } from '../../self/version.ts';
import { CeleryOtelError, reasonOf } from '../../text/errors.ts';
import type { ExporterSettings } from '../otlp-settings.ts';
import { backendSecureContext } from './backend-tls.ts';
import type { Answer, ExporterTransport, Failure } from './exporter.ts';
import { CONTENT_TYPES, judgeHttpAnswer } from './http-answer.ts';
import { property } from './json-value.ts';
import type { Encoding } from './signal.ts';

const compress = promisify(gzip);

/** Longer responses are cut off. No backend sends nearly as much. */
const ANSWER_BYTES_MAX = 1024 * 1024;
const CLOSED = 'the exporter was closed';
/** Error codes of a connection that the other side closed. */
const CLOSED_CODES: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE']);

/** @throws CeleryOtelError `CONFIG_INVALID` */
export function createHttpTransport(settings: ExporterSettings, encoding: Encoding): ExporterTransport {
  const { timeoutMs } = settings;
  const { agent, post } = createPoster(settings, CONTENT_TYPES[encoding]);
  const underWay = new Set<Exchange>();
  let closed = false;

  async function attempt(body: Uint8Array, untilMs: number): Promise<HttpOutcome> {
    const exchange = begin(post(body));
    const late = () => exchange.stop(new Error(`no reply within ${timeoutMs} ms`));
    const timer = setTimeout(late, untilMs - performance.now());
    underWay.add(exchange);
    const outcome = await exchange.ended;
    underWay.delete(exchange);
    clearTimeout(timer);
    return outcome;
  }

  return {
    async send(body) {
      const untilMs = performance.now() + timeoutMs;
      const sent = settings.compression === 'gzip' ? await compress(body) : body;
      for (;;) {
        if (closed) return unreached(new Error(CLOSED));
        const outcome = await attempt(sent, untilMs);
        // Each stale attempt uses up one keep-alive connection, so the loop ends at the latest with a new connection.
        if (!outcome.wasStale) return judge(outcome, encoding);
      }
    },
    close() {
      closed = true;
      for (const exchange of underWay) exchange.stop(new Error(CLOSED));
      agent.destroy();
    },
  };
}

/** Checks the settings, and returns the agent with a function that posts a body. */
function createPoster(settings: ExporterSettings, contentType: string) {
  const url = URL.parse(settings.endpoint);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new CeleryOtelError(
      'CONFIG_INVALID',
      'The endpoint of OTLP over HTTP must be a URL with http: or https:.',
    );
  }
  const headers = {
    ...sendableHeaders(settings.headers),
    'content-type': contentType,
    'user-agent': `celery-otel/${VERSION} (Node.js)`,
    ...(settings.compression === 'gzip' ? { 'content-encoding': 'gzip' } : {}),
  };
  const isTls = url.protocol === 'https:';
  const { Agent, request } = isTls ? https : http;
  const ofAgent = {
    keepAlive: true,
    // `rejectUnauthorized` is explicit, because NODE_TLS_REJECT_UNAUTHORIZED changes its default.
    ...(isTls ? { secureContext: backendSecureContext(settings), rejectUnauthorized: true } : {}),
    ...proxyOptions(settings),
  };
  const agent = new Agent(ofAgent);
  return {
    agent,
    post(body: Uint8Array): http.ClientRequest {
      const ofBody = { ...headers, 'content-length': body.length };
      const begun = request(url, { method: 'POST', agent, headers: ofBody });
      begun.end(body);
      return begun;
    },
  };
}

/** Options for the proxy support of Node’s agents, which older versions of Node lack. */
function proxyOptions({ proxy, timeoutMs }: ExporterSettings) {
  if (proxy === undefined) return {};
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if ((major < 24 && (major !== 22 || minor < 21)) || (major === 24 && minor < 5))
    throw new CeleryOtelError(
      'CONFIG_INVALID',
      'This version of Node cannot export over HTTP through a proxy: use Node 22.21, 24.5 or newer, or export over gRPC.',
    );
  // A proxy that never responds would keep a socket for each attempt.
  return { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy }, timeout: timeoutMs };
}

/** Validates the headers. Names are in lower case, so that no header appears twice. */
function sendableHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      try {
        http.validateHeaderName(name);
        http.validateHeaderValue(name, value);
      } catch {
        // The message of Node may contain the value.
        throw new CeleryOtelError(
          'CONFIG_INVALID',
          `The header ${name} has characters that HTTP cannot send.`,
        );
      }
      return [name.toLowerCase(), value];
    }),
  );
}

/** The outcome of one attempt. */
interface HttpOutcome {
  /** Undefined if there was no response. */
  readonly head: http.IncomingMessage | undefined;
  readonly body: Uint8Array;
  /** Why there was no response, or why it was not read completely. */
  readonly error: Error | undefined;
  /** Whether the reused keep-alive connection turned out to be closed. */
  readonly wasStale: boolean;
}

type Exchange = ReturnType<typeof begin>;

function begin(request: http.ClientRequest) {
  const { promise, resolve } = Promise.withResolvers<HttpOutcome>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  let head: http.IncomingMessage | undefined;
  /** Only the first call counts. */
  const end = (error: Error | undefined) =>
    resolve({
      head,
      body: Buffer.concat(chunks),
      error,
      wasStale: head === undefined && request.reusedSocket && CLOSED_CODES.has(property(error, 'code')),
    });
  /** Ends the exchange with the data that has arrived so far. */
  const stop = (error: Error) => {
    end(error);
    request.destroy();
  };
  request.on('error', end).on('close', () => end(new Error('the connection was closed')));
  request.on('response', (response) => {
    head = response;
    response.on('error', end).on('end', () => {
      end(undefined);
      // The response arrived before the request was sent completely, so the backend does not read the rest.
      if (!request.writableFinished) request.destroy();
    });
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX) stop(new Error('the answer is too long'));
    });
  });
  return { ended: promise, stop };
}

function judge({ head, body, error }: HttpOutcome, sent: Encoding): Answer {
  if (head?.statusCode === undefined) return unreached(error ?? new Error('no answer'));
  const { 'content-type': contentType, 'retry-after': retryAfter } = head.headers;
  return judgeHttpAnswer({ status: head.statusCode, contentType, retryAfter, body }, sent, Date.now());
}

/** No response: the next request may get one. */
function unreached(error: Error): Failure {
  const reason = reasonOf(error);
  const text = `${property(error, 'code') ?? ''} ${reason}`;
  return { kind: 'unavailable', reason, error, symptom: { kind: 'no answer', text } };
}
