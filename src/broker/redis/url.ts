/**
 * Parses the addresses of Redis by kombu’s rules: a server by TCP or by a Unix socket, or the master that sentinels know.
 * Its errors never quote the address.
 */

import { failed, type Outcome } from '../outcome.ts';
import {
  type Address,
  type AddressRules,
  type BrokerTls,
  parseAddress,
  printable,
  shownPlace,
  TLS_KEYS,
} from '../server/address.ts';

/** Where a TCP server is. */
export type RedisPlace = Pick<Address, 'host' | 'port'>;

export interface RedisUrl {
  /** `rediss` exactly if `tls` is set, unless it is `sentinel`. */
  readonly scheme: 'redis' | 'rediss' | 'redis+socket' | 'sentinel';
  /** A server, the path of its Unix socket, or sentinels to ask for the master. */
  readonly at: RedisPlace | string | readonly RedisPlace[];
  /** Of the data node; '' if there is none. */
  readonly username: string;
  readonly password: string;
  /** The number of the database, which is part of the names of its channels. */
  readonly db: number;
  readonly tls: BrokerTls | undefined;
  /** The address with its password masked. */
  readonly label: string;
}

type TlsRules = Pick<AddressRules, 'isSecure' | 'useSsl'>;
type Parsed = Outcome<{ readonly url: RedisUrl }>;

const KEYS = [...TLS_KEYS, 'ssl_check_hostname'];
const SERVER = { keys: KEYS, plainPort: 6379, tlsPort: 6379 };
const SENTINEL = { keys: KEYS, plainPort: 26_379, tlsPort: 26_379 };
const SOCKET = { keys: ['virtual_host'], plainPort: 6379, tlsPort: 6379, isSecure: false, useSsl: undefined };

const NO_SOCKET = 'the path of the Unix socket must follow three slashes: redis+socket:///path';

/** Parses what follows `redis://` or `rediss://`; the defaults are 127.0.0.1, 6379 and database 0. */
export function parseRedisUrl(afterScheme: string, tlsRules: TlsRules): Parsed {
  const parsed = parseAddress(afterScheme, { ...SERVER, ...tlsRules });
  if (!parsed.ok) return parsed;
  const { host, port, username, password, path, tls } = parsed.address;
  const db = databaseOf(path);
  if (!db.ok) return db;
  const scheme = tls === undefined ? 'redis' : 'rediss';
  const label = `${scheme}://${shownUser(parsed.address)}${shownPlace(parsed.address)}/${db.number}`;
  return { ok: true, url: { scheme, at: { host, port }, username, password, db: db.number, tls, label } };
}

/** Parses what follows `redis+socket://`: `[user:password@]/path/of/the/socket[?virtual_host=N]`. */
export function parseRedisSocketUrl(afterScheme: string): Parsed {
  const parsed = parseAddress(afterScheme, SOCKET);
  // kombu ignores a host, which is the first folder of a path that lacks its slash.
  if (!/^(?:[^/?#]*@)?\//u.test(afterScheme)) return failed(NO_SOCKET);
  if (!parsed.ok) return parsed;
  const { username, password, path, keys } = parsed.address;
  const db = databaseOf(keys.get('virtual_host') ?? '');
  if (!db.ok) return db;
  if (path === '') return failed(NO_SOCKET);
  const at = `/${path}`;
  const label = `redis+socket://${shownUser(parsed.address)}${printable(at)}?virtual_host=${db.number}`;
  return {
    ok: true,
    url: { scheme: 'redis+socket', at, username, password, db: db.number, tls: undefined, label },
  };
}

/**
 * Parses what follows `sentinel://` in each of several addresses, which are one broker. As in kombu, the user, the password
 * and the database are those of the first address.
 */
export function parseSentinelUrls(afterSchemes: readonly string[], tlsRules: TlsRules): Parsed {
  const addresses: Address[] = [];
  for (const [index, afterScheme] of afterSchemes.entries()) {
    const parsed = parseAddress(afterScheme, { ...SENTINEL, ...tlsRules });
    const where = afterSchemes.length > 1 ? `sentinel ${index + 1} of ${afterSchemes.length}: ` : '';
    if (!parsed.ok) return failed(where + parsed.reason);
    addresses.push(parsed.address);
  }
  const [first] = addresses;
  if (first === undefined) return failed('there is no sentinel');
  const db = databaseOf(first.path);
  if (!db.ok) return db;
  const { username, password, tls } = first;
  const places = addresses.map(({ host, port }) => ({ host, port }));
  const label = `sentinel://${shownUser(first)}${places.map(shownPlace).join(',')}/${db.number}`;
  return {
    ok: true,
    url: { scheme: 'sentinel', at: places, username, password, db: db.number, tls, label },
  };
}

/** kombu: transport/redis.py, `_connparams`. A slash before the number is ignored. */
function databaseOf(path: string): Outcome<{ readonly number: number }> {
  const digits = path.replace(/^\//u, '');
  if (digits === '') return { ok: true, number: 0 };
  // More than any server is configured for.
  return /^\d{1,6}$/u.test(digits)
    ? { ok: true, number: Number(digits) }
    : failed('the database after the slash must be a number');
}

function shownUser({ username, password }: Address): string {
  if (username === '' && password === '') return '';
  return `${printable(username)}${password === '' ? '' : ':***'}@`;
}
