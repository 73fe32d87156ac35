/**
 * Span ids, from what Celery reports of a task: the same from every bridge and after every restart. They are unique within a
 * trace. Pure; nothing is remembered, since hashing takes about as long as looking up.
 */
import type { RunPlace } from './ancestry/finished.ts';
import { hashedId, SPAN_DIGITS } from './hashed-id.ts';

export const FIRST: RunPlace = { retries: 0, delivery: 0 };

/** Of the sending of a task under this name. */
export function sendSpanId(uuid: string, name: string): string {
  return hashedId(`${uuid}/send/${name}`, SPAN_DIGITS);
}

/** Of one run of a task. */
export function processSpanId(uuid: string, { retries, delivery }: RunPlace): string {
  return hashedId(`${uuid}/process/${retries}/${delivery}`, SPAN_DIGITS);
}
