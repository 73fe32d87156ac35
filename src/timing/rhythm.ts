/** Runs an action periodically, never twice at once, and at different times for different services. */
import { pause } from './pause.ts';

/**
 * How long an ending session takes at most to close its connections. A failure that was noticed less than this time before
 * the end of a session may only be a consequence of the end.
 */
export const ENDING_MS = 1200;

export interface Rhythm {
  readonly intervalMs: number;
  /** How long to wait before the first run. */
  readonly initialDelayMs: number;
  /** Returns a number in [0, 1), which spreads several services over the interval. */
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
