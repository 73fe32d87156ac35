/**
 * The names of the channels to which Celery’s events and remote control are published (kombu: transport/redis.py,
 * `_get_publish_topic`).
 */
import type { RedisSettings } from '../broker.ts';
import type { RedisUrl } from '../broker-url.ts';

type ChannelSettings = Pick<RedisSettings, 'globalKeyprefix' | 'fanoutPrefix' | 'fanoutPatterns'>;

type Place = Pick<RedisUrl, 'scheme' | 'db'>;

/** The patterns to subscribe to, exactly as a restrictive ACL must grant them. */
export function eventPatterns(exchange: string, place: Place, settings: ChannelSettings): readonly string[] {
  const tail = settings.fanoutPatterns ? '/*' : '';
  return channelsOf(exchange, place, settings).map((channel) => `${channel}${tail}`);
}

/**
 * The channels of a fanout exchange, the usual one first. Behind sentinels kombu before 5.4 does not replace `{db}`, and
 * kombu 5.7 may publish to both.
 */
export function channelsOf(
  exchange: string,
  { scheme, db }: Place,
  { globalKeyprefix, fanoutPrefix }: ChannelSettings,
): readonly string[] {
  const numbered = fanoutPrefix.replaceAll('{db}', String(db));
  const prefixes = scheme === 'sentinel' ? [...new Set([numbered, fanoutPrefix])] : [numbered];
  return prefixes.map((prefix) => `${globalKeyprefix}${prefix}${exchange}`);
}
