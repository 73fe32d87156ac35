/**
 * How many instances of celery-otel listen to the events in one database of Redis, by the names of their connections. It
 * leaves nothing behind.
 */
import type { RedisSettings } from '../broker.ts';
import type { RedisUrl } from '../broker-url.ts';
import { KeptClient } from './kept-client.ts';

/** What an instance that only observes adds to its name, so that it is not counted. */
export const OBSERVER = '-check';

/** @throws if there is no connection, or the user may not see the others */
export async function countInstances(
  url: RedisUrl,
  settings: RedisSettings,
  connectTimeoutMs: number,
  signal: AbortSignal,
): Promise<number> {
  const asking = new KeptClient(url, settings, connectTimeoutMs, () => {});
  try {
    const clients = await asking.use((client) => client.client('LIST', 'TYPE', 'PUBSUB'), signal);
    return countIn(String(clients), settings.clientName, url.db);
  } finally {
    asking.end();
  }
}

/** @param clients a line each, of `key=value` pairs (CLIENT LIST) */
export function countIn(clients: string, name: string, db: number): number {
  const isOne = (line: string): boolean => {
    const pairs = line.split(' ');
    return pairs.includes(`name=${name}`) && pairs.includes(`db=${db}`);
  };
  return clients.split('\n').filter(isOne).length;
}
