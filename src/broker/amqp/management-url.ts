/**
 * Parses the address of RabbitMQ’s management API, which may contain a login. Its errors never quote the address, and only its
 * `label` may be shown.
 */
import { unescape as percentDecoded } from 'node:querystring';
import { failed, type Parsed } from '../../text/parsed.ts';
import { printable, shownPlace } from '../server/address.ts';

export interface Login {
  readonly username: string;
  readonly password: string;
}

/** The address of the management API. */
export interface ManagementUrl {
  readonly isSecure: boolean;
  /** A host name, or an IP address without brackets. */
  readonly host: string;
  readonly port: number;
  /** The path before `/api`: '' or `/prefix`. */
  readonly prefix: string;
  /** The user and password; undefined: those of the broker. */
  readonly login: Login | undefined;
  /** The address with the password masked. */
  readonly label: string;
}

const PLAIN_PORT = 80;
const TLS_PORT = 443;
/** The expected form of an address. Without a port, the defaults of HTTP apply, not those of RabbitMQ. */
const EXPECTED = 'http://host:15672 or https://host:15671';
/** What is removed from the end of a path: `/api`, as in the addresses that the management plugin shows, and slashes. */
const API_SUFFIX = /(?:\/api)?\/*$/u;

export function parseManagementUrl(text: string): Parsed<{ readonly url: ManagementUrl }> {
  const [, scheme = '', afterScheme = ''] = /^(https?):\/\/(.*)$/isu.exec(text) ?? [];
  if (scheme === '') return failed(`${EXPECTED}, with http:// or https://`);
  // An unencoded slash, ? or # in a password ends user, password and host early, and the rest would be shown as the path.
  if (/[?#]/u.test(afterScheme) || afterScheme.replace(/^[^/]*/u, '').includes('@'))
    return failed(
      `${EXPECTED}, without ? and #; # / ? and @ in a user name or password must be percent-encoded`,
    );
  const parsed = /[\s\p{Cc}]/u.test(text) ? null : URL.parse(text);
  if (parsed === null) return failed(`${EXPECTED}; the host or the port is malformed`);
  const isSecure = scheme.toLowerCase() === 'https';
  const place = {
    host: parsed.hostname.replace(/^\[(.*)\]$/u, '$1'),
    port: parsed.port === '' ? (isSecure ? TLS_PORT : PLAIN_PORT) : Number(parsed.port),
  };
  if (place.port === 0) return failed(`${EXPECTED}; the port must be from 1 to 65535`);
  const [username, password] = [percentDecoded(parsed.username), percentDecoded(parsed.password)];
  if ((username === '') !== (password === ''))
    return failed(`${EXPECTED}, with both user and password (http://user:password@host:15672) or neither`);
  // In HTTP’s Basic login, the first colon ends the user name.
  if (username.includes(':')) return failed(`${EXPECTED}; a user name cannot have a colon`);
  const login = username === '' ? undefined : { username, password };
  const prefix = parsed.pathname.replace(API_SUFFIX, '');
  const shownLogin = login === undefined ? '' : `${printable(username)}:***@`;
  const label = `${scheme.toLowerCase()}://${shownLogin}${shownPlace(place)}${prefix}`;
  return { ok: true, url: { isSecure, ...place, prefix, login, label } };
}
