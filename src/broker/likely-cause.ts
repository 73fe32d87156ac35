/**
 * The table of failed connections to brokers, each with its likely cause and what to do, for people who know neither AMQP nor
 * OpenSSL. Log lines, `check` and docs/troubleshooting.md have them from here. It decides nothing. Pure.
 */
import { shortened } from '../text/errors.ts';
import type { PeerText } from '../text/peer-text.ts';
import type { BrokerUrl } from './broker-url.ts';
import { shownPlace } from './server/address.ts';
import { AS_REDIS } from './server/redis-probe.ts';
import { NO_TLS } from './server/tls-failure.ts';

/** What is known of a connection, beside the words of its failure. */
interface Situation {
  readonly speaks: 'AMQP' | 'Redis';
  /** Whether it was open before: then the settings are right. */
  readonly hasWorked: boolean;
  readonly isTls: boolean;
  readonly hasClientCertificate: boolean;
  /** Of one server; undefined for a socket and for sentinels. */
  readonly port: number | undefined;
  readonly isLocal: boolean;
  readonly isBehindSentinels: boolean;
  readonly isGuest: boolean;
  /** What stands for the words in braces. */
  readonly words: ReadonlyMap<string, string>;
}

interface Cause {
  readonly is: (said: string, situation: Situation) => boolean;
  /** With words in braces, such as `{at}`. */
  readonly cause: string;
  readonly remedy: string;
}

const CLOSED =
  /ECONNRESET|EPIPE|Socket closed abruptly|Unexpected close|closed the connection$|socket hang up|disconnected before secure|Stream isn't writeable|Connection is closed/u;
/** Of ioredis, and of amqplib. */
const OTHER_PROTOCOL = /Unknown RESP type|\bFrame size \d+ exceeds/u;
const SILENT = /no answer within|Handshake timeout/u;
const UNTRUSTED = /unable to (?:verify|get (?:local )?issuer)|self[- ]signed|UNABLE_TO_|SELF_SIGNED/u;
const CERTIFICATE_ALERT = /alert (?:.*certificate|unknown ca|access denied|decrypt error)/u;
const HANDSHAKE_ALERT = /alert handshake failure/u;

const says =
  (pattern: RegExp) =>
  (said: string): boolean =>
    pattern.test(said);

/** At the port of something else, where a client of this protocol gets no answer. */
const atPortOf =
  (speaks: Situation['speaks'], ...ports: readonly number[]) =>
  (said: string, { speaks: own, port = 0, isTls, hasWorked }: Situation): boolean =>
    own === speaks &&
    ports.includes(port) &&
    !hasWorked &&
    (port !== 5671 || !isTls || speaks === 'Redis') &&
    (CLOSED.test(said) || SILENT.test(said) || NO_TLS.test(said) || OTHER_PROTOCOL.test(said));

/** The first that matches is reported. */
export const CAUSES: readonly Cause[] = [
  {
    is: says(/\bE[MN]FILE\b/u),
    cause: 'this process has as many connections and files open as it may have',
    remedy: 'raise its limit (ulimit -n, LimitNOFILE)',
  },
  {
    is: (said, { hasWorked }) => hasWorked && /ECONNREFUSED/u.test(said),
    cause: 'nothing is listening on {at} any more',
    remedy: 'start the broker',
  },
  {
    is: (said, { isLocal }) => isLocal && /ECONNREFUSED/u.test(said),
    cause: 'nothing is listening on {at} here',
    remedy: 'start the broker, or correct broker_url; in a container, localhost is the container itself',
  },
  {
    is: says(/ECONNREFUSED/u),
    cause: 'nothing is listening on {at}',
    remedy: 'start the broker, or correct broker_url',
  },
  {
    is: says(/ENOTFOUND|EAI_AGAIN/u),
    cause: 'the host name of {at} cannot be resolved',
    remedy: 'correct broker_url, or DNS',
  },
  {
    is: says(/EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ETIMEDOUT/u),
    cause: '{at} is unreachable',
    remedy: 'correct broker_url, or check the network',
  },
  {
    is: says(/^connect (?:ENOENT|EACCES)/u),
    cause: 'the socket {at} cannot be opened',
    remedy: 'start Redis, or correct the path in broker_url or the permissions of the file',
  },
  {
    is: (said) => said.endsWith(AS_REDIS),
    cause: '{at} is a Redis',
    remedy: 'write {asRedis}:// in broker_url, or the address of RabbitMQ',
  },
  {
    // The first byte of what a server of AMQP says to all that is not AMQP.
    is: says(/Unknown RESP type 65\b/u),
    cause: '{at} is a RabbitMQ',
    remedy: 'write {asAmqp}:// in broker_url, or the address of Redis',
  },
  {
    is: atPortOf('AMQP', 6379),
    cause: '{port} is the port of Redis',
    remedy: 'write redis:// in broker_url, or the port of RabbitMQ, 5672',
  },
  {
    is: atPortOf('Redis', 5671, 5672),
    cause: '{port} is the port of RabbitMQ',
    remedy: 'write amqp:// in broker_url, or the port of Redis, 6379',
  },
  {
    is: atPortOf('AMQP', 15_671, 15_672),
    cause: '{port} is the port of RabbitMQ’s web pages',
    remedy: 'write the port 5672 in broker_url',
  },
  {
    is: atPortOf('AMQP', 5671),
    cause: '{port} is the port of RabbitMQ for TLS',
    remedy: 'write amqps:// in broker_url',
  },
  {
    is: (said, { isTls }) => isTls && NO_TLS.test(said),
    cause: '{at} does not speak TLS',
    remedy:
      'correct the port, or enable TLS there; without TLS, write {plain}:// and neither ssl_ keys nor broker_use_ssl',
  },
  {
    is: says(/ALTNAME|altnames|HOSTNAME_MISMATCH|hostname mismatch/u),
    cause: 'the certificate of {at} is for another host name',
    remedy:
      'write a name in broker_url that it covers, set server_hostname in broker_use_ssl (AMQP), or, in a network that you trust, ssl_check_hostname=false',
  },
  {
    is: says(/certificate has expired|CERT_HAS_EXPIRED/u),
    cause: 'the certificate of {at} has expired',
    remedy: 'renew it, or correct the clock',
  },
  {
    is: says(/certificate is not yet valid|CERT_NOT_YET_VALID/u),
    cause: 'the certificate of {at} is not valid yet',
    remedy: 'check the clocks',
  },
  {
    is: says(UNTRUSTED),
    cause: 'the certificate of {at} is not trusted',
    remedy: 'set ssl_ca_certs to the file of its CA certificate, in broker_url or broker_use_ssl',
  },
  {
    is: (said, { hasClientCertificate }) =>
      hasClientCertificate && (CERTIFICATE_ALERT.test(said) || HANDSHAKE_ALERT.test(said)),
    cause: 'the broker rejects the client certificate',
    remedy: 'have it trust the CA of ssl_certfile, or correct ssl_certfile and ssl_keyfile',
  },
  {
    is: says(CERTIFICATE_ALERT),
    cause: 'the broker requires a client certificate',
    remedy: 'set ssl_certfile and ssl_keyfile, in broker_url or broker_use_ssl',
  },
  {
    is: says(HANDSHAKE_ALERT),
    cause: 'the broker requires a client certificate, or shares no cipher or TLS version with us',
    remedy: 'set ssl_certfile and ssl_keyfile, or enable TLS 1.2 or newer there',
  },
  {
    is: says(/protocol version|unsupported protocol|no protocols/u),
    cause: 'the broker shares no TLS version with us',
    remedy: 'enable TLS 1.2 or newer there',
  },
  {
    is: says(/alert unrecognized name/u),
    cause: 'the broker does not serve this host name',
    remedy: 'write the one that it serves in broker_url',
  },
  {
    is: says(/key values mismatch/u),
    cause: 'ssl_keyfile is not the key of ssl_certfile',
    remedy: 'set both to the files of one certificate',
  },
  {
    is: says(/SASL mechanism PLAIN is not provided/u),
    cause: 'the broker takes no passwords (it does not offer PLAIN)',
    remedy:
      'log in with a client certificate (broker_login_method EXTERNAL), or add PLAIN to its auth_mechanisms',
  },
  {
    is: says(/SASL mechanism \S+ is not provided/u),
    cause: 'the broker does not offer this login_method',
    remedy: 'for EXTERNAL, enable its plugin rabbitmq_auth_mechanism_ssl, and add it to auth_mechanisms',
  },
  {
    is: says(/Login was refused using authentication mechanism EXTERNAL/u),
    cause: 'the broker knows no user of the name in the client certificate',
    remedy: 'add that user, or look at ssl_cert_login_from of RabbitMQ',
  },
  {
    is: (said, { isGuest, isLocal }) => isGuest && !isLocal && /ACCESS.REFUSED - Login/u.test(said),
    cause: 'RabbitMQ lets the user guest in from its own host only',
    remedy: 'write another user and its password in broker_url',
  },
  {
    is: says(/ACCESS.REFUSED - Login/u),
    cause: 'the broker does not know this user, or the password is wrong',
    remedy: 'correct both in broker_url; # / ? @ in them are percent-encoded',
  },
  {
    is: says(/connection limit .*is reached/u),
    cause: 'the user or the virtual host has as many connections as it may have',
    remedy:
      'raise the limit (rabbitmqctl set_user_limits or set_vhost_limits), or look which connections there are; celery-otel has up to three',
  },
  {
    is: says(/vhost .* is down/u),
    cause: 'the virtual host is down',
    remedy: 'look at the log of RabbitMQ for the reason, and start it (rabbitmqctl restart_vhost)',
  },
  {
    is: says(/vhost .* not found/u),
    cause: 'there is no such virtual host',
    remedy: 'correct what follows the slash in broker_url, or add it (rabbitmqctl add_vhost)',
  },
  {
    is: says(/access to vhost .* refused for user/u),
    cause: 'the user may not use this virtual host',
    remedy:
      'grant the permissions in it (rabbitmqctl set_permissions), or correct what follows the slash in broker_url',
  },
  {
    is: (said, { isBehindSentinels }) => isBehindSentinels && /WRONGPASS|NOAUTH|ERR AUTH/u.test(said),
    cause: 'the sentinels or the master want another password',
    remedy: 'sentinel_password is for the sentinels, the one in broker_url for the master',
  },
  {
    is: says(/knows no master/u),
    cause: 'the sentinels have no master of this name',
    remedy: 'set master_name to the name in their line "sentinel monitor"',
  },
  {
    is: says(/WRONGPASS|ERR invalid password/u),
    cause: 'Redis does not know this user, or the password is wrong',
    remedy: 'correct both in broker_url; # / ? @ in them are percent-encoded',
  },
  {
    is: says(/NOAUTH/u),
    cause: 'Redis requires a password',
    remedy: 'write it in broker_url, as in redis://:PASSWORD@host',
  },
  {
    is: says(/^ERR (?:AUTH|Client sent AUTH)/u),
    cause: 'Redis has no password, but broker_url has one',
    remedy: 'remove it there, or set requirepass in Redis',
  },
  {
    is: says(/DENIED Redis is running in protected mode/u),
    cause: 'Redis is in protected mode, and lets in its own host only',
    remedy: 'give it a password (requirepass)',
  },
  {
    is: says(/max number of clients reached/u),
    cause: 'Redis has as many clients as it takes',
    remedy: 'raise its maxclients, or look which clients there are',
  },
  {
    is: (said, { isTls, hasWorked }) => isTls && !hasWorked && CLOSED.test(said),
    cause: '{at} aborted the TLS handshake, or is no {broker}',
    remedy: 'correct the port; or set ssl_certfile and ssl_keyfile, if it requires a client certificate',
  },
  {
    is: says(OTHER_PROTOCOL),
    cause: '{at} is no {broker}',
    remedy: 'correct the port in broker_url',
  },
  {
    is: (said, { hasWorked }) => !hasWorked && CLOSED.test(said),
    cause: '{at} closed the connection without an answer',
    remedy: 'write {secure}:// in broker_url if it expects TLS; or correct the port, if it is no {broker}',
  },
  {
    is: (said, { isTls, hasWorked }) => isTls && !hasWorked && SILENT.test(said),
    cause: '{at} does not answer over TLS',
    remedy: 'correct the port, if it is no {broker} with TLS; or check for a firewall in between',
  },
  {
    is: (said, { hasWorked }) => !hasWorked && SILENT.test(said),
    cause: '{at} does not answer',
    remedy: 'correct the port, if it is no {broker}; or check for a firewall in between',
  },
];

/**
 * The reason, with its likely cause and what to do before it.
 * @param hasWorked whether such a connection was open before
 * @param peerText makes the reason, which may be in the words of the broker, fit to be shown
 */
export function explained(reason: string, url: BrokerUrl, hasWorked: boolean, peerText: PeerText): string {
  const situation = situationOf(url, hasWorked);
  const said = shortened(reason);
  const found = situation && CAUSES.find(({ is }) => is(said, situation));
  if (found === undefined) return peerText(reason);
  const word = (match: string, name: string): string => situation?.words.get(name) ?? match;
  const advice = `${found.cause}: ${found.remedy}`.replaceAll(/\{(\w+)\}/gu, word);
  return `${advice} (${peerText(reason)})`;
}

/** Undefined for a recording. */
function situationOf(url: BrokerUrl, hasWorked: boolean): Situation | undefined {
  if (url.scheme === 'recording') return undefined;
  const isAmqp = 'vhost' in url;
  const at = isAmqp ? url : url.at;
  const place = typeof at === 'object' && 'host' in at ? at : undefined;
  const shown = place === undefined ? placeless(url.label) : shownPlace(place);
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

/** Of a socket its path, of sentinels their addresses. */
function placeless(label: string): string {
  return label.replace(/^[^:]*:\/\/(?:[^@]*@)?/u, '').replace(/(?:\?.*|\/\d*)$/u, '');
}
