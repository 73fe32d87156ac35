/**
 * Counts the unacknowledged messages of each queue: kombu keeps the complete messages in one hash, so they are read in
 * small portions, up to a limit. It removes and writes nothing.
 */
import type { Redis } from 'ioredis';
import { type Binding, routeOf } from './queue-commands.ts';

/** The most messages of a portion, and the characters that it should have. */
const PORTION_MAX = 1000;
const PORTION_CHARACTERS = 1024 * 1024;
/** How long the scan may take: the rest of the poll waits for it. */
const TIME_MS_MAX = 4000;
const MESSAGES_MAX = 10_000;
const CHARACTERS_MAX = 64 * 1024 * 1024;
const UNKNOWN = 'unknown';

/** The bindings of each exchange. */
export type Bindings = ReadonlyMap<string, readonly Binding[]>;

/**
 * @param queues the queues that always get a count; messages of other queues count as `unknown`
 * @returns the counts by queue; an error message if there is too much to read
 */
export async function countUnacked(
  client: Redis,
  key: string,
  queues: readonly string[],
  bindings: Bindings,
): Promise<ReadonlyMap<string, number> | string> {
  const counts = new Map(queues.map((queue) => [queue, 0]));
  const endMs = performance.now() + TIME_MS_MAX;
  let [cursor, messages, characters] = ['0', 0, 0];
  do {
    // The first portion shows how large messages are.
    const fitting = Math.floor((PORTION_CHARACTERS * messages) / Math.max(1, characters));
    const count = Math.min(PORTION_MAX, Math.max(1, fitting));
    const [next, entries] = await client.hscan(key, cursor, 'COUNT', count);
    // Fields alternate with values.
    for (const message of entries.filter((_, index) => index % 2 === 1)) {
      const queue = queueOf(message, bindings);
      const name = counts.has(queue) ? queue : UNKNOWN;
      counts.set(name, (counts.get(name) ?? 0) + 1);
      messages += 1;
      characters += message.length;
    }
    if (messages > MESSAGES_MAX || characters > CHARACTERS_MAX)
      return 'there are too many unacknowledged messages to count those of each queue';
    if (performance.now() > endMs) return 'counting the unacknowledged messages of each queue takes too long';
    cursor = next;
  } while (cursor !== '0');
  return counts;
}

/** The queue that a message came from; `unknown` if several are possible or it is unreadable. */
function queueOf(message: string, bindings: Bindings): string {
  const route = routeOf(message);
  if (route === undefined) return UNKNOWN;
  const { exchange, routingKey } = route;
  // The default exchange has no bindings: its routing key is the name of the queue.
  if (exchange === '') return routingKey;
  const matching = bindings.get(exchange)?.filter((binding) => matches(binding, routingKey)) ?? [];
  const [bound, ...others] = new Set(matching.map(({ queue }) => queue));
  return bound === undefined || others.length > 0 ? UNKNOWN : bound;
}

/** Whether a routing key matches a binding, by AMQP’s rules for topics: `*` is one word, `#` any number of them. */
function matches({ routingKey: wanted, isTopic }: Binding, routingKey: string): boolean {
  if (!isTopic || wanted === routingKey) return wanted === routingKey;
  return matchesWords(wanted.split('.'), routingKey.split('.'));
}

function matchesWords(wanted: readonly string[], words: readonly string[]): boolean {
  // For each position, whether the words up to it match the pattern so far.
  let reached = [true, ...words.map(() => false)];
  for (const want of wanted) {
    const first = want === '#' && reached[0] === true;
    const after = [first];
    for (const [at, word] of words.entries()) {
      const byOne = (want === '*' || want === word) && reached[at] === true;
      after.push(want === '#' ? after[at] === true || reached[at + 1] === true : byOne);
    }
    reached = after;
  }
  return reached.at(-1) === true;
}
