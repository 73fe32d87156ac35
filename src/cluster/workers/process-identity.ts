/**
 * Tells the processes of one pid apart: it tracks the order in which their events arrived, and finds the place where the logical
 * clock fell, since another process started there. The system clock may be adjusted at that moment, so it is only a hint: if its
 * times continue to rise, a small fall of the logical clock is enough. Pure.
 */
import type { EventBase, WorkerSignal } from '../../celery/event.ts';

/** A place, which numbers the arrivals of a pid, wraps around at this many bits; only places near one another are compared. */
const PLACE_BITS = 28;
const PLACE_MASK = 2 ** PLACE_BITS - 1;

/** Below this share of a logical clock, another one is too low for an event of the same process that arrived late. */
const FALLEN_SHARE = 0.5;
/** By how many ms a lower logical clock may have a later timestamp: thread pools read the two clocks at different times. */
const STAMP_TOLERANCE_MS = 250;

/** How many places after another event an event arrived; below 0 if it arrived before. */
export function placesAfter(place: number, other: number): number {
  const places = (place - other) & PLACE_MASK;
  return places <= PLACE_MASK / 2 ? places : places - PLACE_MASK - 1;
}

/** Whether a logical clock is so much lower that one process can hardly have sent both at about the same time. */
export function isFarBefore(clock: number, other: number): boolean {
  return clock < FALLEN_SHARE * other;
}

/** The first event of a process. */
export interface FirstEvent {
  /** When it arrived, in listened time, ms, less its delay up to a window. */
  readonly seenMs: number;
  /** The logical clock of its sender, and the time of the sender’s system clock, epoch ms. */
  readonly clock: number;
  readonly reportedMs: number;
  /** Its number among the arrivals of its pid. */
  readonly place: number;
  /** The number of the broker connection on which it arrived. */
  readonly session: number;
}

export class ProcessIdentity {
  /** The place of the last event. */
  last: number;
  /** When the last event with a plausible time was sent, by the clock of its host, epoch ms; NaN if unknown. */
  lastReportedMs: number;
  /** The place of the first known event of the process. */
  readonly first: number;
  /** The logical clock of the first event. */
  readonly firstClock: number;
  #highestClock: number;
  /** The place from which on the logical clock is clearly lower than before; undefined if it has not fallen. */
  fallenAt: number | undefined;
  /** When the event with the highest logical clock was sent, by the system clock, epoch ms. */
  #highestMs: number;
  /** How many tasks have started since the fall. */
  startsSinceFall = 0;
  readonly #windowMs: number;
  /** Until this moment, events from before the first one, or from before the fall, may arrive; in listened time, ms. */
  #soonUntilMs: number;

  /** @param windowMs how much later than an event an earlier one may arrive, ms */
  constructor({ seenMs, place, clock, reportedMs }: FirstEvent, windowMs: number) {
    this.#windowMs = windowMs;
    this.#soonUntilMs = seenMs + windowMs;
    this.first = this.last = place;
    this.#highestMs = this.lastReportedMs = reportedMs;
    this.firstClock = this.#highestClock = clock;
  }

  /**
   * Takes an event that has arrived. No process uses a logical clock twice (Celery: events/dispatcher.py).
   * @param seenMs when it was seen, in listened time, ms
   */
  add({ clock, timestampMs: ownMs, implausibleMs }: EventBase, seenMs: number): void {
    const timestampMs = implausibleMs ?? ownMs;
    if (implausibleMs === undefined) this.lastReportedMs = ownMs;
    this.last += 1;
    const isSoon = seenMs <= this.#soonUntilMs;
    if (clock > this.#highestClock) {
      this.#highestClock = clock;
      this.#highestMs = timestampMs;
      // A new process may soon exceed the clock of a young predecessor, while its `worker-online` is still on its way.
      if (this.fallenAt === undefined || isSoon) return;
      this.fallenAt = undefined;
      this.startsSinceFall = 0;
    } else if (clock >= 0) {
      const laterMs = timestampMs - this.#highestMs;
      const isBack = isFarBefore(clock, this.#highestClock) && (!isSoon || laterMs > 0);
      if (this.fallenAt !== undefined || !(isBack || laterMs > STAMP_TOLERANCE_MS)) return;
      this.fallenAt = this.last;
      this.#soonUntilMs = seenMs + this.#windowMs;
    }
  }

  /** Notes that the last event was the start of a task. */
  started(): void {
    if (this.fallenAt !== undefined) this.startsSinceFall += 1;
  }
}

/** The times of an event by the system clock of its sender. */
export type Stamped = Pick<WorkerSignal, 'timestampMs' | 'implausibleMs'>;

/** When an event was sent, by both clocks of its sender. */
interface Sent {
  /** The time of the system clock, epoch ms. */
  readonly timestampMs: number;
  /** The logical clock of its sender; -1 if unknown. */
  readonly clock: number;
}

/**
 * Compares when two events were sent: below 0 if `one` was sent before `other`, above 0 if after it.
 * @param ofOneProcess whether one process sent both; then the logical clock decides, since it is never set back
 */
export function compareSent(one: Sent, other: Sent, ofOneProcess: boolean): number {
  if (ofOneProcess && one.clock !== other.clock && one.clock >= 0 && other.clock >= 0)
    return one.clock - other.clock;
  return one.timestampMs - other.timestampMs || one.clock - other.clock;
}

/** Whether `one` was sent before `other`, by the system clock of their host alone, even if that is years off. */
export function isEarlier(one: Stamped, other: Stamped): boolean {
  return one.implausibleMs !== undefined && other.implausibleMs !== undefined
    ? one.implausibleMs < other.implausibleMs
    : one.timestampMs < other.timestampMs;
}

/** Whether `one` was sent before `other`, which arrived first, and not by a process that started after `other` was sent. */
export function isSentBefore(one: Sent & Stamped, other: Sent & Stamped): boolean {
  const isRestart = one.clock >= 0 && isFarBefore(one.clock, other.clock) && !isEarlier(one, other);
  return !isRestart && compareSent(one, other, true) < 0;
}
