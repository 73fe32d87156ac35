/** Interprets an HTTP response as the result of an OTLP request. Pure. */
import { STATUS_CODES } from 'node:http';
import { OTLPExporterError } from '@opentelemetry/otlp-exporter-base';
import type { Answer } from './exporter.ts';
import { parseJson, property } from './json-value.ts';
import { readRpcStatus } from './rpc-status.ts';
import type { Encoding } from './signal.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly retryAfter: string | undefined;
  /** The part of the body that arrived. */
  readonly body: Uint8Array;
}

export const CONTENT_TYPES = {
  protobuf: 'application/x-protobuf',
  json: 'application/json',
} as const satisfies Record<Encoding, string>;
const ENCODINGS = ['protobuf', 'json'] as const;

/** OTLP specification, "Retryable Response Codes". */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** How many bytes of a body are searched for the likely cause. */
const SEARCHED_BYTES_MAX = 2000;

/**
 * 2xx is a success, unless the body is a web page: a login page has status 200, too, but no backend received the data. Retryable
 * codes mean unavailable. All others mean refused. Redirects are refused as well, since headers with secrets must not be sent
 * elsewhere.
 *
 * @param sent the encoding of the request, for a response without a content type
 */
export function judgeHttpAnswer(answer: HttpAnswer, sent: Encoding, nowMs: number): Answer {
  const { status, body } = answer;
  const type = answer.contentType?.split(';', 1)[0]?.trim().toLowerCase();
  const text = new TextDecoder().decode(body.subarray(0, SEARCHED_BYTES_MAX));
  const isPage = /^\s*<(?:!doctype\s+html|html)\b/iu.test(text);
  if (status >= 200 && status <= 299 && !isPage) {
    const encoding = ENCODINGS.find((each) => CONTENT_TYPES[each] === (type ?? CONTENT_TYPES[sent]));
    return { kind: 'taken', response: body, encoding };
  }
  const name = `HTTP ${status} ${STATUS_CODES[status] ?? ''}`.trim();
  const words = isPage ? 'a web page' : messageOf(body, type);
  const failure = {
    symptom: { kind: 'http answer', status, isPage, text } as const,
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

/** The body should be a `google.rpc.Status` in the encoding of the request, but gateways return other content. */
function messageOf(body: Uint8Array, type: string | undefined): string {
  switch (type) {
    case CONTENT_TYPES.protobuf:
      return readRpcStatus(body)?.message ?? '';
    case CONTENT_TYPES.json: {
      const json = parseJson(body);
      const error = property(json, 'error');
      const messages = [property(json, 'message'), error, property(error, 'message')];
      return messages.find((one) => typeof one === 'string') ?? '';
    }
    case 'text/plain':
      return new TextDecoder().decode(body);
    default:
      // Usually, it is a web page.
      return '';
  }
}
