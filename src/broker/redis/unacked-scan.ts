/**
 * Counts the unacknowledged messages of each queue: kombu keeps them in one hash, with all of each message, so they are read
 * in small portions, and only so many. It takes and writes none.
 */
import type { Redis } from 'ioredis';
import { type Binding, routeOf } from './queue-commands.ts';

const PORTION = 50;
const MESSAGES_MAX = 10_000;
const CHARACTERS_MAX = 64 * 1024 * 1024;
const UNKNOWN = 'unknown';

/** The bindings of each exchange. */
export type Bindings = ReadonlyMap<string, readonly Binding[]>;

/**
 * @param queues that have a count in any case; messages of others count as `unknown`
 * @returns a sentence if there is too much to read
 */
export async function countUnacked(
  client: Redis,
  key: string,
  queues: readonly string[],
  bindings: Bindings,
): Promise<ReadonlyMap<string, number> | string> {
  const counts = new Map(queues.map((queue) => [queue, 0]));
  let [cursor, messages, characters] = ['0', 0, 0];
  do {
    const [next, entries] = await client.hscan(key, cursor, 'COUNT', PORTION);
    // Fields and values in turn.
    for (const message of entries.filter((_, index) => index % 2 === 1)) {
      const queue = queueOf(message, bindings);
      const name = counts.has(queue) ? queue : UNKNOWN;
      counts.set(name, (counts.get(name) ?? 0) + 1);
      messages += 1;
      characters += message.length;
    }
    if (messages > MESSAGES_MAX || characters > CHARACTERS_MAX)
      return 'there are too many unacknowledged messages to count those of each queue';
    cursor = next;
  } while (cursor !== '0');
  return counts;
}

function queueOf(message: string, bindings: Bindings): string {
  const route = routeOf(message);
  if (route === undefined) return UNKNOWN;
  const { exchange, routingKey } = route;
  const bound = bindings.get(exchange)?.find((binding) => binding.routingKey === routingKey);
  // The default exchange has no bindings: its routing key is the name of the queue.
  return bound?.queue ?? routingKey;
}
