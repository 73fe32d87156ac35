/**
 * Runs checks for what no event triggers: missing events, and changes of the wall clock. It does not keep the process
 * alive, and only reports.
 */

import type { EventSink } from '../self/self-event.ts';
import { reasonOf } from '../text/errors.ts';

/** How often the checks run. */
const CHECK_INTERVAL_MS = 5000;
/**
 * The smallest change of the clock that is reported: far more than slewing changes between two checks, and less than
 * any deliberate change.
 */
const STEP_MS_MIN = 2000;

/** Something that is checked every few seconds. */
export interface PeriodicallyChecked {
  look(): void;
}

export interface PeriodicCheckOptions {
  readonly services: readonly PeriodicallyChecked[];
  /** The name of the bridge itself in its reports. */
  readonly self: string;
  readonly report: EventSink;
  /** How often the checks run; tests use less. */
  readonly everyMs?: number;
}

/** @returns a function that stops the checks */
export function startPeriodicChecks({
  services,
  self,
  report,
  everyMs = CHECK_INTERVAL_MS,
}: PeriodicCheckOptions): () => void {
  const clockStep = clockStepDetector();
  const clock: PeriodicallyChecked = {
    look() {
      const byMs = clockStep(Date.now(), performance.now());
      if (byMs !== 0) report({ kind: 'clock-stepped', service: self, byMs });
    },
  };
  clock.look();
  const timer = setInterval(() => {
    for (const each of [clock, ...services]) {
      try {
        each.look();
      } catch (error) {
        report({ kind: 'defect', service: self, where: 'look', reason: reasonOf(error) });
      }
    }
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * @returns a function to call every few seconds; it returns by how many ms the clock was set since the last call, or 0
 */
export function clockStepDetector(): (wallMs: number, monotonicMs: number) => number {
  let offsetMs: number | undefined;
  return (wallMs, monotonicMs) => {
    const stepMs = wallMs - monotonicMs - (offsetMs ?? wallMs - monotonicMs);
    // Slewing is not reported although it adds up over days, so forget it after each call.
    offsetMs = wallMs - monotonicMs;
    return Math.abs(stepMs) >= STEP_MS_MIN ? stepMs : 0;
  };
}
