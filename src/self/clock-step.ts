/**
 * Notices that the wall clock was set, by comparing it with one that nobody sets. Pure: both times are arguments. What a
 * step means for the numbers is said elsewhere.
 */

/** Far above what is slewed in the seconds between two looks, and below what anybody sets a clock by on purpose. */
const STEP_MS_MIN = 2000;

/** @returns to be called every few seconds with the two times; by how many ms the clock was set since, 0: it was not */
export function clockStepDetector(): (wallMs: number, monotonicMs: number) => number {
  let offsetMs: number | undefined;
  return (wallMs, monotonicMs) => {
    const stepMs = wallMs - monotonicMs - (offsetMs ?? wallMs - monotonicMs);
    // Also what is slewed: it adds up over the days and is no step.
    offsetMs = wallMs - monotonicMs;
    return Math.abs(stepMs) >= STEP_MS_MIN ? stepMs : 0;
  };
}
