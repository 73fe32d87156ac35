/**
 * The order in which the events of one pid arrived, the order in which a process sent them, and where its logical clock
 * fell: there another process started. The system clock may be adjusted at that moment, so it is only a hint: if it
 * continues, a small fall is enough. Pure.
 */
import type { EventBase, WorkerSignal } from '../../celery/event.ts';

/** Places wrap around at so many bits; only places near one another are compared. */
const PLACE_BITS = 28;
const PLACE_MASK = 2 ** PLACE_BITS - 1;

/** If events of one process overtake each other, their clocks are nearer than this. */
const FALLEN = 0.5;
/** In thread pools the two clocks are read some ms apart. */
const STAMP_MS = 250;

/** How many places after another one an event arrived; below 0 if before it. */
export function placesAfter(place: number, other: number): number {
  const places = (place - other) & PLACE_MASK;
  return places <= PLACE_MASK / 2 ? places : places - PLACE_MASK - 1;
}

/** Whether a logical clock is so much lower that one process can hardly have sent both at about the same time. */
export function isFarBefore(clock: number, other: number): boolean {
  return clock < FALLEN * other;
}

/** The first event of a process. */
export interface FirstEvent {
  /** When it arrived, in listened time, ms, less its delay up to a window. */
  readonly seenMs: number;
  /** Its logical clock, and its system clock, epoch ms. */
  readonly clock: number;
  readonly reportedMs: number;
  /** Its place in the arrivals of its pid. */
  readonly place: number;
  /** The number of the broker connection that it arrived on. */
  readonly session: number;
}

export class ProcessIdentity {
  /** The place of the last event. */
  last: number;
  /** When the last one with a plausible time was sent, by the clock of its host, epoch ms; NaN if not known. */
  lastReportedMs: number;
  /** The place of the first event since the process has been known. */
  readonly first: number;
  /** The logical clock of the first event. */
  readonly firstClock: number;
  #highestClock: number;
  /** The place from which on the clock is clearly lower than before; undefined if there is none. */
  fallenAt: number | undefined;
  /** When the highest one was sent, by the system clock, epoch ms. */
  #highestMs: number;
  /** The start of a new order from there on. */
  startsSinceFall = 0;
  readonly #windowMs: number;
  /** Until then, events that were sent before the first one, or before the fall, may arrive; in listened time. */
  #soonUntilMs: number;

  /** @param windowMs how much later than an event an earlier one may arrive */
  constructor({ seenMs, place, clock, reportedMs }: FirstEvent, windowMs: number) {
    this.#windowMs = windowMs;
    this.#soonUntilMs = seenMs + windowMs;
    this.first = this.last = place;
    this.#highestMs = this.lastReportedMs = reportedMs;
    this.firstClock = this.#highestClock = clock;
  }

  /**
   * An event has arrived. No process uses a logical clock twice (Celery: events/dispatcher.py).
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
      // A process may soon have a higher clock than a young one before it, while its `worker-online` is on its way.
      if (this.fallenAt === undefined || isSoon) return;
      this.fallenAt = undefined;
      this.startsSinceFall = 0;
    } else if (clock >= 0) {
      const laterMs = timestampMs - this.#highestMs;
      const isBack = isFarBefore(clock, this.#highestClock) && (!isSoon || laterMs > 0);
      if (this.fallenAt !== undefined || !(isBack || laterMs > STAMP_MS)) return;
      this.fallenAt = this.last;
      this.#soonUntilMs = seenMs + this.#windowMs;
    }
  }

  /** It was a start of a task. */
  started(): void {
    if (this.fallenAt !== undefined) this.startsSinceFall += 1;
  }
}

export type Stamped = Pick<WorkerSignal, 'timestampMs' | 'implausibleMs'>;

/** When an event was sent. */
interface Sent {
  /** Epoch ms. */
  readonly timestampMs: number;
  /** The logical clock of its sender; -1 if unknown. */
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

/** Whether one was sent before the other, by their host’s system clock alone, even if it is years off. */
export function isEarlier(one: Stamped, other: Stamped): boolean {
  return one.implausibleMs !== undefined && other.implausibleMs !== undefined
    ? one.implausibleMs < other.implausibleMs
    : one.timestampMs < other.timestampMs;
}

/** Whether one was sent before the other, which arrived first, unless a process that started since then sent it. */
export function isSentBefore(one: Sent & Stamped, other: Sent & Stamped): boolean {
  const isRestart = one.clock >= 0 && isFarBefore(one.clock, other.clock) && !isEarlier(one, other);
  return !isRestart && compareSent(one, other, true) < 0;
}
