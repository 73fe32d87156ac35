/** The order in which one process said what it told of itself. Pure. */
import type { WorkerSignal } from '../celery/event.ts';

type Said = Pick<WorkerSignal, 'timestampMs' | 'disbelievedMs' | 'clock'>;

/** Whether one was said before the other, by the clock of their host alone: by that even where it is years off. */
export function isEarlier(one: Omit<Said, 'clock'>, other: Omit<Said, 'clock'>): boolean {
  return one.disbelievedMs !== undefined && other.disbelievedMs !== undefined
    ? one.disbelievedMs < other.disbelievedMs
    : one.timestampMs < other.timestampMs;
}

/** Whether one was said before the other. */
export function isBefore(one: Said, other: Said): boolean {
  if (one.disbelievedMs !== undefined || other.disbelievedMs !== undefined) {
    // When they reached us is known, but one may have overtaken the other; the logical clock of a process never lies.
    if (one.clock !== other.clock && one.clock >= 0 && other.clock >= 0) return one.clock < other.clock;
  }
  if (one.timestampMs !== other.timestampMs) return one.timestampMs < other.timestampMs;
  return one.clock < other.clock;
}
