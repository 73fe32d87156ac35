/**
 * The last two `active` counts that a worker process reported, which are the numbers of its running tasks, and how many of these
 * tasks may have started unseen: the events of their starts were lost. A count is compared with the known tasks only once all
 * earlier events have arrived. Pure.
 */

import { hasPassed, LATE_EVENTS_MS } from '../window/lateness.ts';
import type { Progress } from './missed-starts.ts';
import { placesAfter } from './process-identity.ts';

/** By how many ms a process may count a task before or after it stamps the event. */
const STAMP_TOLERANCE_MS = 250;

/** More tasks than a worker prefetches: by default, four for each process of its pool. */
const PREFETCHED_MAX = 1000;

/** The fields of a run that are compared with a count. */
interface Started {
  /** The start of the run, or its receipt if it has not started, by the worker’s clock, epoch ms. */
  readonly sinceMs: number;
  /** The number of its last event among the arrivals of its pid. */
  readonly place: number;
  /** The number of the broker connection on which its last event arrived. */
  readonly session: number;
  readonly hasStarted: boolean;
}

/** A reported count. */
interface Reported {
  readonly active: number;
  /** When it was reported, by the worker’s clock, epoch ms. */
  readonly timestampMs: number;
  /** When it was reported, by the logical clock; -1 if unknown. */
  readonly clock: number;
  /** When its event arrived, in listened time, ms. */
  readonly arrivedAtMs: number;
  /** The number of its event among the arrivals of its pid. */
  readonly place: number;
  /** The number of the broker connection on which its event arrived. */
  readonly session: number;
}

export interface ActiveCount extends Reported {
  /** How many of the active tasks may have started unseen: an upper bound, which may exceed the count. */
  unseen: number;
  /** A run that began before this place or connection may have ended unseen, in the time of those unseen starts. */
  readonly missedAt: { readonly place: number | undefined; readonly session: number };
  /** How many known runs have ended since, and may be among the active tasks. */
  ended: number;
  /** How many of these are certainly among the active tasks. */
  endedBefore: number;
  /** How many runs that started unseen have ended since. */
  endedUnseen: number;
}

export class ActiveCounts {
  /** The last reported count, and the one before it. */
  #last: ActiveCount | undefined;
  #before: ActiveCount | undefined;
  /** When the last count was reported that includes a start whose event was lost, by the worker’s clock, epoch ms. */
  unseenMs = Number.NEGATIVE_INFINITY;
  /** How many starts were lost that are not attributed to a run. */
  unseen = 0;
  /** Since this moment more tasks have started unseen than a worker prefetches; by the worker’s clock, epoch ms. */
  overtakenMs = Number.NEGATIVE_INFINITY;
  /** The first and last of consecutive reports of an idle process, in listened time, ms. */
  idle: { readonly sinceMs: number; readonly untilMs: number } | undefined;
  /** When an earlier count was reported, and how many starts were lost since. */
  #checked: { readonly timestampMs: number; lost: number } | undefined;

  /** Takes a reported count. @param progress the starts since the last count */
  report(count: Reported, { missed, lost, processed }: Progress): void {
    const { place, session } = count;
    this.#noteProgress(count, lost, processed);
    const before = this.#last;
    const stillUnseen =
      before === undefined ? 0 : Math.min(before.unseen, before.active) - before.endedUnseen;
    const unseen = Math.max(0, stillUnseen + missed);
    let missedAt = before?.missedAt ?? { place: undefined, session };
    // After a gap, the starts were missed during the gap.
    if (before !== undefined && missed > 0)
      missedAt = { place: before.session < session ? before.place : place, session };
    this.#before = before;
    this.#last = { ...count, unseen, missedAt, ended: 0, endedBefore: 0, endedUnseen: 0 };
  }

  /** Milliseconds since the last count. The worker’s clock, which may be forged, is used only after a gap in our connection. */
  elapsedMs({ arrivedAtMs, timestampMs, session }: Omit<Reported, 'active'>): number {
    const last = this.#last;
    if (last === undefined) return 0;
    const sentMs = session === last.session ? 0 : timestampMs - last.timestampMs;
    return Math.max(0, arrivedAtMs - last.arrivedAtMs, sentMs);
  }

  /** Takes the end of a run. If the run has not started, its start was missed. @param clock the logical clock of the end */
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
      if (this.#checked.lost < PREFETCHED_MAX) return;
      this.overtakenMs = this.#checked.timestampMs;
    }
    this.#checked = { timestampMs, lost: 0 };
  }

  /** The latest count that arrived at least `settlingMs` ago; undefined if there is none. */
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
  // The event of a start after the count may have arrived before it.
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

/** Counts the end of a run that may have been active at the time of the count. */
function noteEnd(count: ActiveCount | undefined, run: Started, clock: number): void {
  if (count === undefined || clock <= count.clock || !mayBeAmong(count, run)) return;
  count.ended += 1;
  if (placesBefore(count, run) > 0) count.endedBefore += 1;
}
