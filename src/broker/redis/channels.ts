/**
 * The names of the channels to which Celery’s events and remote control are published (kombu: transport/redis.py,
 * `_get_publish_topic`).
 */
import type { RedisSettings } from './settings.ts';
import type { RedisUrl } from './url.ts';

type ChannelSettings = Pick<RedisSettings, 'globalKeyprefix' | 'fanoutPrefix' | 'fanoutPatterns'>;

type Database = Pick<RedisUrl, 'scheme' | 'db'>;

/** The patterns to subscribe to, exactly as a restrictive ACL must grant them. */
export function eventPatterns(
  exchange: string,
  database: Database,
  settings: ChannelSettings,
): readonly string[] {
  const tail = settings.fanoutPatterns ? '/*' : '';
  return channelsOf(exchange, database, settings).map((channel) => `${channel}${tail}`);
}

/**
 * The channels of a fanout exchange, the usual one first. Behind sentinels, kombu before 5.4 publishes to a channel
 * with a literal `{db}`, and kombu 5.7 may publish to that one and to the one with the number.
 */
export function channelsOf(
  exchange: string,
  { scheme, db }: Database,
  { globalKeyprefix, fanoutPrefix }: ChannelSettings,
): readonly string[] {
  const prefixWithDb = fanoutPrefix.replaceAll('{db}', String(db));
  const prefixes = scheme === 'sentinel' ? [...new Set([prefixWithDb, fanoutPrefix])] : [prefixWithDb];
  return prefixes.map((prefix) => `${globalKeyprefix}${prefix}${exchange}`);
}
