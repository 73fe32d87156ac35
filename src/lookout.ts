/**
 * Looks every few seconds for what no event and no answer brings about: that nothing comes, and that the clock was set.
 * It keeps no process alive, and what is found is only told.
 */
import { clockStepDetector } from './self/clock-step.ts';
import type { Tell } from './self/self-event.ts';

const LOOK_MS = 5000;

/** What can look for itself. */
export interface Watched {
  look(): void;
}

export interface LookoutOptions {
  readonly services: readonly Watched[];
  /** The service that is told of where it is about the bridge itself. */
  readonly self: string;
  readonly tell: Tell;
  /** For tests; else some seconds. */
  readonly everyMs?: number;
}

/** @returns ends it */
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
        const reason = error instanceof Error ? error.message : String(error);
        tell({ kind: 'defect', service: self, where: 'look', reason });
      }
    }
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
