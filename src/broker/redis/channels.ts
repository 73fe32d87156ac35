/** The names of the channels that Celery’s events are published to (kombu: transport/redis.py, `_get_publish_topic`). */
import type { RedisSettings } from '../broker.ts';
import type { RedisUrl } from '../broker-url.ts';

type ChannelSettings = Pick<RedisSettings, 'globalKeyprefix' | 'fanoutPrefix' | 'fanoutPatterns'>;

/**
 * The patterns to subscribe to, literally as a restrictive ACL grants them. Behind sentinels kombu before 5.4 does not
 * replace `{db}`, and kombu 5.7 may publish to both.
 */
export function eventPatterns(
  exchange: string,
  { scheme, db }: Pick<RedisUrl, 'scheme' | 'db'>,
  { globalKeyprefix, fanoutPrefix, fanoutPatterns }: ChannelSettings,
): readonly string[] {
  const numbered = fanoutPrefix.replaceAll('{db}', String(db));
  const prefixes = scheme === 'sentinel' ? [...new Set([numbered, fanoutPrefix])] : [numbered];
  const tail = fanoutPatterns ? '/*' : '';
  return prefixes.map((prefix) => `${globalKeyprefix}${prefix}${exchange}${tail}`);
}
