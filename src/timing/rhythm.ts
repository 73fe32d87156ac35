/** Runs an action periodically, never twice at once, and at different times for different services. */
import { pause } from './pause.ts';

/**
 * When a session ends, it closes its connections and is over within this time. A failure that was noticed less than this
 * before the end may only be a consequence of it.
 */
export const ENDING_MS = 1200;

export interface Rhythm {
  readonly intervalMs: number;
  /** Before the first run. */
  readonly initialDelayMs: number;
  /** In [0, 1): spreads several services over the interval. */
  readonly random: () => number;
  /** Whether the first run comes right after the delay, and only later runs are spread. */
  readonly isFirstSoon?: boolean;
}

/** @param act must not reject; each run begins one interval after the previous one began, or later, when that one ends */
export async function repeat(
  { intervalMs, initialDelayMs, random, isFirstSoon = false }: Rhythm,
  act: () => Promise<void>,
  ending: AbortSignal,
): Promise<void> {
  const spreadMs = intervalMs * random();
  let waitMs = initialDelayMs + (isFirstSoon ? 0 : spreadMs);
  let nextMs = isFirstSoon ? spreadMs : intervalMs;
  for (;;) {
    await pause(waitMs, ending);
    if (ending.aborted) return;
    const beganMs = performance.now();
    await act();
    waitMs = Math.max(0, nextMs - (performance.now() - beganMs));
    nextMs = intervalMs;
  }
}
