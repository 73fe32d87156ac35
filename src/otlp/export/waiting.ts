/**
 * Waiting between export attempts, and deadlines for responses. Nothing here keeps the process alive except a deadline that is
 * being awaited.
 */
import { setTimeout as delay } from 'node:timers/promises';

/** The longest delay of a timer: Node fires a timer with a longer delay at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Resolves to the value of the promise, or to `otherwise()` if the promise takes longer than the deadline. */
export async function within<T>(deadlineMs: number, promise: Promise<T>, otherwise: () => T): Promise<T> {
  const inTime = new AbortController();
  const late = delay(Math.min(deadlineMs, TIMER_MAX_MS), undefined, { signal: inTime.signal }).then(
    otherwise,
    // Rejected only by the abort below, when the result is no longer awaited.
    otherwise,
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    inTime.abort();
  }
}

/** Resolves at that time, or earlier if the signal is aborted. */
export async function sleepUntil(atMs: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    const waitMs = Math.min(Math.max(0, atMs - performance.now()), TIMER_MAX_MS);
    await delay(waitMs, undefined, { ref: false, signal });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}
