/**
 * The table of failed connections to brokers, each with its likely cause and what to do, for readers who know neither
 * AMQP nor OpenSSL; the source of log lines, `check` and docs/troubleshooting.md. It decides nothing. Pure.
 */
import { shortened } from '../text/errors.ts';
import type { PeerText } from '../text/peer-text.ts';
import type { BrokerUrl } from './broker-url.ts';
import { shownPlace } from './server/address.ts';
import { AS_REDIS } from './server/redis-probe.ts';
import { NO_TLS } from './server/tls-failure.ts';

/** What is known of a connection, besides the text of its failure. */
interface Situation {
  readonly speaks: 'AMQP' | 'Redis';
  /** Whether a connection to this address was open before: then the settings are correct. */
  readonly hasWorked: boolean;
  readonly isTls: boolean;
  readonly hasClientCertificate: boolean;
  /** The TCP port of a single server; undefined for a Unix socket and for sentinels. */
  readonly port: number | undefined;
  readonly isLocal: boolean;
  readonly isBehindSentinels: boolean;
  readonly isGuest: boolean;
  /** The values of the placeholders in `cause` and `remedy`. */
  readonly words: ReadonlyMap<string, string>;
}

interface Cause {
  /** @param said the text of the failure */
  readonly matches: (said: string, situation: Situation) => boolean;
  /** The likely cause; like the remedy, with placeholders in braces, such as `{at}`. */
  readonly cause: string;
  readonly remedy: string;
}

const CLOSED =
  /ECONNRESET|EPIPE|Socket closed abruptly|Unexpected close|closed the connection$|socket hang up|disconnected before secure|Stream isn't writeable|Connection is closed/u;
/** Errors of ioredis and of amqplib about a reply in another protocol. */
const OTHER_PROTOCOL = /Unknown RESP type|\bFrame size \d+ exceeds/u;
const SILENT = /no reply within|Handshake timeout/u;
const UNTRUSTED = /unable to (?:verify|get (?:local )?issuer)|self[- ]signed|UNABLE_TO_|SELF_SIGNED/u;
const CERTIFICATE_ALERT = /alert (?:.*certificate|unknown ca|access denied|decrypt error)/u;
const HANDSHAKE_ALERT = /alert handshake failure/u;

const says =
  (pattern: RegExp) =>
  (said: string): boolean =>
    pattern.test(said);

/** Whether the connection failed because its port is usually one of another protocol than the client’s. */
const atWrongPort =
  (client: Situation['speaks'], ...ports: readonly number[]) =>
  (said: string, { speaks, port = 0, isTls, hasWorked }: Situation): boolean =>
    speaks === client &&
    ports.includes(port) &&
    !hasWorked &&
    (port !== 5671 || !isTls || client === 'Redis') &&
    (CLOSED.test(said) || SILENT.test(said) || NO_TLS.test(said) || OTHER_PROTOCOL.test(said));

/** The causes in order: the first that matches is reported. */
export const CAUSES: readonly Cause[] = [
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
    matches: says(/^connect (?:ENOENT|EACCES)/u),
    cause: 'the socket {at} cannot be opened',
    remedy: 'start Redis, or correct the path in broker_url or the permissions of the file',
  },
  {
    matches: (said) => said.endsWith(AS_REDIS),
    cause: '{at} is a Redis server',
    remedy: 'write {asRedis}:// in broker_url, or the address of RabbitMQ',
  },
  {
    // The first byte of an AMQP server’s reply to anything but AMQP.
    matches: says(/Unknown RESP type 65\b/u),
    cause: '{at} is a RabbitMQ server',
    remedy: 'write {asAmqp}:// in broker_url, or the address of Redis',
  },
  {
    matches: atWrongPort('AMQP', 6379),
    cause: '{port} is the port of Redis',
    remedy: 'write redis:// in broker_url, or the port of RabbitMQ, 5672',
  },
  {
    matches: atWrongPort('Redis', 5671, 5672),
    cause: '{port} is the port of RabbitMQ',
    remedy: 'write amqp:// in broker_url, or the port of Redis, 6379',
  },
  {
    matches: atWrongPort('AMQP', 15_671, 15_672),
    cause: '{port} is the port of RabbitMQ’s management page',
    remedy: 'use port 5672 in broker_url',
  },
  {
    matches: atWrongPort('AMQP', 5671),
    cause: '{port} is the port of RabbitMQ for TLS',
    remedy: 'write amqps:// in broker_url',
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
    matches: says(/SASL mechanism PLAIN is not provided/u),
    cause: 'the broker does not accept passwords (it does not offer PLAIN)',
    remedy:
      'log in with a client certificate (broker_login_method EXTERNAL), or add PLAIN to its auth_mechanisms',
  },
  {
    matches: says(/SASL mechanism \S+ is not provided/u),
    cause: 'the broker does not offer this login_method',
    remedy: 'for EXTERNAL, enable its plugin rabbitmq_auth_mechanism_ssl, and add it to auth_mechanisms',
  },
  {
    matches: says(/Login was refused using authentication mechanism EXTERNAL/u),
    cause: 'the broker has no user with the name in the client certificate',
    remedy: 'add that user, or check ssl_cert_login_from in RabbitMQ',
  },
  {
    matches: (said, { isGuest, isLocal }) => isGuest && !isLocal && /ACCESS.REFUSED - Login/u.test(said),
    cause: 'RabbitMQ accepts the user guest only from its own host',
    remedy: 'use another user and its password in broker_url',
  },
  {
    matches: says(/ACCESS.REFUSED - Login/u),
    cause: 'the broker does not know this user, or the password is wrong',
    remedy: 'correct both in broker_url; # / ? @ in them are percent-encoded',
  },
  {
    matches: says(/connection limit .*is reached/u),
    cause: 'the user or the virtual host has reached its connection limit',
    remedy:
      'raise the limit (rabbitmqctl set_user_limits or set_vhost_limits), or close unused connections; celery-otel has up to three',
  },
  {
    matches: says(/vhost .* is down/u),
    cause: 'the virtual host is down',
    remedy: 'find the reason in the log of RabbitMQ, and restart it (rabbitmqctl restart_vhost)',
  },
  {
    matches: says(/vhost .* not found/u),
    cause: 'there is no such virtual host',
    remedy: 'correct what follows the slash in broker_url, or add it (rabbitmqctl add_vhost)',
  },
  {
    matches: says(/access to vhost .* refused for user/u),
    cause: 'the user may not access this virtual host',
    remedy:
      'grant the permissions in it (rabbitmqctl set_permissions), or correct what follows the slash in broker_url',
  },
  {
    matches: (said, { isBehindSentinels }) => isBehindSentinels && /WRONGPASS|NOAUTH|ERR AUTH/u.test(said),
    cause: 'the sentinels or the master expect another password',
    remedy: 'set sentinel_password for the sentinels, and the password in broker_url for the master',
  },
  {
    matches: says(/knows no master/u),
    cause: 'the sentinels have no master with this name',
    remedy: 'set master_name to the name in their "sentinel monitor" line',
  },
  {
    matches: says(/WRONGPASS|ERR invalid password/u),
    cause: 'Redis does not know this user, or the password is wrong',
    remedy: 'correct both in broker_url; # / ? @ in them are percent-encoded',
  },
  {
    matches: says(/NOAUTH/u),
    cause: 'Redis requires a password',
    remedy: 'write it in broker_url, as in redis://:PASSWORD@host',
  },
  {
    matches: says(/^ERR (?:AUTH|Client sent AUTH)/u),
    cause: 'Redis has no password, but broker_url has one',
    remedy: 'remove it there, or set requirepass in Redis',
  },
  {
    matches: says(/DENIED Redis is running in protected mode/u),
    cause: 'Redis is in protected mode and accepts only its own host',
    remedy: 'set a password (requirepass)',
  },
  {
    matches: says(/max number of clients reached/u),
    cause: 'Redis has reached maxclients',
    remedy: 'raise maxclients, or close unused clients',
  },
  {
    matches: (said, { isTls, hasWorked }) => isTls && !hasWorked && CLOSED.test(said),
    cause: '{at} aborted the TLS handshake, or is not {broker}',
    remedy: 'correct the port; or set ssl_certfile and ssl_keyfile, if it requires a client certificate',
  },
  {
    matches: says(OTHER_PROTOCOL),
    cause: '{at} is not {broker}',
    remedy: 'correct the port in broker_url',
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

/**
 * The reason, preceded by its likely cause and the remedy.
 * @param hasWorked whether this connection was open before
 * @param peerText makes the reason, which may quote the broker, fit to be shown
 */
export function explained(reason: string, url: BrokerUrl, hasWorked: boolean, peerText: PeerText): string {
  const situation = situationOf(url, hasWorked);
  const said = shortened(reason);
  const found = situation && CAUSES.find(({ matches }) => matches(said, situation));
  if (found === undefined) return peerText(reason);
  const word = (match: string, name: string): string => situation?.words.get(name) ?? match;
  const advice = `${found.cause}: ${found.remedy}`.replaceAll(/\{(\w+)\}/gu, word);
  return `${advice} (${peerText(reason)})`;
}

/** Undefined for a recording. */
function situationOf(url: BrokerUrl, hasWorked: boolean): Situation | undefined {
  if (url.scheme === 'recording') return undefined;
  const isAmqp = 'vhost' in url;
  const address = isAmqp ? url : url.at;
  const place = typeof address === 'object' && 'host' in address ? address : undefined;
  const shown = place === undefined ? addressIn(url.label) : shownPlace(place);
  return {
    speaks: isAmqp ? 'AMQP' : 'Redis',
    hasWorked,
    isTls: url.tls !== undefined,
    hasClientCertificate: url.tls?.certFile !== undefined,
    port: place?.port,
    isLocal: /^(?:127\.|localhost$|::1$)/u.test(place?.host ?? ''),
    isBehindSentinels: url.scheme === 'sentinel',
    isGuest: isAmqp && url.username === 'guest',
    words: new Map([
      ['at', shown],
      ['port', String(place?.port ?? '')],
      ['broker', isAmqp ? 'RabbitMQ' : 'Redis'],
      ['plain', isAmqp ? 'amqp' : 'redis'],
      ['secure', isAmqp ? 'amqps' : 'rediss'],
      ['asAmqp', url.tls === undefined ? 'amqp' : 'amqps'],
      ['asRedis', url.tls === undefined ? 'redis' : 'rediss'],
    ]),
  };
}

/** The address in a label: a host and port, the path of a socket, or the addresses of sentinels. */
function addressIn(label: string): string {
  return label.replace(/^[^:]*:\/\/(?:[^@]*@)?/u, '').replace(/(?:\?.*|\/\d*)$/u, '');
}
