/**
 * The likely causes of failed connections that all brokers on a network have in common, and what to do. It decides nothing. Pure.
 */
import { type Cause, type Connection, commonCauses, NO_TLS } from '../../text/connection-causes.ts';

/** What is known of a connection to a broker, besides the text of its failure. */
export interface Situation extends Connection {
  readonly scheme: string;
  readonly username: string | undefined;
  /** The TCP port of a single server; undefined for a Unix socket and for sentinels. */
  readonly port: number | undefined;
}

export type BrokerCause = Cause<Situation>;

const CLOSED =
  /ECONNRESET|EPIPE|Socket closed abruptly|Unexpected close|closed the connection$|socket hang up|disconnected before secure|Stream isn't writeable|Connection is closed/u;
const SILENT = /no reply within|Handshake timeout/u;

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
export const COMMON_CAUSES: readonly BrokerCause[] = [
  ...commonCauses({
    peer: 'the broker',
    address: 'broker_url',
    certificate: 'ssl_certfile',
    key: 'ssl_keyfile',
    noTls:
      'correct the port, or enable TLS there; without TLS, write {plain}:// and neither ssl_ keys nor broker_use_ssl',
    trust: 'set ssl_ca_certs to the file of its CA certificate, in broker_url or broker_use_ssl',
    otherName:
      'use a name that it covers in broker_url, set server_hostname in broker_use_ssl (AMQP), or, in a network that you trust, ssl_check_hostname=false',
  }),
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
