/**
 * Counts the instances of celery-otel that listen to the same events in Redis, by their connection names. It leaves
 * nothing behind.
 */
import { createHash } from 'node:crypto';
import { LazyClient } from './lazy-client.ts';
import type { RedisSettings } from './settings.ts';
import type { RedisUrl } from './url.ts';

/** The suffix of the connection name of an instance that only observes, so that it is not counted. */
export const OBSERVER = '-check';

const HASH_CHARS = 8;

/**
 * The name of the connection that receives events, the same for all instances with the same events. @param patterns of
 * their channels
 */
export function subscriberName({ clientName }: RedisSettings, patterns: readonly string[]): string {
  const hash = createHash('sha256').update(patterns.join('\n')).digest('hex');
  return `${clientName}-${hash.slice(0, HASH_CHARS)}`;
}

/**
 * @param patterns of the channels of the events
 * @throws if there is no connection, or the user may not list clients
 */
export async function countInstances(
  url: RedisUrl,
  settings: RedisSettings,
  patterns: readonly string[],
  connectTimeoutMs: number,
  signal: AbortSignal,
): Promise<number> {
  const asking = new LazyClient(url, settings, connectTimeoutMs, () => {});
  try {
    const clients = await asking.use((client) => client.client('LIST', 'TYPE', 'PUBSUB'), signal);
    return countIn(String(clients), subscriberName(settings, patterns), url.db);
  } finally {
    asking.end();
  }
}

/** How many clients have this name and database. @param clients one line of `key=value` pairs for each (CLIENT LIST) */
export function countIn(clients: string, name: string, db: number): number {
  const isOne = (line: string): boolean => {
    const pairs = line.split(' ');
    return pairs.includes(`name=${name}`) && pairs.includes(`db=${db}`);
  };
  return clients.split('\n').filter(isOne).length;
}
