/** The order in which one process told what it did, and said what it told of itself. Pure. */
import type { WorkerSignal } from '../celery/event.ts';
import { isFarBefore } from './arrivals.ts';

type Said = Pick<WorkerSignal, 'timestampMs' | 'implausibleMs'>;

/** When something was told. */
interface Told {
  /** Epoch ms. */
  readonly timestampMs: number;
  /** The logical clock of the process that told it; -1 where it is not known. */
  readonly clock: number;
}

/**
 * Below 0 where one was told before the other, above it where after it.
 * @param ofOneProcess whose clock may be set back between them; its logical one never is
 */
export function apart(one: Told, other: Told, ofOneProcess: boolean): number {
  if (ofOneProcess && one.clock !== other.clock && one.clock >= 0 && other.clock >= 0)
    return one.clock - other.clock;
  return one.timestampMs - other.timestampMs || one.clock - other.clock;
}

/** Whether one was said before the other, by the clock of their host alone: by that even where it is years off. */
export function isEarlier(one: Said, other: Said): boolean {
  return one.implausibleMs !== undefined && other.implausibleMs !== undefined
    ? one.implausibleMs < other.implausibleMs
    : one.timestampMs < other.timestampMs;
}

/** Whether one was said before the other, which came first: unless it comes from a process that has begun since. */
export function isBefore(one: Told & Said, other: Told & Said): boolean {
  const isAnew = one.clock >= 0 && isFarBefore(one.clock, other.clock) && !isEarlier(one, other);
  return !isAnew && apart(one, other, true) < 0;
}
