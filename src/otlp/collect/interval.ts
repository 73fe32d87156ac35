/**
 * From when until when a point counts, as a wall clock tells it that may be set meanwhile. How long that was is known
 * from a clock that nobody sets. Pure.
 */

/** As both clocks tell it. */
export interface Moment {
  /** Epoch ms. */
  readonly wallMs: number;
  /** Of a clock that only goes on. */
  readonly steadyMs: number;
}

/** Of a series: from when on its next point counts. */
export interface Start extends Moment {
  /** Whether a point has been exported that starts or ends there: it cannot be told otherwise any more. */
  readonly isTold: boolean;
}

/** A clock that was set back by less is waited for, so that intervals neither overlap nor begin anew. */
const WAITED_FOR_MS = 1000;

/** Whether the clock was set back so far beyond the start that nobody waits for it to be there again. */
export function isSetBack(start: Moment, now: Moment): boolean {
  return start.wallMs - now.wallMs >= WAITED_FOR_MS;
}

/** The same moment as the clock tells it now; it is before now, since an interval cannot be empty. */
export function retold(start: Start, now: Moment): Start {
  if (start.wallMs < now.wallMs) return start;
  return { wallMs: now.wallMs - elapsedMs(start, now), steadyMs: start.steadyMs, isTold: false };
}

/** When an interval ends that is looked at now: then, or after its start by as much as has gone by. */
export function endMs(start: Moment, now: Moment): number {
  return start.wallMs < now.wallMs ? now.wallMs : start.wallMs + elapsedMs(start, now);
}

function elapsedMs(start: Moment, now: Moment): number {
  return Math.max(1, Math.ceil(now.steadyMs - start.steadyMs));
}
