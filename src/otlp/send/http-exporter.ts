/**
 * OTLP over HTTP/1.1: one POST a request, over connections that are kept. A request has one deadline for all of it, and
 * an answer's status alone decides what became of it: of the body it reads a bounded part, for the words in it.
 *
 * It does not retry: the export behind it does, with back-off and with newer data. The one exception is a kept
 * connection that the backend closed just when it was used again, which says nothing about the backend.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { CeleryOtelError } from '../../errors.ts';
import { VERSION } from '../../version.ts';
import type { ExporterSettings } from '../otlp-settings.ts';
import { backendSecureContext } from './backend-tls.ts';
import { errorText } from './export-reason.ts';
import type { Answer, ExporterTransport, Failure } from './exporter-transport.ts';
import { judgeHttpAnswer } from './http-answer.ts';
import { property } from './json-value.ts';
import type { Encoding } from './signal.ts';

const compress = promisify(gzip);

const CONTENT_TYPES: Readonly<Record<Encoding, string>> = {
  protobuf: 'application/x-protobuf',
  json: 'application/json',
};

/** Far more than any backend has to say. */
const ANSWER_BYTES_MAX = 1024 * 1024;
const CLOSED = 'the exporter was closed';
/** How a connection looks that the other side closed. */
const CLOSED_CODES: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE']);

/** @throws CeleryOtelError `CONFIG_INVALID` */
export function createHttpTransport(settings: ExporterSettings, encoding: Encoding): ExporterTransport {
  const { timeoutMs } = settings;
  const { agent, post } = createPoster(settings, CONTENT_TYPES[encoding]);
  const underWay = new Set<Exchange>();
  let closed = false;

  async function attempt(body: Uint8Array, untilMs: number): Promise<Heard> {
    const exchange = begin(post(body));
    const late = () => exchange.stop(new Error(`no answer within ${timeoutMs} ms`));
    const timer = setTimeout(late, untilMs - performance.now());
    underWay.add(exchange);
    const heard = await exchange.heard;
    underWay.delete(exchange);
    clearTimeout(timer);
    return heard;
  }

  return {
    async send(body) {
      const untilMs = performance.now() + timeoutMs;
      const sent = settings.compression === 'gzip' ? await compress(body) : body;
      for (;;) {
        if (closed) return unreached(new Error(CLOSED));
        const heard = await attempt(sent, untilMs);
        // Each turn uses up a kept connection, so it ends with a new one at the latest.
        if (!heard.wasStale) return judge(heard, encoding);
      }
    },
    close() {
      closed = true;
      for (const exchange of underWay) exchange.stop(new Error(CLOSED));
      agent.destroy();
    },
  };
}

/** Makes requests that are complete but for their end; all that can be wrong with the settings is found here. */
function createPoster(settings: ExporterSettings, contentType: string) {
  const url = URL.parse(settings.endpoint);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new CeleryOtelError(
      'CONFIG_INVALID',
      'The endpoint of OTLP over HTTP is a URL with http: or https:.',
    );
  }
  const headers = {
    ...sendableHeaders(settings.headers),
    'content-type': contentType,
    'user-agent': `celery-otel/${VERSION} (Node.js)`,
    ...(settings.compression === 'gzip' ? { 'content-encoding': 'gzip' } : {}),
  };
  const [agent, request] =
    url.protocol === 'http:'
      ? [new http.Agent({ keepAlive: true }), http.request]
      : [
          new https.Agent({
            keepAlive: true,
            secureContext: backendSecureContext(settings),
            // Said, because NODE_TLS_REJECT_UNAUTHORIZED would decide otherwise.
            rejectUnauthorized: true,
          }),
          https.request,
        ];
  return {
    agent,
    post(body: Uint8Array): http.ClientRequest {
      const begun = request(url, {
        method: 'POST',
        agent,
        headers: { ...headers, 'content-length': body.length },
      });
      begun.end(body);
      return begun;
    },
  };
}

/** Names in lower case, so that none is there twice. */
function sendableHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      try {
        http.validateHeaderName(name);
        http.validateHeaderValue(name, value);
      } catch {
        // What Node says of it is not for a log: of a value it may tell more than its name.
        throw new CeleryOtelError(
          'CONFIG_INVALID',
          `The header ${name} has characters that HTTP cannot send.`,
        );
      }
      return [name.toLowerCase(), value];
    }),
  );
}

/** What came of one attempt. */
interface Heard {
  /** Undefined where no answer began. */
  readonly head: http.IncomingMessage | undefined;
  readonly body: Uint8Array;
  /** Why no answer began, or why it was not read to its end. */
  readonly error: Error | undefined;
  /** A kept connection that turned out to be closed. */
  readonly wasStale: boolean;
}

interface Exchange {
  readonly heard: Promise<Heard>;
  /** Ends it with what came so far. */
  stop(error: Error): void;
}

function begin(request: http.ClientRequest): Exchange {
  const { promise, resolve } = Promise.withResolvers<Heard>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  let head: http.IncomingMessage | undefined;
  /** The first time counts. */
  const end = (error: Error | undefined) =>
    resolve({
      head,
      body: Buffer.concat(chunks),
      error,
      wasStale: head === undefined && request.reusedSocket && CLOSED_CODES.has(property(error, 'code')),
    });
  const stop = (error: Error) => {
    end(error);
    request.destroy();
  };
  request.on('error', end).on('close', () => end(new Error('the connection was closed')));
  request.on('response', (response) => {
    head = response;
    response.on('error', end).on('end', () => {
      end(undefined);
      // Answered before it was sent as a whole; the rest is not read by anybody.
      if (!request.writableFinished) request.destroy();
    });
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX) stop(new Error('the answer is too long'));
    });
  });
  return { heard: promise, stop };
}

function judge({ head, body, error }: Heard, sent: Encoding): Answer {
  if (head?.statusCode === undefined) return unreached(error ?? new Error('no answer'));
  const { 'content-type': contentType, 'retry-after': retryAfter } = head.headers;
  return judgeHttpAnswer({ status: head.statusCode, contentType, retryAfter, body }, sent, Date.now());
}

/** Whatever keeps a request from being answered may have passed when the next one is sent. */
function unreached(error: Error): Failure {
  const reason = errorText(error);
  const said = `${property(error, 'code') ?? ''} ${reason}`;
  return { kind: 'unavailable', reason, error, symptom: { kind: 'no answer', said } };
}
