/** Runs an action periodically: one run at a time, at times that differ between services. */
import { pause } from './pause.ts';

/**
 * A session that ends closes its connections and is over within this time: a failure just before may only be a
 * consequence of the end.
 */
export const ENDING_MS = 1200;

export interface Rhythm {
  readonly intervalMs: number;
  /** Before the first time. */
  readonly initialDelayMs: number;
  /** In [0, 1): spreads several services over the interval. */
  readonly random: () => number;
  /** The first run comes right after the delay; spreading begins with the second. */
  readonly isFirstSoon?: boolean;
}

/** @param act must not reject; the next run begins one interval after this one began, or when it ends if that is later */
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
