/**
 * What an HTTP status means for a request of OTLP: the table, and what a backend says beside it. Pure.
 */
import { STATUS_CODES } from 'node:http';
import { OTLPExporterError } from '@opentelemetry/otlp-exporter-base';
import type { Answer } from './exporter-transport.ts';
import { parseJson, property } from './json-value.ts';
import { readRpcStatus } from './rpc-status.ts';
import type { Encoding } from './signal.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly retryAfter: string | undefined;
  /** As much of it as came. */
  readonly body: Uint8Array;
}

/** The same request may succeed later (OTLP specification, "Retryable Response Codes"). */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Of an answer, for the cause of a failure. */
const SAID_BYTES_MAX = 2000;

/**
 * 2xx: taken, but for a page: a login in between says that all is well, too, and nobody has the request. The codes of the
 * table: unavailable. All others: refused, redirects too, for nobody allowed the secrets in the headers to be sent
 * elsewhere.
 *
 * @param sent how the request was encoded, for a response that does not say how it is
 */
export function judgeHttpAnswer(answer: HttpAnswer, sent: Encoding, nowMs: number): Answer {
  const { status, contentType, body } = answer;
  const said = new TextDecoder().decode(body.subarray(0, SAID_BYTES_MAX));
  const isPage = /^\s*<(?:!doctype\s+html|html)\b/iu.test(said);
  if (status >= 200 && status <= 299 && !isPage) {
    return { kind: 'taken', response: body, encoding: encodingOf(contentType, sent) };
  }
  const name = `HTTP ${status} ${STATUS_CODES[status] ?? ''}`.trim();
  const words = isPage ? 'a web page' : messageOf(answer);
  const failure = {
    symptom: { kind: 'http answer', status, isPage, said } as const,
    reason: words === '' ? name : `${name}: ${words}`,
    error: new OTLPExporterError(name, status),
  };
  return RETRYABLE.has(status)
    ? { kind: 'unavailable', ...failure, retryAfterMs: retryAfterMs(answer.retryAfter, nowMs) }
    : { kind: 'refused', ...failure };
}

/** `Retry-After`: seconds or a date (RFC 9110, 10.2.3). */
function retryAfterMs(retryAfter: string | undefined, nowMs: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  const ms = /^\d+$/u.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - nowMs;
  return ms > 0 ? ms : undefined;
}

function encodingOf(contentType: string | undefined, otherwise: Encoding): Encoding | undefined {
  switch (mediaType(contentType)) {
    case undefined:
      return otherwise;
    case 'application/json':
      return 'json';
    case 'application/x-protobuf':
      return 'protobuf';
    default:
      return undefined;
  }
}

/** The body is to be a `google.rpc.Status` in the encoding of the request; gateways in between answer in other ways. */
function messageOf({ contentType, body }: HttpAnswer): string {
  switch (mediaType(contentType)) {
    case 'application/x-protobuf':
      return readRpcStatus(body)?.message ?? '';
    case 'application/json': {
      const json = parseJson(body);
      const said = [
        property(json, 'message'),
        property(json, 'error'),
        property(property(json, 'error'), 'message'),
      ];
      return said.find((one) => typeof one === 'string') ?? '';
    }
    case 'text/plain':
      return new TextDecoder().decode(body);
    default:
      // Pages for people, as a rule.
      return '';
  }
}

function mediaType(contentType: string | undefined): string | undefined {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase();
}
