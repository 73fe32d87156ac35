/** The order in which one process sent its events. Pure. */
import type { WorkerSignal } from '../celery/event.ts';
import { isFarBefore } from './arrivals.ts';

export type Stamped = Pick<WorkerSignal, 'timestampMs' | 'implausibleMs'>;

/** When an event was sent. */
interface Sent {
  /** Epoch ms. */
  readonly timestampMs: number;
  /** The logical clock of its sender; -1 if not known. */
  readonly clock: number;
}

/**
 * Below 0 if one was sent before the other, above 0 if after it.
 * @param ofOneProcess its system clock may be set back between them, its logical clock never is
 */
export function compareSent(one: Sent, other: Sent, ofOneProcess: boolean): number {
  if (ofOneProcess && one.clock !== other.clock && one.clock >= 0 && other.clock >= 0)
    return one.clock - other.clock;
  return one.timestampMs - other.timestampMs || one.clock - other.clock;
}

/** Whether one was sent before the other, by the system clock of their host alone, even if that is years off. */
export function isEarlier(one: Stamped, other: Stamped): boolean {
  return one.implausibleMs !== undefined && other.implausibleMs !== undefined
    ? one.implausibleMs < other.implausibleMs
    : one.timestampMs < other.timestampMs;
}

/** Whether one was sent before the other, which arrived first, unless a process that started since then sent it. */
export function isBefore(one: Sent & Stamped, other: Sent & Stamped): boolean {
  const isRestart = one.clock >= 0 && isFarBefore(one.clock, other.clock) && !isEarlier(one, other);
  return !isRestart && compareSent(one, other, true) < 0;
}
