/**
 * Periodic checks for what no event brings about: missing events, and a wall clock that was set. It does not keep the
 * process alive, and only reports its findings.
 */
import { reasonOf } from './errors.ts';
import { clockStepDetector } from './self/clock-step.ts';
import type { Tell } from './self/self-event.ts';

const LOOK_MS = 5000;

/** Anything with a periodic check. */
export interface Watched {
  look(): void;
}

export interface LookoutOptions {
  readonly services: readonly Watched[];
  /** The service name in reports about the bridge itself. */
  readonly self: string;
  readonly tell: Tell;
  /** For tests. */
  readonly everyMs?: number;
}

/** @returns stops the checks */
export function startLookout({ services, self, tell, everyMs = LOOK_MS }: LookoutOptions): () => void {
  const clockStep = clockStepDetector();
  const clock: Watched = {
    look() {
      const byMs = clockStep(Date.now(), performance.now());
      if (byMs !== 0) tell({ kind: 'clock-stepped', service: self, byMs });
    },
  };
  clock.look();
  const timer = setInterval(() => {
    for (const each of [clock, ...services]) {
      try {
        each.look();
      } catch (error) {
        tell({ kind: 'defect', service: self, where: 'look', reason: reasonOf(error) });
      }
    }
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
