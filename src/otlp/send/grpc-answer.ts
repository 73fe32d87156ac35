/** Interprets a gRPC error as the result of an OTLP request. Pure. */
import { type ServiceError, status } from '@grpc/grpc-js';
import { reasonOf, shortened } from '../../text/errors.ts';
import type { Failure } from './exporter.ts';
import type { Symptom } from './likely-cause.ts';
import { readRpcStatus } from './rpc-status.ts';

/** OTLP specification, "OTLP/gRPC Response", "Failures". */
const RETRYABLE: ReadonlySet<status> = new Set([
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.ABORTED,
  status.OUT_OF_RANGE,
  status.UNAVAILABLE,
  status.DATA_LOSS,
]);

/** @param timeoutMs what the request was given */
export function judgeGrpcError(error: ServiceError | Error, timeoutMs: number): Failure {
  // The response could not be read, so it is unknown whether the backend accepted the request (grpc-js: compression-filter.ts).
  if (!('code' in error && 'details' in error && 'metadata' in error) || error.code === undefined) {
    return { kind: 'refused', reason: `the response cannot be read: ${reasonOf(error)}`, error };
  }
  const details = shortened(error.details);
  const [trailer] = error.metadata.get('grpc-status-details-bin');
  const retryDelayMs = trailer instanceof Buffer ? readRpcStatus(trailer)?.retryDelayMs : undefined;
  // RESOURCE_EXHAUSTED without RetryInfo means that the request is too large, which a retry does not change.
  const mayRecover = error.code === status.RESOURCE_EXHAUSTED && retryDelayMs !== undefined;
  const kind = mayRecover || RETRYABLE.has(error.code) ? 'unavailable' : 'refused';
  const name = `${status[error.code] ?? 'UNKNOWN'} (${error.code})`;
  const reason = details === '' ? name : `${name}: ${wordsOf(details, timeoutMs)}`;
  return { kind, reason, error, retryAfterMs: retryDelayMs, symptom: symptomOf(error.code, details) };
}

/** How grpc-js wraps the message of a socket or TLS error. */
const UNCONNECTED =
  /^No connection established\. Last error: (?:Error: )?(?<words>.*?)[. ]*Resolution note:.*$/su;

/**
 * How grpc-js, as a client or as a server, says that the time was over: a client with what each part of the call took, so that no two of
 * its messages are alike.
 */
const LATE = /^Deadline exceeded(?: after [\d.]+s,.*)?$/su;

function wordsOf(details: string, timeoutMs: number): string {
  if (LATE.test(details)) return `no reply within ${timeoutMs} ms`;
  const words = UNCONNECTED.exec(details)?.groups?.['words'];
  if (words === undefined) return details;
  // Only a failed connection to a proxy has this text (grpc-js: http_proxy.ts, `getProxiedConnection`).
  if (words === 'undefined') return 'the proxy refuses the connection, or cannot be reached';
  return words.replace(/ \(\d{4}-\d\d-\d\dT[\d:.]+Z\)$/u, '');
}

/** Matches messages of grpc-js itself, as opposed to messages from the backend. */
const UNANSWERED =
  /^(?:No connection established|Name resolution failed|Connection dropped|read E)|Waiting for LB pick/u;

function symptomOf(code: status, details: string): Symptom {
  return UNANSWERED.test(details)
    ? { kind: 'no answer', text: details }
    : { kind: 'grpc answer', status: code, text: details };
}
