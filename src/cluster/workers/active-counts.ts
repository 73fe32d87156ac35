/**
 * The last two `active` counts that a worker process reported, and how many starts that were missed may be among each. A
 * count is compared with the known tasks only once all events from before it have arrived. Pure.
 */

import { hasPassed, LATE_EVENTS_MS } from '../window/lateness.ts';
import type { Progress } from './missed-starts.ts';
import { placesAfter } from './process-identity.ts';

/** A process counts a task a little before or after it stamps the event. */
const STAMP_TOLERANCE_MS = 250;

/** More tasks than a worker takes in advance: by default, four for each process of its pool. */
const TAKEN_MAX = 1000;

/** A run, counted from its start if known. */
interface Started {
  /** By the worker’s clock, epoch ms. */
  readonly sinceMs: number;
  readonly place: number;
  readonly session: number;
  readonly hasStarted: boolean;
}

interface Reported {
  readonly active: number;
  /** By the worker’s clock, epoch ms. */
  readonly timestampMs: number;
  /** By the logical clock; -1 if unknown. */
  readonly clock: number;
  /** In listened time, ms. */
  readonly arrivedAtMs: number;
  /** Its place in the arrivals of its pid. */
  readonly place: number;
  /** The number of the broker connection that it arrived on. */
  readonly session: number;
}

export interface ActiveCount extends Reported {
  /** An upper bound of those whose starts were missed; it may exceed the count. */
  unseen: number;
  /** A run that began before this place or connection may have ended while those starts were missed. */
  readonly missedAt: { readonly place: number | undefined; readonly session: number };
  /** Known runs that have ended since and may be among them. */
  ended: number;
  /** Those of them that certainly are. */
  endedBefore: number;
  /** Runs that have ended since, and whose start was missed. */
  endedUnseen: number;
}

export class ActiveCounts {
  #last: ActiveCount | undefined;
  #before: ActiveCount | undefined;
  /** The last report that counts a start whose event was lost, by the worker’s clock, epoch ms. */
  unseenMs = Number.NEGATIVE_INFINITY;
  /** Starts whose events were lost, and whose runs are unknown. */
  unseen = 0;
  /** More tasks have started unseen since then than a worker prefetches. */
  overtakenMs = Number.NEGATIVE_INFINITY;
  /** The first and last of consecutive reports of an idle process, in listened time, ms. */
  idle: { readonly sinceMs: number; readonly untilMs: number } | undefined;
  /** A report, and how many starts were lost since. */
  #checked: { readonly timestampMs: number; lost: number } | undefined;

  /** @param progress since the last one */
  report(count: Reported, { missed, lost, processed }: Progress): void {
    const { place, session } = count;
    this.#noteProgress(count, lost, processed);
    const before = this.#last;
    const left = before === undefined ? 0 : Math.min(before.unseen, before.active) - before.endedUnseen;
    const unseen = Math.max(0, left + missed);
    let missedAt = before?.missedAt ?? { place: undefined, session };
    // After a gap they are those of the gap.
    if (before !== undefined && missed > 0)
      missedAt = { place: before.session < session ? before.place : place, session };
    this.#before = before;
    this.#last = { ...count, unseen, missedAt, ended: 0, endedBefore: 0, endedUnseen: 0 };
  }

  /** The time since the last count. A clock that may be forged counts only after a gap, which was not listened to. */
  elapsedMs({ arrivedAtMs, timestampMs, session }: Omit<Reported, 'active'>): number {
    const last = this.#last;
    if (last === undefined) return 0;
    const sentMs = session === last.session ? 0 : timestampMs - last.timestampMs;
    return Math.max(0, arrivedAtMs - last.arrivedAtMs, sentMs);
  }

  /** A run ended at that time, by the logical clock. If it has not started, its start was missed. */
  ended(run: Started, clock: number): void {
    const last = this.#last;
    if (run.hasStarted) {
      noteEnd(last, run, clock);
      noteEnd(this.#before, run, clock);
    } else if (last !== undefined && clock > last.clock) last.endedUnseen += 1;
    else if (last !== undefined) last.unseen = Math.max(0, last.unseen - 1);
    if (!run.hasStarted) this.explainOne();
  }

  /** One of the lost starts is attributed to a known or assumed run. */
  explainOne(): void {
    this.unseen = Math.max(0, this.unseen - 1);
  }

  #noteProgress({ active, timestampMs, arrivedAtMs: untilMs }: Reported, lost: number, begun: number): void {
    const isIdle = active === 0 && begun === 0;
    this.idle = isIdle ? { sinceMs: this.idle?.sinceMs ?? untilMs, untilMs } : undefined;
    if (lost === 0) return;
    this.unseenMs = timestampMs;
    this.unseen += lost;
    if (this.#checked !== undefined) {
      this.#checked.lost += lost;
      if (this.#checked.lost < TAKEN_MAX) return;
      this.overtakenMs = this.#checked.timestampMs;
    }
    this.#checked = { timestampMs, lost: 0 };
  }

  /** The latest count that arrived at least this long ago. */
  settled(settlingMs: number, listenedMs: number): ActiveCount | undefined {
    const isSettled = (count: ActiveCount | undefined): boolean =>
      count !== undefined && hasPassed(settlingMs, count.arrivedAtMs, listenedMs);
    return [this.#last, this.#before].find(isSettled);
  }
}

/** How many places before the count the run started, in the arrivals of their process; 0 if not before it. */
export function placesBefore(count: Reported | undefined, run: Started): number {
  if (count === undefined) return 0;
  const afterMs = run.sinceMs - count.timestampMs + STAMP_TOLERANCE_MS;
  // A later start may have overtaken it.
  return afterMs > 0 && afterMs <= LATE_EVENTS_MS ? 0 : placesAfter(count.place, run.place);
}

/** Whether the run may have started before the count. */
export function mayBeAmong(count: Reported, run: Started): boolean {
  return run.sinceMs <= count.timestampMs + STAMP_TOLERANCE_MS || placesAfter(count.place, run.place) > 0;
}

/** Whether the run began before starts were missed: its end may have been missed with them. */
export function mayBeOver({ missedAt: { place, session } }: ActiveCount, run: Started): boolean {
  return run.session < session || (place !== undefined && placesAfter(place, run.place) >= 0);
}

/** Whether the run started after the count, by its time and its arrival. */
export function startedAfter(count: ActiveCount, run: Started): boolean {
  return run.sinceMs > count.timestampMs && placesAfter(run.place, count.place) > 0;
}

function noteEnd(count: ActiveCount | undefined, run: Started, clock: number): void {
  if (count === undefined || clock <= count.clock || !mayBeAmong(count, run)) return;
  count.ended += 1;
  if (placesBefore(count, run) > 0) count.endedBefore += 1;
}
