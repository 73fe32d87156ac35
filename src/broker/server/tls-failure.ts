/**
 * Finds out why a connection failed, and whether TLS is the cause, by Node’s error codes, since the messages have no common
 * word. A server that does not speak TLS is not a failure of TLS. Remedies are in `likely-cause.ts`. Pure.
 */
import { NO_TLS } from '../../text/connection-causes.ts';
import { reasonOf } from '../../text/errors.ts';

/**
 * Matches the codes of TLS failures: Node’s “X509 certificate error codes”, in which UNSPECIFIED stands for all others, a host
 * that does not match, and OpenSSL’s errors about the handshake and our own files.
 */
const OF_TLS =
  /^(?:(?:CERT|CRL|UNABLE_TO|ERROR_IN|SELF_SIGNED|DEPTH_ZERO|INVALID|ERR_TLS|ERR_SSL|ERR_OSSL)_.*|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH|OUT_OF_MEM|UNSPECIFIED|EPROTO)$/u;
/** An error of OpenSSL: `00FE…:error:0A000418:SSL routines:ssl3_read_bytes:tlsv1 alert unknown ca:…` */
const OPENSSL = /\berror:[0-9A-F]+:[^:]*:[^:]*:(?<said>[^:]+)/u;

interface Unreachable {
  readonly kind: 'unreachable';
  readonly reason: string;
  readonly isTls?: boolean;
}

/** Describes a failed connection by its error. */
export function unreachable(error: unknown): Unreachable {
  const reason = plainReason(error);
  const isTls =
    error instanceof Error && 'code' in error && OF_TLS.test(String(error.code)) && !NO_TLS.test(reason);
  return { kind: 'unreachable', reason, ...(isTls ? { isTls } : {}) };
}

/** Like `reasonOf`, without locations in OpenSSL’s source. */
export function plainReason(error: unknown): string {
  const reason = reasonOf(error);
  return OPENSSL.exec(reason)?.groups?.['said'] ?? reason;
}
