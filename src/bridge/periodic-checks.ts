/**
 * Periodic checks for what no event triggers: missing events, and a wall clock that was set. It does not keep the
 * process alive, and only reports its findings.
 */

import type { EventSink } from '../self/self-event.ts';
import { reasonOf } from '../text/errors.ts';

const LOOK_MS = 5000;
/** Far above what slewing does between two checks, and below any deliberate change. */
const STEP_MS_MIN = 2000;

/** Anything with a periodic check. */
export interface Watched {
  look(): void;
}

export interface PeriodicCheckOptions {
  readonly services: readonly Watched[];
  /** The service name in reports about the bridge itself. */
  readonly self: string;
  readonly report: EventSink;
  /** For tests. */
  readonly everyMs?: number;
}

/** @returns stops the checks */
export function startPeriodicChecks({
  services,
  self,
  report,
  everyMs = LOOK_MS,
}: PeriodicCheckOptions): () => void {
  const clockStep = clockStepDetector();
  const clock: Watched = {
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
