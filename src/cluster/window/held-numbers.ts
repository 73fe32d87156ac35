/**
 * The numbers of the events in a reordering window, next to each other in a typed array, where they take eight bytes each: a
 * hundred thousand events may be held. Pure except for its own memory.
 */

/** A cache line of 64 bytes: reading one brings all of them into the CPU cache. */
const NUMBERS_PER_EVENT = 8;
/** For how many events each typed array has room. */
const EVENTS_PER_CHUNK = 1024;

/** The index of each number of an event, counted from the first one. */
export const TIMESTAMP = 0;
export const ARRIVED = 1;
export const CLOCK = 2;
export const PLACE = 3;
export const RETRIES = 4;
export const ETA = 5;
export const EXPIRES = 6;
export const RUNTIME = 7;

export class HeldNumbers {
  /** The array with room for the current event. Arrays are never moved; NaN stands for an unknown number. */
  chunk = new Float64Array(0);
  /** The index of the first number of the current event in the chunk. */
  from = 0;

  /** Makes room for the numbers of another event, which becomes the current one. */
  makeRoom(): void {
    this.from += NUMBERS_PER_EVENT;
    if (this.from < this.chunk.length) return;
    this.chunk = new Float64Array(EVENTS_PER_CHUNK * NUMBERS_PER_EVENT).fill(Number.NaN);
    this.from = 0;
  }
}

/** The number; undefined for NaN. */
export function known(value: number | undefined): number | undefined {
  return Number.isNaN(value) ? undefined : value;
}
