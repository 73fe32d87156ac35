/**
 * Computes the start and end times of points from a wall clock that may be adjusted in between. Durations are measured by a
 * monotonic clock. Pure.
 */

/** A moment on both clocks. */
export interface Moment {
  /** Epoch ms. */
  readonly wallMs: number;
  /** On the monotonic clock. */
  readonly steadyMs: number;
}

/** The start time of a series’ next point. */
export interface Start extends Moment {
  /** Whether a point with this start time has been exported, so that the time must not change. */
  readonly isFixed: boolean;
}

/**
 * If the clock was set back by less than this, end times come from the monotonic clock until the wall clock has caught
 * up.
 */
const WAITED_FOR_MS = 1000;

/** Whether the clock was set back too far before the start to wait until it has caught up. */
export function isSetBack(start: Moment, now: Moment): boolean {
  return start.wallMs - now.wallMs >= WAITED_FOR_MS;
}

/** Converts the start to the wall clock as it is set now. The result is always before now, since an interval cannot be empty. */
export function restated(start: Start, now: Moment): Start {
  if (start.wallMs < now.wallMs) return start;
  return { wallMs: now.wallMs - elapsedMs(start, now), steadyMs: start.steadyMs, isFixed: false };
}

/** The end of an interval: now, or the start plus the elapsed time if the clock was set back. */
export function endMs(start: Moment, now: Moment): number {
  return start.wallMs < now.wallMs ? now.wallMs : start.wallMs + elapsedMs(start, now);
}

function elapsedMs(start: Moment, now: Moment): number {
  return Math.max(1, Math.ceil(now.steadyMs - start.steadyMs));
}
