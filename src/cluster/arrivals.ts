/**
 * The order in which the events of one pid reached us, and where its logical clock fell in it: there another process has
 * begun. A system clock may be set at that very moment, so it is only a hint: where it goes on, a small fall is enough.
 * Pure.
 */

/** Places are kept in so many bits, and compared only while they are near one another. */
const PLACE_BITS = 29;
const PLACE_MASK = 2 ** PLACE_BITS - 1;

/** Events of one process that overtake one another have clocks that are nearer. */
const FALLEN = 0.5;
/** In pools of threads a clock is read some ms before or after the other. */
const STAMP_MS = 250;

/** How many places an event came after another; below 0 where it came before. */
export function placesAfter(place: number, other: number): number {
  const places = (place - other) & PLACE_MASK;
  return places <= PLACE_MASK / 2 ? places : places - PLACE_MASK - 1;
}

/** Whether a clock is so much lower than another that one process hardly told both at about the same time. */
export function isFarBefore(clock: number, other: number): boolean {
  return clock < FALLEN * other;
}

/** The first event of a process. */
export interface FirstSign {
  /** In listened time, ms; less how long it took to come, up to a window. */
  readonly seenMs: number;
  /** The same, less all the time that it took. */
  readonly spokeMs: number;
  /** Its logical clock, and the time by its system clock, epoch ms. */
  readonly clock: number;
  readonly toldMs: number;
  /** Where among the events of its pid it came. */
  readonly place: number;
  /** The connection to the broker on which it came, counted. */
  readonly session: number;
}

export class Arrivals {
  #last: number;
  /** The place of the first event that came once the process was known. */
  readonly first: number;
  /** The logical clock of the first event. */
  readonly firstClock: number;
  #highestClock: number;
  /** The first place after which the clock was never as high again. */
  #fallenAt: number | undefined;
  /** When that was told, by the system clock, epoch ms. */
  #highestMs: number;
  #startsSince = 0;

  constructor({ place, clock, toldMs }: Pick<FirstSign, 'place' | 'clock' | 'toldMs'>) {
    this.first = this.#last = place;
    this.#highestMs = toldMs;
    this.firstClock = this.#highestClock = clock;
  }

  /** The place of the last event. */
  get last(): number {
    return this.#last;
  }

  /** The place from which on the clock is clearly lower than before; undefined where it is not. */
  get fallenAt(): number | undefined {
    return this.#fallenAt;
  }

  /** Starts from there on. */
  get startsSinceFall(): number {
    return this.#startsSince;
  }

  /**
   * An event has come.
   * @param isSoon it may have been overtaken by all before it, if it was told before them
   */
  add(clock: number, timestampMs: number, isSoon: boolean): void {
    this.#last += 1;
    if (clock >= this.#highestClock) {
      this.#highestClock = clock;
      this.#highestMs = timestampMs;
      if (this.#fallenAt === undefined) return;
      this.#fallenAt = undefined;
      this.#startsSince = 0;
    } else if (clock >= 0) {
      const laterMs = timestampMs - this.#highestMs;
      const isBack = isFarBefore(clock, this.#highestClock) && (!isSoon || laterMs > 0);
      if (isBack || laterMs > STAMP_MS) this.#fallenAt ??= this.#last;
    }
  }

  /** It was a start of a task. */
  started(): void {
    if (this.#fallenAt !== undefined) this.#startsSince += 1;
  }
}
