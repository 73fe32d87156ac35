/** What a gRPC status means for a request of OTLP: the table, and what a backend says beside it. Pure. */
import { type ServiceError, status } from '@grpc/grpc-js';
import type { Failure } from './exporter-transport.ts';
import { readRpcStatus } from './rpc-status.ts';

/** The third: only if the backend says when to come again; otherwise the request is too large, today and tomorrow. */
type Meaning = Failure['kind'] | 'unavailable with RetryInfo';

/** OTLP specification, "OTLP/gRPC Response", "Failures". A status that is not in it is read as UNKNOWN. */
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
  const reason = error.details === '' ? name : `${name}: ${error.details}`;
  return { kind, reason, error, restMs: retryDelayMs };
}
