/** Parses an `amqp://` address by kombu’s rules. Its errors never quote the address. */

import { failed, type Parsed } from '../../text/parsed.ts';
import {
  type AddressRules,
  type BrokerAddress,
  type BrokerTls,
  parseAddress,
  printable,
  shownPlace,
  TLS_KEYS,
  wholeNumber,
} from '../server/address.ts';

/** The SASL mechanisms of py-amqp, except GSSAPI. */
export const LOGIN_METHODS = ['PLAIN', 'AMQPLAIN', 'EXTERNAL'] as const;
export type LoginMethod = (typeof LOGIN_METHODS)[number];

/** A server to connect to. */
export interface AmqpUrl extends BrokerAddress {
  /** `amqps` if `tls` is set, else `amqp`. */
  readonly scheme: 'amqp' | 'amqps';
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly vhost: string;
  /** The heartbeat interval from `?heartbeat=`, seconds; undefined: the option applies. */
  readonly heartbeatS: number | undefined;
  /** The SASL mechanism from `?login_method=`; undefined: the option applies. */
  readonly loginMethod?: LoginMethod;
  readonly tls: BrokerTls | undefined;
}

const RULES = {
  // kombu ignores `insist`.
  keys: ['heartbeat', 'login_method', 'insist', 'ssl', ...TLS_KEYS, 'ssl_check_hostname'],
  plainPort: 5672,
  tlsPort: 5671,
};
/** AMQP carries the heartbeat as an unsigned 16-bit number of seconds. */
export const HEARTBEAT_MAX_S = 65_535;

/** Parses what follows `amqp://`, with kombu’s defaults: guest, guest, 127.0.0.1, 5672 (5671 with TLS), `/`. */
export function parseAmqpUrl(
  afterScheme: string,
  tlsRules: Pick<AddressRules, 'isSecure' | 'useSsl'>,
): Parsed<{ readonly url: AmqpUrl }> {
  const parsed = parseAddress(afterScheme, { ...RULES, ...tlsRules });
  if (!parsed.ok) return parsed;
  const { host, port, path, keys, tls } = parsed.address;
  const heartbeat = keys.get('heartbeat');
  const heartbeatS =
    heartbeat === undefined ? undefined : wholeNumber(heartbeat.replace(/\.0+$/u, ''), 0, HEARTBEAT_MAX_S);
  if (heartbeat !== undefined && heartbeatS === undefined) {
    return failed(`heartbeat must be a whole number of seconds from 0 to ${HEARTBEAT_MAX_S}`);
  }
  const method = keys.get('login_method');
  const loginMethod = LOGIN_METHODS.find((one) => one === method);
  if (method !== undefined && loginMethod === undefined) {
    return failed(`login_method must be ${LOGIN_METHODS.join(', ')}`);
  }
  // kombu treats an empty user, password or virtual host as a missing one.
  const username = parsed.address.username || 'guest';
  const password = parsed.address.password || 'guest';
  const vhost = path || '/';
  const scheme = tls === undefined ? 'amqp' : 'amqps';
  const label = `${scheme}://${printable(username)}:***@${shownPlace({ host, port })}/${printable(vhost)}`;
  const url = { scheme, host, port, username, password, vhost, heartbeatS, tls, label } as const;
  return { ok: true, url: loginMethod === undefined ? url : { ...url, loginMethod } };
}
