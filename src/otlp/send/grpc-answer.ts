/** What a gRPC status means for an OTLP request, as a table, and what else the backend answered. Pure. */
import { type ServiceError, status } from '@grpc/grpc-js';
import type { Failure } from './exporter-transport.ts';
import type { Symptom } from './likely-cause.ts';
import { readRpcStatus } from './rpc-status.ts';

/** The third: retryable only if the backend says when. Otherwise the request is too large, and always will be. */
type Meaning = Failure['kind'] | 'unavailable with RetryInfo';

/** OTLP specification, "OTLP/gRPC Response", "Failures". Any other status counts as UNKNOWN. */
const MEANINGS: ReadonlyMap<status, Meaning> = new Map([
  [status.CANCELLED, 'unavailable'],
  [status.UNKNOWN, 'refused'],
  [status.INVALID_ARGUMENT, 'refused'],
  [status.DEADLINE_EXCEEDED, 'unavailable'],
  [status.NOT_FOUND, 'refused'],
  [status.ALREADY_EXISTS, 'refused'],
  [status.PERMISSION_DENIED, 'refused'],
  [status.RESOURCE_EXHAUSTED, 'unavailable with RetryInfo'],
  [status.FAILED_PRECONDITION, 'refused'],
  [status.ABORTED, 'unavailable'],
  [status.OUT_OF_RANGE, 'unavailable'],
  [status.UNIMPLEMENTED, 'refused'],
  [status.INTERNAL, 'refused'],
  [status.UNAVAILABLE, 'unavailable'],
  [status.DATA_LOSS, 'unavailable'],
  [status.UNAUTHENTICATED, 'refused'],
]);

export function judgeGrpcError(error: ServiceError): Failure {
  const [trailer] = error.metadata.get('grpc-status-details-bin');
  const retryDelayMs = trailer instanceof Buffer ? readRpcStatus(trailer)?.retryDelayMs : undefined;
  const meaning = MEANINGS.get(error.code) ?? 'refused';
  const kind =
    meaning === 'unavailable with RetryInfo'
      ? retryDelayMs === undefined
        ? 'refused'
        : 'unavailable'
      : meaning;
  const name = `${status[error.code] ?? 'UNKNOWN'} (${error.code})`;
  const reason = error.details === '' ? name : `${name}: ${wordsOf(error.details)}`;
  return { kind, reason, error, retryAfterMs: retryDelayMs, symptom: symptomOf(error) };
}

/** How grpc-js wraps the message of a socket or TLS error. */
const UNCONNECTED =
  /^No connection established\. Last error: (?:Error: )?(?<words>.*?)[. ]*Resolution note:.*$/su;

function wordsOf(details: string): string {
  const words = UNCONNECTED.exec(details)?.groups?.['words'];
  if (words === undefined) return details;
  return words.replace(/ \(\d{4}-\d\d-\d\dT[\d:.]+Z\)$/u, '');
}

/** How grpc-js begins if there was no answer. */
const UNANSWERED =
  /^(?:No connection established|Name resolution failed|Connection dropped|read E)|Waiting for LB pick/u;

function symptomOf({ code, details }: ServiceError): Symptom {
  return UNANSWERED.test(details)
    ? { kind: 'no answer', said: details }
    : { kind: 'grpc answer', status: code, said: details };
}
