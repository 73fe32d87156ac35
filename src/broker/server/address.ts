/**
 * Splits the address of a broker by kombu’s rules, which differ from those of WHATWG URLs: everything after the first slash
 * is the path, percent-decoded once, and TLS is set by query keys. Its errors never quote the address.
 */
import { isIPv6 } from 'node:net';
import { unescape as percentDecoded } from 'node:querystring';
import { failed, type Parsed } from '../../text/parsed.ts';

/**
 * TLS settings from kombu’s `ssl_*` query keys or Celery’s `broker_use_ssl`. The files are read for each connection.
 */
export interface BrokerTls {
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** Whether the certificate is verified; false only if set explicitly (`ssl_cert_reqs=none`). */
  readonly verify: boolean;
  /** Whether the certificate must be for the host; false only if set explicitly (`ssl_check_hostname=false`). */
  readonly checkHost: boolean;
  /** The name that the certificate must be for, instead of the host (`server_hostname`). */
  readonly serverName?: string;
}

/** What the addresses of all kinds have in common. */
export interface BrokerAddress {
  readonly scheme: string;
  /** The address with its password masked; nothing else of it may be shown. */
  readonly label: string;
  readonly username?: string;
  readonly password?: string;
  readonly tls?: BrokerTls | undefined;
}

/** Whether the certificate is verified, by the names of Python’s `ssl.CERT_*` that kombu accepts. For a client, optional means required. */
export const VERIFY_BY_CERT_REQS: ReadonlyMap<string, boolean> = new Map([
  ['none', false],
  ['CERT_NONE', false],
  ['optional', true],
  ['CERT_OPTIONAL', true],
  ['required', true],
  ['CERT_REQUIRED', true],
]);

export const TLS_KEYS = ['ssl_cert_reqs', 'ssl_ca_certs', 'ssl_certfile', 'ssl_keyfile'] as const;

export const PORT_MAX = 65_535;

/** A host name, with letters of any script: the system resolves it. */
const HOST_NAME = /^[\p{L}\p{N}._-]+$/u;

export interface AddressRules {
  /** The query keys that are accepted. */
  readonly keys: readonly string[];
  readonly plainPort: number;
  readonly tlsPort: number;
  /** Whether the scheme requires TLS; any `ssl_*` key does too. */
  readonly isSecure: boolean;
  /** The value of `broker_use_ssl`, which also enables TLS; any `ssl_*` key replaces all of it, as in kombu. */
  readonly useSsl: BrokerTls | undefined;
}

export interface Address {
  /** '' if there is none. */
  readonly username: string;
  readonly password: string;
  /** The host; 127.0.0.1 for `localhost`, or if there is none, as in kombu. */
  readonly host: string;
  readonly port: number;
  /** The decoded path, without its first slash. */
  readonly path: string;
  readonly keys: ReadonlyMap<string, string>;
  readonly tls: BrokerTls | undefined;
}

/** Splits what follows `scheme://`. */
export function parseAddress(
  afterScheme: string,
  rules: AddressRules,
): Parsed<{ readonly address: Address }> {
  const [, authority = '', path = '', queryText = ''] =
    /^([^/?#]*)([^?#]*)(?:\?([^#]*))?/s.exec(afterScheme) ?? [];
  // An unencoded slash, ? or # in a password ends the authority early; the rest would be shown as the path.
  if (afterScheme.includes('#') || (path + queryText).includes('@')) {
    return failed('#, / and ? in a user name or password, and # and @ elsewhere, must be percent-encoded');
  }
  const query = parseQuery(queryText, rules.keys);
  if (!query.ok) return query;
  const { keys } = query;
  const secured = tlsOf(keys, rules);
  if (!secured.ok) return secured;
  const { tls } = secured;
  const split = authority.lastIndexOf('@');
  const place = hostAndPort(authority.slice(split + 1), tls === undefined ? rules.plainPort : rules.tlsPort);
  if (!place.ok) return place;
  const { host, port } = place;
  const credentials = credentialsOf(authority.slice(0, Math.max(split, 0)));
  return {
    ok: true,
    address: { ...credentials, host, port, path: percentDecoded(path.slice(1)), keys, tls },
  };
}

/** Host and port as in a URL, with IPv6 addresses in brackets. */
export function shownPlace({ host, port }: Pick<Address, 'host' | 'port'>): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Escapes control characters, since a label appears in log lines; slashes stay readable. */
export function printable(text: string): string {
  // UTF-8 replaces lone surrogates, at which encodeURIComponent throws.
  return encodeURIComponent(Buffer.from(text).toString()).replaceAll('%2F', '/');
}

export function wholeNumber(text: string, min: number, max: number): number | undefined {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return number >= min && number <= max ? number : undefined;
}

function credentialsOf(userinfo: string): { username: string; password: string } {
  const colon = userinfo.indexOf(':');
  const username = colon === -1 ? userinfo : userinfo.slice(0, colon);
  const password = colon === -1 ? '' : userinfo.slice(colon + 1);
  return { username: percentDecoded(username), password: percentDecoded(password) };
}

function hostAndPort(text: string, defaultPort: number): Parsed<{ host: string; port: number }> {
  const [, bracketed, bare = '', portText = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::(.*))?$/s.exec(text) ?? [];
  const port = portText === '' ? defaultPort : wholeNumber(portText, 1, PORT_MAX);
  if (port === undefined) return failed('the port must be a whole number from 1 to 65535');
  const host = percentDecoded(bracketed ?? bare).toLowerCase() || 'localhost';
  const valid = bracketed === undefined ? HOST_NAME.test(host) : isIPv6(host);
  if (!valid) return failed('the host is malformed; an IPv6 address is written in [brackets]');
  // As in kombu: `localhost` may resolve to ::1 first, where the broker may not listen.
  return { ok: true, host: host === 'localhost' ? '127.0.0.1' : host, port };
}

function parseQuery(text: string, known: readonly string[]): Parsed<{ keys: ReadonlyMap<string, string> }> {
  const keys = new Map<string, string>();
  for (const pair of text.split('&').filter((part) => part !== '')) {
    const [, name = '', value = ''] = /^([^=]*)(?:=(.*))?$/s.exec(pair) ?? [];
    if (!known.includes(name)) return failed(`${shownKey(name)} is not known; known are ${known.join(', ')}`);
    if (value === '') return failed(`${name} has no value`);
    keys.set(name, percentDecoded(value.replaceAll('+', ' ')));
  }
  return { ok: true, keys };
}

/** Quotes a name only if it looks like an option: anything else may be part of a password. */
function shownKey(name: string): string {
  return /^[a-z_]{1,40}$/i.test(name) ? `the query key ${name}` : 'a query key';
}

function tlsOf(
  keys: ReadonlyMap<string, string>,
  { isSecure, useSsl }: AddressRules,
): Parsed<{ tls: BrokerTls | undefined }> {
  const ssl = keys.get('ssl')?.toLowerCase();
  // kombu takes any text for true, even false.
  if (ssl !== undefined && !['true', '1', 'yes', 'on'].includes(ssl))
    return failed('ssl must be true or absent: kombu takes any text for true, even false');
  if (![...keys.keys()].some((key) => key.startsWith('ssl_'))) {
    if (useSsl !== undefined || !(isSecure || ssl !== undefined)) return { ok: true, tls: useSsl };
  }
  const verify = VERIFY_BY_CERT_REQS.get(keys.get('ssl_cert_reqs') ?? 'required');
  if (verify === undefined) return failed('ssl_cert_reqs must be required, optional or none');
  const checkHost = (keys.get('ssl_check_hostname') ?? 'true').toLowerCase();
  if (!['true', 'false'].includes(checkHost)) return failed('ssl_check_hostname must be true or false');
  const files = {
    caFile: keys.get('ssl_ca_certs'),
    certFile: keys.get('ssl_certfile'),
    keyFile: keys.get('ssl_keyfile'),
  };
  return { ok: true, tls: { ...files, verify, checkHost: checkHost === 'true' } };
}
