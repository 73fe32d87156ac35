/**
 * How many tasks a process said that it was running, of its last words: a count is only to be compared with what its events
 * tell once all of those have come. Pure.
 */
import { hasPassed } from './lateness.ts';

export interface ActiveCount {
  readonly active: number;
  /** When that was, by its own clock, epoch ms. */
  readonly timestampMs: number;
  /** In listened time, ms. */
  readonly arrivedAtMs: number;
  /** Where among the events of the process it came. */
  readonly place: number;
  /** The connection to the broker on which it was told, counted. */
  readonly session: number;
}

export class ActiveCounts {
  #last: ActiveCount | undefined;
  #before: ActiveCount | undefined;

  told(count: ActiveCount): void {
    this.#before = this.#last;
    this.#last = count;
  }

  /** The later one of those that came so long ago; undefined where there is none. */
  settled(settlingMs: number, listenedMs: number): ActiveCount | undefined {
    const isSettled = (count: ActiveCount | undefined): boolean =>
      count !== undefined && hasPassed(settlingMs, count.arrivedAtMs, listenedMs);
    return [this.#last, this.#before].find(isSettled);
  }
}
