/**
 * Detects that the wall clock was set, by comparing it with a monotonic clock. Pure: both times are arguments.
 */

/** Far above what slewing does between two checks, and below any deliberate change. */
const STEP_MS_MIN = 2000;

/** @returns a function to call every few seconds: by how many ms the clock was set since the last call, or 0 */
export function clockStepDetector(): (wallMs: number, monotonicMs: number) => number {
  let offsetMs: number | undefined;
  return (wallMs, monotonicMs) => {
    const stepMs = wallMs - monotonicMs - (offsetMs ?? wallMs - monotonicMs);
    // Slewing is no step, though it adds up over days: forget it.
    offsetMs = wallMs - monotonicMs;
    return Math.abs(stepMs) >= STEP_MS_MIN ? stepMs : 0;
  };
}
