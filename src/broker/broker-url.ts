/**
 * Parses `broker_url`: one broker address as Celery and kombu write it, or a list of them. It never prints a password:
 * only the `label` of an address may reach a log line or an error, and a reason quotes only the scheme and the name of a
 * query key.
 */

import { failed, type Parsed } from '../text/parsed.ts';
import type { Scheme } from './broker-kind.ts';
import { type BrokerUrl, KINDS } from './kinds.ts';
import type { BrokerTls } from './server/address.ts';

export { type ManagementUrl, parseManagementUrl } from './amqp/management-url.ts';
export { type AmqpUrl, LOGIN_METHODS } from './amqp/url.ts';
export type { RecordingUrl } from './recording/url.ts';
export type { RedisUrl } from './redis/url.ts';
export { type BrokerTls, VERIFY_BY_CERT_REQS } from './server/address.ts';
export type { BrokerUrl };

export type BrokerUrls = readonly [BrokerUrl, ...BrokerUrl[]];

const SCHEMES: ReadonlyMap<string, Scheme<BrokerUrl>> = new Map(
  KINDS.flatMap(({ schemes }) => Object.entries<Scheme<BrokerUrl>>(schemes)),
);

/** Schemes of kombu that a kind of broker refuses, with what to do instead. */
const REFUSED: ReadonlyMap<string, string> = new Map(
  KINDS.flatMap(({ refusedSchemes }) => Object.entries(refusedSchemes)),
);

/** Schemes that kombu supports and we do not. The error reports that, so that nobody searches for a typo. */
const KOMBU_SCHEMES: ReadonlySet<string> = new Set(
  (
    'sqs gcpubsub azureservicebus azurestoragequeues confluentkafka kafka mongodb sqla ' +
    'sqlalchemy pgmq zookeeper consul etcd qpid slmq pyro filesystem memory'
  ).split(' '),
);

const SHOWN_SCHEMES = [...SCHEMES].map(([name, scheme]) =>
  scheme.form === 'path' ? scheme.shown : `${name}://`,
);
const EXPECTED = `expected ${SHOWN_SCHEMES.slice(0, -1).join(', ')} or ${SHOWN_SCHEMES.at(-1)}`;

/**
 * Parses one address, or several as `a;b` for failover. The grammar is kombu's, plus that of recordings.
 * @param useSsl `broker_use_ssl`, for the addresses that have no `ssl_*` keys of their own
 */
export function parseBrokerUrls(text: string, useSsl?: BrokerTls): Parsed<{ readonly urls: BrokerUrls }> {
  // Python drops tabs and line breaks anywhere in a URL (bpo-43882).
  const entries = text
    .replaceAll(/[\t\r\n]/gu, '')
    .split(';')
    .map((entry) => entryOf(entry.trim()));
  const urls: BrokerUrl[] = [];
  for (const [index, entry] of entries.entries()) {
    // Many guides end each address with a separator.
    if (entry.text === '' && index > 0 && index === entries.length - 1) continue;
    const { name, scheme } = entry;
    const isJoined = scheme?.form === 'joined';
    // The first address of such a scheme stands for all.
    if (isJoined && entries.findIndex((other) => other.name === name) < index) continue;
    const parsed = parseEntry(entry, entries, useSsl);
    const where = entries.length > 1 && !isJoined ? `address ${index + 1} of ${entries.length}: ` : '';
    if (!parsed.ok) return failed(where + parsed.reason);
    if (scheme?.form === 'path' && entries.length > 1) {
      return failed(`${where}a ${name} must be the only address`);
    }
    urls.push(parsed.url);
  }
  const [first, ...others] = urls;
  return first === undefined ? failed('the broker address is empty') : { ok: true, urls: [first, ...others] };
}

type Entry = ReturnType<typeof entryOf>;

/** An address, split at its scheme. */
function entryOf(text: string) {
  const [, written = '', rest = ''] = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(text) ?? [];
  const name = written.toLowerCase();
  const scheme = SCHEMES.get(name);
  // Without slashes it is probably `host:5672` or `user:password@host`, so its scheme is none, and is not quoted.
  const hasScheme = scheme?.form === 'path' || rest.startsWith('//');
  return hasScheme ? { text, name, rest, scheme } : { text, name: '', rest: '', scheme: undefined };
}

function parseEntry(
  { text, name, rest, scheme }: Entry,
  entries: readonly Entry[],
  useSsl: BrokerTls | undefined,
): Parsed<{ readonly url: BrokerUrl }> {
  if (text === '') return failed('the broker address is empty');
  switch (scheme?.form) {
    case 'path':
      return scheme.parse(rest);
    case 'address':
      return scheme.parse(rest.slice(2), { isSecure: scheme.isSecure === true, useSsl });
    case 'joined': {
      const rests = entries.flatMap((entry) => (entry.name === name ? [entry.rest.slice(2)] : []));
      return scheme.parse(rests, { isSecure: false, useSsl });
    }
    case undefined:
      return failed(name === '' ? `there is no scheme; ${EXPECTED}` : unsupported(name));
  }
}

function unsupported(name: string): string {
  // kombu splits `sqla+sqlite` this way.
  const [transport = name] = name.split('+');
  const instead = REFUSED.get(name) ?? REFUSED.get(transport);
  const isKnown = instead !== undefined || KOMBU_SCHEMES.has(transport);
  return `${name}:// is ${isKnown ? 'not supported' : 'not known'}; ${instead ?? EXPECTED}`;
}
