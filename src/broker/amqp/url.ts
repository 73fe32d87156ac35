/**
 * Parses an `amqp://` address by kombu’s rules, which differ from those of WHATWG URLs: everything after the first slash
 * is the virtual host, percent-decoded once. Its errors never quote the address.
 */
import { isIPv6 } from 'node:net';
import { unescape as percentDecoded } from 'node:querystring';
import { failed, type Outcome } from '../outcome.ts';

/**
 * TLS settings from kombu’s `ssl_*` query keys or Celery’s `broker_use_ssl`. The files are read with each connection.
 */
export interface BrokerTls {
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** false only if set explicitly (`ssl_cert_reqs=none`). */
  readonly verify: boolean;
}

/** A server to connect to. */
export interface AmqpUrl {
  /** `amqps` exactly if `tls` is set. */
  readonly scheme: 'amqp' | 'amqps';
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly vhost: string;
  /** From `?heartbeat=`, seconds; undefined: the option applies. */
  readonly heartbeatS: number | undefined;
  readonly tls: BrokerTls | undefined;
  /** Scheme, user, host, port and virtual host; the password is masked. */
  readonly label: string;
}

const PLAIN_PORT = 5672;
const TLS_PORT = 5671;
/** Letters of any script: the system resolves them. */
const HOST_NAME = /^[\p{L}\p{N}._-]+$/u;
/** AMQP carries the heartbeat as an unsigned 16-bit number of seconds. */
const HEARTBEAT_MAX_S = 65_535;

/** The names of Python’s `ssl.CERT_*` as kombu accepts them → whether we verify. For a client, optional means required. */
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
 * Parses what follows `amqp://`, with kombu’s defaults: guest, guest, 127.0.0.1, 5672 (5671 with TLS), `/`.
 * @param secure true for `amqps`; any `ssl_*` key also enables TLS
 * @param setting `broker_use_ssl`: also enables TLS; any `ssl_*` key replaces all of it, as in kombu
 */
export function parseAmqpUrl(
  afterScheme: string,
  secure: boolean,
  setting?: BrokerTls,
): Outcome<{ readonly url: AmqpUrl }> {
  const [, authority = '', path = '', queryText = ''] =
    /^([^/?#]*)([^?#]*)(?:\?([^#]*))?/s.exec(afterScheme) ?? [];
  // An unencoded slash, ? or # in a password ends the authority early; the rest would be shown as a virtual host.
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

/** kombu treats an empty user or password as a missing one. */
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
  // As in kombu: `localhost` may resolve to ::1 first, where RabbitMQ may not listen.
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

/** Quotes a name only if it looks like an option: anything else may be part of a password. */
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

/** Escapes control characters, since a label appears in log lines; slashes stay readable. */
function printable(text: string): string {
  // UTF-8 replaces lone surrogates, at which encodeURIComponent throws.
  return encodeURIComponent(Buffer.from(text).toString()).replaceAll('%2F', '/');
}
