/**
 * Parses the addresses of Redis by kombu’s rules: a server by TCP or Unix socket, or the master behind sentinels.
 * Its errors never quote the address.
 */

import { failed, type Parsed } from '../../text/parsed.ts';
import {
  type Address,
  type AddressRules,
  type BrokerAddress,
  type BrokerTls,
  parseAddress,
  printable,
  shownPlace,
  TLS_KEYS,
} from '../server/address.ts';

/** The host and port of a TCP server. */
export type RedisPlace = Pick<Address, 'host' | 'port'>;

export interface RedisUrl extends BrokerAddress {
  /** `rediss` if `tls` is set and `redis` if not, unless it is `sentinel` or a socket. */
  readonly scheme: 'redis' | 'rediss' | 'redis+socket' | 'sentinel';
  /** The server, the path of its Unix socket, or the sentinels that report the master. */
  readonly at: RedisPlace | string | readonly RedisPlace[];
  /** The user of the data node; '' if there is none. */
  readonly username: string;
  readonly password: string;
  /** The number of the database, which is part of the names of its channels. */
  readonly db: number;
  readonly tls: BrokerTls | undefined;
}

type TlsRules = Pick<AddressRules, 'isSecure' | 'useSsl'>;
type ParsedUrl = Parsed<{ readonly url: RedisUrl }>;

const KEYS = [...TLS_KEYS, 'ssl_check_hostname'];
const SERVER = { keys: KEYS, plainPort: 6379, tlsPort: 6379 };
const SENTINEL = { keys: KEYS, plainPort: 26_379, tlsPort: 26_379 };
const SOCKET = { keys: ['virtual_host'], plainPort: 6379, tlsPort: 6379, isSecure: false, useSsl: undefined };

/** More databases than any server is configured for. */
export const DATABASE_MAX = 999_999;

const NO_SOCKET = 'the path of the Unix socket must follow three slashes: redis+socket:///path';

/** Parses what follows `redis://` or `rediss://`; the defaults are 127.0.0.1, 6379 and database 0. */
export function parseRedisUrl(afterScheme: string, tlsRules: TlsRules): ParsedUrl {
  const parsed = parseAddress(afterScheme, { ...SERVER, ...tlsRules });
  if (!parsed.ok) return parsed;
  const { host, port, path, tls } = parsed.address;
  const scheme = tls === undefined ? 'redis' : 'rediss';
  return urlOf(parsed.address, scheme, { host, port }, path);
}

/** Parses what follows `redis+socket://`: `[user:password@]/path/of/the/socket[?virtual_host=N]`. */
export function parseRedisSocketUrl(afterScheme: string): ParsedUrl {
  const parsed = parseAddress(afterScheme, SOCKET);
  // kombu ignores a host: it is the first folder of a path that lacks its slash.
  if (!/^(?:[^/?#]*@)?\//u.test(afterScheme)) return failed(NO_SOCKET);
  if (!parsed.ok) return parsed;
  const { path, keys } = parsed.address;
  const url = urlOf(parsed.address, 'redis+socket', `/${path}`, keys.get('virtual_host') ?? '');
  return url.ok && path === '' ? failed(NO_SOCKET) : url;
}

/**
 * Parses what follows `sentinel://` in each of several addresses, which are one broker. As in kombu, the user, the password
 * and the database are those of the first address.
 */
export function parseSentinelUrls(afterSchemes: readonly string[], tlsRules: TlsRules): ParsedUrl {
  const addresses: Address[] = [];
  for (const [index, afterScheme] of afterSchemes.entries()) {
    const parsed = parseAddress(afterScheme, { ...SENTINEL, ...tlsRules });
    const where = afterSchemes.length > 1 ? `sentinel ${index + 1} of ${afterSchemes.length}: ` : '';
    if (!parsed.ok) return failed(where + parsed.reason);
    addresses.push(parsed.address);
  }
  const [first] = addresses;
  if (first === undefined) return failed('there is no sentinel');
  const places = addresses.map(({ host, port }) => ({ host, port }));
  return urlOf(first, 'sentinel', places, first.path);
}

/** @param database its number, after a slash or not; kombu: transport/redis.py, `_connparams` */
function urlOf(
  address: Address,
  scheme: RedisUrl['scheme'],
  at: RedisUrl['at'],
  database: string,
): ParsedUrl {
  const digits = database.replace(/^\//u, '');
  if (!/^\d*$/u.test(digits) || Number(digits) > DATABASE_MAX)
    return failed('the database after the slash must be a number');
  const db = Number(digits);
  const { username, password, tls } = address;
  const label = `${scheme}://${shownUser(address)}${shownAt(at)}${db}`;
  return { ok: true, url: { scheme, at, username, password, db, tls, label } };
}

/** The part before the database number. */
function shownAt(at: RedisUrl['at']): string {
  if (typeof at === 'string') return `${printable(at)}?virtual_host=`;
  return `${'host' in at ? shownPlace(at) : at.map(shownPlace).join(',')}/`;
}

function shownUser({ username, password }: Address): string {
  if (username === '' && password === '') return '';
  return `${printable(username)}${password === '' ? '' : ':***'}@`;
}
