/**
 * The likely causes of failed connections that all brokers on a network have in common, and what to do, for readers who know
 * neither AMQP nor OpenSSL. It decides nothing. Pure.
 */
import { NO_TLS } from './tls-failure.ts';

/** What is known of a connection, besides the text of its failure. */
export interface Situation {
  readonly scheme: string;
  readonly username: string | undefined;
  /** Whether a connection to this address was open before: then the settings are correct. */
  readonly hasWorked: boolean;
  readonly isTls: boolean;
  readonly hasClientCertificate: boolean;
  /** The TCP port of a single server; undefined for a Unix socket and for sentinels. */
  readonly port: number | undefined;
  readonly isLocal: boolean;
}

export interface Cause {
  /** @param said the text of the failure */
  readonly matches: (said: string, situation: Situation) => boolean;
  /** The likely cause; like the remedy, with placeholders in braces, such as `{at}`. */
  readonly cause: string;
  readonly remedy: string;
}

const CLOSED =
  /ECONNRESET|EPIPE|Socket closed abruptly|Unexpected close|closed the connection$|socket hang up|disconnected before secure|Stream isn't writeable|Connection is closed/u;
const SILENT = /no reply within|Handshake timeout/u;
const UNTRUSTED = /unable to (?:verify|get (?:local )?issuer)|self[- ]signed|UNABLE_TO_|SELF_SIGNED/u;
const CERTIFICATE_ALERT = /alert (?:.*certificate|unknown ca|access denied|decrypt error)/u;
const HANDSHAKE_ALERT = /alert handshake failure/u;

/** Whether the text of the failure matches. */
export const says =
  (pattern: RegExp) =>
  (said: string): boolean =>
    pattern.test(said);

/**
 * Whether the connection failed because its port is usually one of another protocol than the client’s.
 * @param otherProtocol errors of the client’s library about a reply in another protocol
 */
export const atPorts =
  (otherProtocol: RegExp, ...ports: readonly number[]) =>
  (said: string, { port = 0, hasWorked }: Situation): boolean =>
    ports.includes(port) &&
    !hasWorked &&
    (CLOSED.test(said) || SILENT.test(said) || NO_TLS.test(said) || otherProtocol.test(said));

/** The causes in order: the first that matches is reported. */
export const COMMON_CAUSES: readonly Cause[] = [
  {
    matches: says(/\bE[MN]FILE\b/u),
    cause: 'this process has reached its limit of open files and connections',
    remedy: 'raise its limit (ulimit -n, LimitNOFILE)',
  },
  {
    matches: (said, { hasWorked }) => hasWorked && /ECONNREFUSED/u.test(said),
    cause: 'nothing is listening on {at} any more',
    remedy: 'start the broker',
  },
  {
    matches: (said, { isLocal }) => isLocal && /ECONNREFUSED/u.test(said),
    cause: 'nothing is listening on {at} here',
    remedy: 'start the broker, or correct broker_url; in a container, localhost is the container itself',
  },
  {
    matches: says(/ECONNREFUSED/u),
    cause: 'nothing is listening on {at}',
    remedy: 'start the broker, or correct broker_url',
  },
  {
    matches: says(/ENOTFOUND|EAI_AGAIN/u),
    cause: 'the host name of {at} cannot be resolved',
    remedy: 'correct broker_url, or DNS',
  },
  {
    matches: says(/EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ETIMEDOUT/u),
    cause: '{at} is unreachable',
    remedy: 'correct broker_url, or check the network',
  },
  {
    matches: (said, { isTls }) => isTls && NO_TLS.test(said),
    cause: '{at} does not speak TLS',
    remedy:
      'correct the port, or enable TLS there; without TLS, write {plain}:// and neither ssl_ keys nor broker_use_ssl',
  },
  {
    matches: says(/ALTNAME|altnames|HOSTNAME_MISMATCH|hostname mismatch/u),
    cause: 'the certificate of {at} is for another host name',
    remedy:
      'use a name that it covers in broker_url, set server_hostname in broker_use_ssl (AMQP), or, in a network that you trust, ssl_check_hostname=false',
  },
  {
    matches: says(/certificate has expired|CERT_HAS_EXPIRED/u),
    cause: 'the certificate of {at} has expired',
    remedy: 'renew it, or correct the clock',
  },
  {
    matches: says(/certificate is not yet valid|CERT_NOT_YET_VALID/u),
    cause: 'the certificate of {at} is not valid yet',
    remedy: 'check the clocks',
  },
  {
    matches: says(UNTRUSTED),
    cause: 'the certificate of {at} is not trusted',
    remedy: 'set ssl_ca_certs to the file of its CA certificate, in broker_url or broker_use_ssl',
  },
  {
    matches: (said, { hasClientCertificate }) =>
      hasClientCertificate && (CERTIFICATE_ALERT.test(said) || HANDSHAKE_ALERT.test(said)),
    cause: 'the broker rejects the client certificate',
    remedy: 'make it trust the CA of ssl_certfile, or correct ssl_certfile and ssl_keyfile',
  },
  {
    matches: says(CERTIFICATE_ALERT),
    cause: 'the broker requires a client certificate',
    remedy: 'set ssl_certfile and ssl_keyfile, in broker_url or broker_use_ssl',
  },
  {
    matches: says(HANDSHAKE_ALERT),
    cause: 'the broker requires a client certificate, or shares no cipher or TLS version with us',
    remedy: 'set ssl_certfile and ssl_keyfile, or enable TLS 1.2 or newer there',
  },
  {
    matches: says(/protocol version|unsupported protocol|no protocols/u),
    cause: 'the broker shares no TLS version with us',
    remedy: 'enable TLS 1.2 or newer there',
  },
  {
    matches: says(/alert unrecognized name/u),
    cause: 'the broker does not serve this host name',
    remedy: 'use one that it serves in broker_url',
  },
  {
    matches: says(/key values mismatch/u),
    cause: 'ssl_keyfile is not the key of ssl_certfile',
    remedy: 'set both to files of the same certificate',
  },
  {
    matches: (said, { isTls, hasWorked }) => isTls && !hasWorked && CLOSED.test(said),
    cause: '{at} aborted the TLS handshake, or is not {broker}',
    remedy: 'correct the port; or set ssl_certfile and ssl_keyfile, if it requires a client certificate',
  },
  {
    matches: (said, { hasWorked }) => !hasWorked && CLOSED.test(said),
    cause: '{at} closed the connection without a reply',
    remedy: 'write {secure}:// in broker_url if it expects TLS; or correct the port, if it is not {broker}',
  },
  {
    matches: (said, { isTls, hasWorked }) => isTls && !hasWorked && SILENT.test(said),
    cause: '{at} does not reply over TLS',
    remedy: 'correct the port, if it is not {broker} with TLS; or check for a firewall in between',
  },
  {
    matches: (said, { hasWorked }) => !hasWorked && SILENT.test(said),
    cause: '{at} does not reply',
    remedy: 'correct the port, if it is not {broker}; or check for a firewall in between',
  },
];
