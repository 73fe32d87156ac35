/** When something is asked regularly: once at a time, at times that differ between services. It knows nothing of what is asked. */
import { pause } from './pause.ts';

/** A session whose end has closed its connections is over within that time: what failed until then may not have failed by itself. */
export const ENDING_MS = 1200;

export interface Rhythm {
  readonly intervalMs: number;
  /** Before the first time. */
  readonly initialDelayMs: number;
  /** In [0, 1): spreads several services over the interval. */
  readonly random: () => number;
  /** The first time comes right after the delay; the spreading begins with the second. */
  readonly isFirstSoon?: boolean;
}

/** @param act must not reject; the next time comes one interval after its beginning, or at its end */
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
