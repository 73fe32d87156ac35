/**
 * The last two `active` counts that a worker process reported. A count is compared with the known tasks only once all events
 * from before it have arrived. Pure.
 */
import { hasPassed } from './lateness.ts';

export interface ActiveCount {
  readonly active: number;
  /** By the worker’s clock, epoch ms. */
  readonly timestampMs: number;
  /** In listened time, ms. */
  readonly arrivedAtMs: number;
  /** Its place in the arrivals of its pid. */
  readonly place: number;
  /** The number of the broker connection that it arrived on. */
  readonly session: number;
}

export class ActiveCounts {
  #last: ActiveCount | undefined;
  #before: ActiveCount | undefined;

  report(count: ActiveCount): void {
    this.#before = this.#last;
    this.#last = count;
  }

  /** The latest count that arrived at least this long ago. */
  settled(settlingMs: number, listenedMs: number): ActiveCount | undefined {
    const isSettled = (count: ActiveCount | undefined): boolean =>
      count !== undefined && hasPassed(settlingMs, count.arrivedAtMs, listenedMs);
    return [this.#last, this.#before].find(isSettled);
  }
}
