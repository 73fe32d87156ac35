/**
 * How long events are waited for: what the one option, the reordering window, means for what is held and for what is
 * concluded. Pure arithmetic.
 */

/**
 * Celery publishes `task-sent` after the task itself, so what it tells may be some ms older than a receipt that is told
 * before it, and still be delayed as long.
 */
const SENDING_LATENESS_MS = 100;

/** How long a process whose successor has come may still be heard of; a broker delivers its tasks anew meanwhile. */
export const LAST_WORDS_MS = 10_000;

/** A worker that loses its broker says goodbye and greets again, in Celery 5.7 a second later. */
export const RECONNECT_MS = 2000;

/** A greeting so long after a goodbye is that of another process, unless its counts go on. */
export const GOODBYE_MS = 5000;

/**
 * For how long a run of what was sent is expected, once it is due. Some queues are read once a day; what nobody takes
 * within one was told of in vain: its worker tells nothing, or its events were lost.
 */
export const EXPECTED_MS = 24 * 3_600_000;

/** How much later than an end the same end may be told again. Celery does it at once, but for a broker that was away. */
export const END_REPEATED_MS = 60_000;

/** For how long an event of a task is held, ms. */
export function holdingMs(windowMs: number): number {
  return windowMs + SENDING_LATENESS_MS;
}

/** After how long everything is known that had happened to tasks before a worker's word, ms. */
export function settlingMs(windowMs: number): number {
  // It may come a window later than that word, and is then held.
  return windowMs + holdingMs(windowMs);
}

/** Whether so much time has passed, by a monotonic clock. */
export function hasPassed(durationMs: number, sinceMs: number, nowMs: number): boolean {
  return nowMs - sinceMs >= durationMs;
}
