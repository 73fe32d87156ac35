/**
 * The numbers of the events in a reordering window, next to each other in a typed array, where they take eight bytes each: a
 * hundred thousand events may be held. Pure except for its own memory.
 */

/** A cache line of 64 bytes: reading one brings all of them into the CPU cache. */
const NUMBERS_PER_EVENT = 8;
const EVENTS_AT_FIRST = 1024;

/** The places of an event's numbers, from its first one on. */
export const TIMESTAMP = 0;
export const ARRIVED = 1;
export const CLOCK = 2;
export const PLACE = 3;
export const RETRIES = 4;
export const ETA = 5;
export const EXPIRES = 6;
export const RUNTIME = 7;

export class HeldNumbers {
  #events = 0;
  /** NaN where a number is not known. */
  values = new Float64Array(EVENTS_AT_FIRST * NUMBERS_PER_EVENT).fill(Number.NaN);

  /** Makes room for another event. @returns the place of its first number */
  room(): number {
    const from = this.#events * NUMBERS_PER_EVENT;
    this.#events += 1;
    if (from === this.values.length) {
      const longer = new Float64Array(2 * from).fill(Number.NaN, from);
      longer.set(this.values);
      this.values = longer;
    }
    return from;
  }

  /** A number that is always known. */
  need(place: number): number {
    return this.values[place] ?? Number.NaN;
  }

  known(place: number): number | undefined {
    const value = this.values[place];
    return Number.isNaN(value) ? undefined : value;
  }
}
