/**
 * Derives span ids from what Celery reports of a task, so that every bridge derives the same ids, also after a restart. An id
 * is unique within its trace. Pure; ids are not cached, because hashing takes about as long as a look-up.
 */
import type { RunPlace, SentFacts } from './ancestry/finished.ts';
import { hashedId, SPAN_DIGITS } from './hashed-id.ts';

export const FIRST: RunPlace = { retries: 0, delivery: 0 };

/** The span id of the sending of a task under this name. If the id was used before, the time of this sending is part of it. */
export function sendSpanId(
  uuid: string,
  { name, isAnew, sentMs = 0 }: Pick<SentFacts, 'name'> & Partial<SentFacts>,
): string {
  return hashedId(`${uuid}/send/${name}${isAnew === true ? `/${Math.round(sentMs)}` : ''}`, SPAN_DIGITS);
}

/** The span id of the sending of a retry, by the run that it begins: an id that is used again may be retried as often again. */
export function retrySendSpanId(uuid: string, { retries, delivery }: RunPlace): string {
  return hashedId(`${uuid}/retry/${retries}/${delivery}`, SPAN_DIGITS);
}

/** The span id of one run of a task. */
export function processSpanId(uuid: string, { retries, delivery }: RunPlace): string {
  return hashedId(`${uuid}/process/${retries}/${delivery}`, SPAN_DIGITS);
}
