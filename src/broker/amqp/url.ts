/**
 * An `amqp://` address by kombu's rules, which are not those of WHATWG URLs: everything after the first slash is the
 * virtual host, percent-decoded once. It works on the string and never echoes any of it.
 */
import { isIPv6 } from 'node:net';
import { unescape as percentDecoded } from 'node:querystring';
import { failed, type Outcome } from '../outcome.ts';

/**
 * TLS settings as kombu's `ssl_*` query keys, or Celery's `broker_use_ssl`, give them; file paths, read when the
 * connection is made.
 */
export interface BrokerTls {
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** false only where it is said by name (`ssl_cert_reqs=none`). */
  readonly verify: boolean;
}

/** A server to connect to. */
export interface AmqpUrl {
  /** `amqps` exactly where `tls` is given. */
  readonly scheme: 'amqp' | 'amqps';
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly vhost: string;
  /** From `?heartbeat=`, seconds; undefined: the option's value. */
  readonly heartbeatS: number | undefined;
  readonly tls: BrokerTls | undefined;
  /** Scheme, user, host, port and virtual host; the password is masked. */
  readonly label: string;
}

const PLAIN_PORT = 5672;
const TLS_PORT = 5671;
/** Letters of any language: resolving them is left to the system. */
const HOST_NAME = /^[\p{L}\p{N}._-]+$/u;
/** AMQP carries the heartbeat as an unsigned 16-bit number of seconds. */
const HEARTBEAT_MAX_S = 65_535;

/** Python's names of `ssl.CERT_*` as kombu takes them → whether a client verifies. For a client, optional is required. */
export const VERIFY_BY_CERT_REQS: ReadonlyMap<string, boolean> = new Map([
  ['none', false],
  ['CERT_NONE', false],
  ['optional', true],
  ['CERT_OPTIONAL', true],
  ['required', true],
  ['CERT_REQUIRED', true],
]);

const QUERY_KEYS = ['heartbeat', 'ssl_cert_reqs', 'ssl_ca_certs', 'ssl_certfile', 'ssl_keyfile'] as const;
type QueryKey = (typeof QUERY_KEYS)[number];

/**
 * Reads what follows `amqp://`. What is missing has kombu's defaults: guest, guest, 127.0.0.1, 5672 (5671 with TLS), `/`.
 * @param secure true for `amqps`; any `ssl_*` key has the same effect.
 * @param setting `broker_use_ssl`: it too has that effect, and gives way to `ssl_*` keys as a whole, as in kombu.
 */
export function parseAmqpUrl(
  afterScheme: string,
  secure: boolean,
  setting?: BrokerTls,
): Outcome<{ readonly url: AmqpUrl }> {
  const [, authority = '', path = '', queryText = ''] =
    /^([^/?#]*)([^?#]*)(?:\?([^#]*))?/s.exec(afterScheme) ?? [];
  /*
   * A password with an unencoded slash, ? or # ends the authority early, and its tail would be shown as a virtual host.
   */
  if (afterScheme.includes('#') || (path + queryText).includes('@')) {
    return failed('#, / and ? in a user name or password, and # and @ elsewhere, must be percent-encoded');
  }
  const query = parseQuery(queryText);
  if (!query.ok) return query;
  const tls = tlsOf(query.keys, secure, setting);
  if (tls === 'invalid') return failed('ssl_cert_reqs must be required, optional or none');
  const heartbeat = query.keys.get('heartbeat');
  const heartbeatS = heartbeat === undefined ? undefined : wholeNumber(heartbeat, 0, HEARTBEAT_MAX_S);
  if (heartbeat !== undefined && heartbeatS === undefined) {
    return failed(`heartbeat must be a whole number of seconds from 0 to ${HEARTBEAT_MAX_S}`);
  }
  const split = authority.lastIndexOf('@');
  const address = parseHostAndPort(authority.slice(split + 1), tls === undefined ? PLAIN_PORT : TLS_PORT);
  if (!address.ok) return address;
  const credentials = parseCredentials(authority.slice(0, Math.max(split, 0)));
  const vhost = percentDecoded(path.slice(1)) || '/';
  const scheme = tls === undefined ? 'amqp' : 'amqps';
  const { host, port } = address;
  const shownHost = host.includes(':') ? `[${host}]` : host;
  const label = `${scheme}://${printable(credentials.username)}:***@${shownHost}:${port}/${printable(vhost)}`;
  return { ok: true, url: { scheme, host, port, ...credentials, vhost, heartbeatS, tls, label } };
}

/** An empty user or password is a missing one to kombu. */
function parseCredentials(userinfo: string): { username: string; password: string } {
  const colon = userinfo.indexOf(':');
  const username = colon === -1 ? userinfo : userinfo.slice(0, colon);
  const password = colon === -1 ? '' : userinfo.slice(colon + 1);
  return { username: percentDecoded(username) || 'guest', password: percentDecoded(password) || 'guest' };
}

function parseHostAndPort(text: string, defaultPort: number): Outcome<{ host: string; port: number }> {
  const [, bracketed, bare = '', portText = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::(.*))?$/s.exec(text) ?? [
    '',
    undefined,
    '[',
  ];
  const port = portText === '' ? defaultPort : wholeNumber(portText, 1, 65_535);
  if (port === undefined) return failed('the port must be a whole number from 1 to 65535');
  const host = percentDecoded(bracketed ?? bare).toLowerCase() || 'localhost';
  const valid = bracketed === undefined ? HOST_NAME.test(host) : isIPv6(host);
  if (!valid) return failed('the host is malformed; an IPv6 address is written in [brackets]');
  // kombu does the same: `localhost` may resolve to ::1 first, where RabbitMQ does not have to listen.
  return { ok: true, host: host === 'localhost' ? '127.0.0.1' : host, port };
}

function parseQuery(text: string): Outcome<{ keys: ReadonlyMap<QueryKey, string> }> {
  const keys = new Map<QueryKey, string>();
  for (const pair of text.split('&').filter((part) => part !== '')) {
    const [, name = '', value = ''] = /^([^=]*)(?:=(.*))?$/s.exec(pair) ?? [];
    const key = QUERY_KEYS.find((known) => known === name);
    if (key === undefined)
      return failed(`${shownKey(name)} is not known; known are ${QUERY_KEYS.join(', ')}`);
    if (value === '') return failed(`${key} has no value`);
    keys.set(key, percentDecoded(value.replaceAll('+', ' ')));
  }
  return { ok: true, keys };
}

/** Names that look like option names are worth telling; anything else may be a piece of a password. */
function shownKey(name: string): string {
  return /^[a-z_]{1,40}$/i.test(name) ? `the query key ${name}` : 'a query key';
}

function tlsOf(
  keys: ReadonlyMap<QueryKey, string>,
  secure: boolean,
  setting: BrokerTls | undefined,
): BrokerTls | undefined | 'invalid' {
  if (![...keys.keys()].some((key) => key.startsWith('ssl_'))) {
    if (setting !== undefined || !secure) return setting;
  }
  const verify = VERIFY_BY_CERT_REQS.get(keys.get('ssl_cert_reqs') ?? 'required');
  if (verify === undefined) return 'invalid';
  return {
    caFile: keys.get('ssl_ca_certs'),
    certFile: keys.get('ssl_certfile'),
    keyFile: keys.get('ssl_keyfile'),
    verify,
  };
}

function wholeNumber(text: string, min: number, max: number): number | undefined {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return number >= min && number <= max ? number : undefined;
}

/** Without control characters, which a label would carry into log lines; slashes stay readable. */
function printable(text: string): string {
  // The detour over UTF-8 replaces lone surrogates, at which encodeURIComponent throws.
  return encodeURIComponent(Buffer.from(text).toString()).replaceAll('%2F', '/');
}
