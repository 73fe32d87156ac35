/** A wait of tests for something that can only be looked at: it ends when it is there, or with what was seen last. */
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { DEADLINE_MS } from './deadline.ts';

const LOOK_MS = 50;
const SEEN_CHARS_MAX = 4000;

/**
 * Looks until there is something, or until something holds.
 * @param seen for the message of the error
 * @throws at the deadline
 */
export async function until<Value>(
  what: string,
  look: () => Value | undefined | false | Promise<Value | undefined | false>,
  seen: () => unknown = () => undefined,
): Promise<Value> {
  for (const endMs = performance.now() + DEADLINE_MS; ; await delay(LOOK_MS)) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() < endMs) continue;
    const last = seen();
    const text = typeof last === 'string' ? last : inspect(last);
    throw new Error(`${what}: not within ${DEADLINE_MS} ms; seen last: ${text.slice(-SEEN_CHARS_MAX)}`);
  }
}
