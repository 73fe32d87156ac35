/**
 * Compares what a worker instance says that it has begun with the `task-started` of it that reached us. Both only grow,
 * and it never takes back a loss; it errs towards too few where events of that moment may still be on their way.
 */

/** How the last seconds are divided. */
const SLICES = 64;
/** Celery counts a task just before it stamps its event, in pools of threads some ms before. */
const SLICE_MS_MIN = 50;
/** A slice is so many times shorter than the reordering window. */
const SLICES_PER_WINDOW = 8;
/** Two moments that are no further apart may as well be in the other order. */
const TOLERATED_SLICES = 2;

/** What a word of the instance adds to what was known. */
export interface Progress {
  readonly processed: number;
  readonly lost: number;
}

/** When a word was said, by the worker's clocks. */
interface Told {
  readonly timestampMs: number;
  readonly clock: number;
}

const NO_SLICES = new Uint32Array();

export class StartTally {
  readonly #sliceMs: number;
  /** Starts in each of the last slices, the newest of which is `#newest`; all older ones are in the total alone. */
  #slices = NO_SLICES;
  #newest = Number.NEGATIVE_INFINITY;
  /** The logical clock of the last start in it; -1 where it is not known. */
  #newestClock = -1;
  #seen = 0;
  /** The highest count that it told. */
  #highest: number | undefined;
  /** What the instance had begun, and how much of that we had seen, when it first told so within reach of the slices. */
  #base: { readonly processed: number; readonly seen: number } | undefined;
  #lost = 0;

  constructor(windowMs: number) {
    this.#sliceMs = Math.max(SLICE_MS_MIN, windowMs / SLICES_PER_WINDOW);
  }

  /**
   * A start reached us that happened then, by the worker's clock.
   * @param clock the logical one; -1 where it is not known
   */
  started(timestampMs: number, clock = -1): void {
    this.#seen += 1;
    const slice = Math.floor(timestampMs / this.#sliceMs);
    if (this.#wasSetBack(slice + TOLERATED_SLICES, clock)) this.#forgetTimes();
    // Many names are heard once and never begin a task.
    if (this.#slices === NO_SLICES) this.#slices = new Uint32Array(SLICES);
    if (slice > this.#newest) this.#advance(slice);
    if (slice === this.#newest) this.#newestClock = clock;
    if (slice > this.#newest - SLICES) this.#slices[slice % SLICES] = (this.#slices[slice % SLICES] ?? 0) + 1;
  }

  /**
   * The instance said then, by its own clock, that it had begun so many; all that happened before has reached us.
   * @param vagueMs by how much starts may seem to have happened too late
   * @param clock its logical one; -1 where it is not known
   */
  told(processed: number, timestampMs: number, vagueMs = 0, clock = -1): Progress {
    const before = this.#highest ?? processed;
    this.#highest = Math.max(before, processed);
    const toleratedMs = vagueMs + TOLERATED_SLICES * this.#sliceMs;
    const lost = this.#missed(processed, { timestampMs, clock }, toleratedMs);
    this.#lost += lost;
    return { processed: this.#highest - before, lost };
  }

  /** The highest count that it told; undefined until it has. */
  get highest(): number | undefined {
    return this.#highest;
  }

  /** What it tells next is to be compared with what it tells after that. */
  compareAnew(): void {
    this.#base = undefined;
  }

  /** Hands over the last starts that were seen: they are of the process that took this one's place. */
  handOver(starts: number, successor: StartTally): void {
    successor.#seen += starts;
    this.#seen -= starts;
  }

  /** No more starts are counted. */
  close(): void {
    this.#slices = NO_SLICES;
  }

  /** How many more starts than were known to be lost. */
  #missed(processed: number, { timestampMs, clock }: Told, toleratedMs: number): number {
    if (this.#base === undefined) {
      // Of a backlog: which starts came after the word, nobody can tell.
      if (Math.floor((timestampMs - toleratedMs) / this.#sliceMs) < this.#newest - SLICES) return 0;
      // What it had not begun yet was not seen before.
      this.#base = { processed, seen: Math.min(processed, this.#seenUntil(timestampMs - toleratedMs)) };
      return 0;
    }
    const last = Math.floor((timestampMs + toleratedMs) / this.#sliceMs);
    if (last <= this.#newest - SLICES || this.#wasSetBack(last, clock)) this.#forgetTimes();
    const seen = this.#seenUntil(timestampMs + toleratedMs) - this.#base.seen;
    return Math.max(0, processed - this.#base.processed - seen - this.#lost);
  }

  /** Starts that happened until then, as far as they can still be told apart. */
  #seenUntil(timestampMs: number): number {
    const last = Math.floor(timestampMs / this.#sliceMs);
    let later = 0;
    for (let slice = Math.max(last, this.#newest - SLICES) + 1; slice <= this.#newest; slice += 1) {
      later += this.#slices[slice % SLICES] ?? 0;
    }
    return this.#seen - later;
  }

  /** Whether what was told with that logical clock, until that slice, was told after starts that seem to be later. */
  #wasSetBack(last: number, clock: number): boolean {
    return last < this.#newest && this.#newestClock >= 0 && clock > this.#newestClock;
  }

  /** The clock was set back: which starts are later than which word, nobody can tell any more. */
  #forgetTimes(): void {
    this.#slices.fill(0);
    this.#newest = Number.NEGATIVE_INFINITY;
    this.#newestClock = -1;
  }

  #advance(slice: number): void {
    if (slice - this.#newest >= SLICES) this.#slices.fill(0);
    else for (let passed = this.#newest + 1; passed <= slice; passed += 1) this.#slices[passed % SLICES] = 0;
    this.#newest = slice;
  }
}
