/**
 * The numbers of the events in a reordering window, next to each other in a typed array, where they take eight bytes each: a
 * hundred thousand events may be held. Pure except for its own memory.
 */

/** A cache line of 64 bytes: reading one brings all of them into the CPU cache. */
const NUMBERS_PER_EVENT = 8;
const EVENTS_PER_CHUNK = 1024;

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
  /** The numbers; never moved. NaN if unknown. */
  chunk = new Float64Array(0);
  /** The place of its first number in the chunk. */
  from = 0;

  /** Makes room for the numbers of another event. */
  makeRoom(): void {
    this.from += NUMBERS_PER_EVENT;
    if (this.from < this.chunk.length) return;
    this.chunk = new Float64Array(EVENTS_PER_CHUNK * NUMBERS_PER_EVENT).fill(Number.NaN);
    this.from = 0;
  }
}

/** Undefined for NaN. */
export function known(value: number | undefined): number | undefined {
  return Number.isNaN(value) ? undefined : value;
}
