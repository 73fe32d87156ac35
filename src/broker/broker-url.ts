/**
 * Parses `broker_url`: one broker address as Celery and kombu write it, or a list of them. It never prints a password:
 * only the `label` of an address may reach a log line or an error, and a reason quotes only the scheme and the name of a
 * query key.
 */

import { failed, type Parsed } from '../text/parsed.ts';
import { type AmqpUrl, parseAmqpUrl } from './amqp/url.ts';
import { parseRedisSocketUrl, parseRedisUrl, parseSentinelUrls, type RedisUrl } from './redis/url.ts';
import type { AddressRules, BrokerTls } from './server/address.ts';

export { type ManagementUrl, parseManagementUrl } from './amqp/management-url.ts';
export { type AmqpUrl, LOGIN_METHODS } from './amqp/url.ts';
export type { RedisUrl } from './redis/url.ts';
export { type BrokerTls, VERIFY_BY_CERT_REQS } from './server/address.ts';

/** A file of recorded messages to replay. */
export interface RecordingUrl {
  readonly scheme: 'recording';
  readonly file: string;
  /** 1 is the speed at which it was recorded; Infinity replays without waiting. */
  readonly speed: number;
  readonly label: string;
}

export type BrokerUrl = AmqpUrl | RedisUrl | RecordingUrl;

export type BrokerUrls = readonly [BrokerUrl, ...BrokerUrl[]];

type ParsedUrl = Parsed<{ readonly url: BrokerUrl }>;

/** Parses what follows the scheme and `//`. */
type Parse = (rest: string, rules: Pick<AddressRules, 'isSecure' | 'useSsl'>) => ParsedUrl;

/** The parsers by scheme, for addresses of a single server; several sentinels together are one broker. */
const PARSERS: ReadonlyMap<string, Parse> = new Map<string, Parse>([
  ['amqp', parseAmqpUrl],
  ['pyamqp', parseAmqpUrl],
  ['amqps', parseAmqpUrl],
  ['redis', parseRedisUrl],
  ['rediss', parseRedisUrl],
  ['redis+socket', parseRedisSocketUrl],
]);

/** The schemes that require TLS. */
const SECURE: ReadonlySet<string> = new Set(['amqps', 'rediss']);

/** Schemes that kombu supports and we do not. The error reports that, so that nobody searches for a typo. */
const KOMBU_SCHEMES: ReadonlySet<string> = new Set(
  (
    'valkey librabbitmq sqs gcpubsub azureservicebus azurestoragequeues confluentkafka kafka mongodb sqla ' +
    'sqlalchemy pgmq zookeeper consul etcd qpid slmq pyro filesystem memory'
  ).split(' '),
);

/** For unsupported schemes of a server that we support: the scheme to write instead. */
const OTHER_SCHEME: ReadonlyMap<string, string> = new Map([
  ['librabbitmq', 'amqp://'],
  ['valkey', 'redis://'],
]);

const CLUSTER_SCHEMES: ReadonlySet<string> = new Set(['redis+cluster', 'rediscluster', 'redisscluster']);

/** The remedy for Redis Cluster clients, which kombu does not support. */
const NO_CLUSTER =
  'Celery does not support Redis Cluster as a broker; use the address of a server outside cluster mode, or of its sentinels';

const EXPECTED =
  'expected amqp://, amqps://, pyamqp://, redis://, rediss://, redis+socket://, sentinel:// or recording:FILE';

/**
 * Parses one address, or several as `a;b` for failover; the addresses of sentinels together are one broker.
 * The grammar is kombu's, plus `recording:FILE[?speed=N]` with N a positive number or `max`.
 * @param useSsl `broker_use_ssl`, for the addresses that have no `ssl_*` keys of their own
 */
export function parseBrokerUrls(text: string, useSsl?: BrokerTls): Parsed<{ readonly urls: BrokerUrls }> {
  // Python drops tabs and line breaks anywhere in a URL (bpo-43882).
  const entries = text
    .replaceAll(/[\t\r\n]/gu, '')
    .split(';')
    .map((entry) => entry.trim());
  const sentinels = entries.flatMap((entry) => /^sentinel:\/\/(.*)$/isu.exec(entry)?.[1] ?? []);
  const urls: BrokerUrl[] = [];
  for (const [index, entry] of entries.entries()) {
    // Many guides end each address with a separator.
    if (entry === '' && index > 0 && index === entries.length - 1) continue;
    const isSentinel = /^sentinel:\/\//iu.test(entry);
    if (isSentinel && urls.some(({ scheme }) => scheme === 'sentinel')) continue;
    const parsed = isSentinel
      ? parseSentinelUrls(sentinels, { isSecure: false, useSsl })
      : parseBrokerUrl(entry, useSsl);
    const where = entries.length > 1 && !isSentinel ? `address ${index + 1} of ${entries.length}: ` : '';
    if (!parsed.ok) return failed(where + parsed.reason);
    if (parsed.url.scheme === 'recording' && entries.length > 1) {
      return failed(`${where}a recording must be the only address`);
    }
    urls.push(parsed.url);
  }
  const [first, ...others] = urls;
  return first === undefined ? failed('the broker address is empty') : { ok: true, urls: [first, ...others] };
}

function parseBrokerUrl(text: string, useSsl: BrokerTls | undefined): ParsedUrl {
  if (text === '') return failed('the broker address is empty');
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1];
  if (scheme === undefined) return failed(`there is no scheme; ${EXPECTED}`);
  const rest = text.slice(scheme.length + 1);
  const name = scheme.toLowerCase();
  if (name === 'recording') return parseRecordingUrl(rest);
  // Without slashes it is probably `host:5672` or `user:password@host`, so do not quote it.
  if (!rest.startsWith('//')) return failed(`there is no scheme; ${EXPECTED}`);
  if (CLUSTER_SCHEMES.has(name)) return failed(NO_CLUSTER);
  const parse = PARSERS.get(name);
  if (parse !== undefined) return parse(rest.slice(2), { isSecure: SECURE.has(name), useSsl });
  // kombu splits `sqla+sqlite` this way.
  const [transport = name] = name.split('+');
  const other = OTHER_SCHEME.get(transport);
  const isKnown = KOMBU_SCHEMES.has(transport);
  return failed(
    `${name}:// is ${isKnown ? 'not supported' : 'not known'}; ${other === undefined ? EXPECTED : `write ${other}`}`,
  );
}

function parseRecordingUrl(rest: string): Parsed<{ readonly url: RecordingUrl }> {
  if (rest.startsWith('//')) {
    return failed('a recording is a path, not a URL: recording:FILE or recording:/path/to/FILE');
  }
  const [, file = '', query] = /^(.*?)(?:\?([^?]*))?$/s.exec(rest) ?? [];
  if (file === '') return failed('the recording has no file: recording:FILE[?speed=N]');
  const speed = query === undefined ? 1 : parseSpeed(query);
  if (speed === undefined) {
    return failed('a recording accepts only ?speed=N, with N a positive number or max');
  }
  return { ok: true, url: { scheme: 'recording', file, speed, label: `recording:${file}` } };
}

/** The speed of `speed=N`; undefined for anything else. */
function parseSpeed(query: string): number | undefined {
  if (query === 'speed=max') return Number.POSITIVE_INFINITY;
  const digits = /^speed=(\d+(?:\.\d+)?|\.\d+)$/.exec(query)?.[1];
  const speed = digits === undefined ? 0 : Number(digits);
  return speed > 0 && Number.isFinite(speed) ? speed : undefined;
}
