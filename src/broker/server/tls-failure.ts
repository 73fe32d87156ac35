/**
 * Why a connection could not be made, in plain words, and whether TLS is the cause: by Node’s error codes, since no word is in
 * all texts. Pure.
 */
import { reasonOf } from '../../errors.ts';

/**
 * Node’s “X509 certificate error codes”, in which UNSPECIFIED stands for all others; a host that does not match; and what
 * OpenSSL says of the handshake and of our own files.
 */
const OF_TLS =
  /^(?:(?:CERT|CRL|UNABLE_TO|ERROR_IN|SELF_SIGNED|DEPTH_ZERO|INVALID|ERR_TLS|ERR_SSL|ERR_OSSL)_.*|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH|OUT_OF_MEM|UNSPECIFIED|EPROTO)$/u;
/** `00FE…:error:0A000418:SSL routines:ssl3_read_bytes:tlsv1 alert unknown ca:…` */
const OPENSSL = /\berror:[0-9A-F]+:[^:]*:[^:]*:(?<said>[^:]+)/u;

const PLAIN: readonly (readonly [said: RegExp, plain: string])[] = [
  [
    /alert (?:.*certificate|unknown ca|access denied|decrypt error)/u,
    'the broker requires a client certificate, or refuses ours',
  ],
  [
    /alert handshake failure/u,
    'the broker requires a client certificate, or shares no cipher or TLS version with us',
  ],
  [/protocol version|unsupported protocol|no protocols/u, 'the broker shares no TLS version with us'],
  [/alert unrecognized name/u, 'the broker does not serve this host name'],
  [
    /wrong version number|packet length too long|unknown protocol|http request|bad record type/u,
    'the broker does not speak TLS at this port',
  ],
  [/key values mismatch/u, 'ssl_keyfile is not the key of ssl_certfile'],
];

interface Unreachable {
  readonly kind: 'unreachable';
  readonly reason: string;
  readonly isTls?: boolean;
}

/** No connection, for that error. */
export function unreachable(error: unknown): Unreachable {
  const isTls = error instanceof Error && 'code' in error && OF_TLS.test(String(error.code));
  return { kind: 'unreachable', reason: plainReason(error), ...(isTls ? { isTls } : {}) };
}

/** As `reasonOf`, without the places in the source of OpenSSL. */
export function plainReason(error: unknown): string {
  const reason = reasonOf(error);
  const said = OPENSSL.exec(reason)?.groups?.['said'];
  if (said === undefined) return reason;
  const plain = PLAIN.find(([pattern]) => pattern.test(said))?.[1];
  return plain === undefined ? said : `${plain} (${said})`;
}
