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

/** What a word of the instance adds to what was known. */
export interface Progress {
  readonly processed: number;
  readonly lost: number;
}

const NO_SLICES = new Uint32Array();
const NONE: Progress = { processed: 0, lost: 0 };

export class StartTally {
  readonly #sliceMs: number;
  /** Starts in each of the last slices, the newest of which is `#newest`; all older ones are in the total alone. */
  #slices = NO_SLICES;
  #newest = Number.NEGATIVE_INFINITY;
  #seen = 0;
  /** What the instance had begun, and how much of that we had seen, when it first told. */
  #base: { readonly processed: number; readonly seen: number } | undefined;
  #processed = 0;
  #lost = 0;

  constructor(windowMs: number) {
    this.#sliceMs = Math.max(SLICE_MS_MIN, windowMs / SLICES_PER_WINDOW);
  }

  /** A start reached us that happened then, by the worker's clock. */
  started(timestampMs: number): void {
    this.#seen += 1;
    const slice = Math.floor(timestampMs / this.#sliceMs);
    // Many names are heard once and never begin a task.
    if (this.#slices === NO_SLICES) this.#slices = new Uint32Array(SLICES);
    if (slice > this.#newest) this.#advance(slice);
    if (slice > this.#newest - SLICES) this.#slices[slice % SLICES] = (this.#slices[slice % SLICES] ?? 0) + 1;
  }

  /**
   * The instance said then, by its own clock, that it had begun so many; all that happened before has reached us.
   * @param vagueMs by how much starts may seem to have happened too late
   */
  told(processed: number, timestampMs: number, vagueMs = 0): Progress {
    if (this.#base === undefined) {
      this.#base = { processed, seen: this.#seenUntil(timestampMs - vagueMs - 2 * this.#sliceMs) };
      return NONE;
    }
    // The clock was set back: which starts are later than the word, nobody can tell any more.
    if (Math.floor(timestampMs / this.#sliceMs) <= this.#newest - SLICES) this.#forgetTimes();
    const begun = processed - this.#base.processed;
    const lost = begun - (this.#seenUntil(timestampMs + vagueMs + 2 * this.#sliceMs) - this.#base.seen);
    const progress = {
      processed: Math.max(0, begun - this.#processed),
      lost: Math.max(0, lost - this.#lost),
    };
    this.#processed += progress.processed;
    this.#lost += progress.lost;
    return progress;
  }

  /** The highest count that it told; undefined until it has. */
  get highest(): number | undefined {
    return this.#base === undefined ? undefined : this.#base.processed + this.#processed;
  }

  /** Whether it had begun a task by then, by its own clock. */
  hasBegunBefore(timestampMs: number): boolean {
    return (this.highest ?? 0) > 0 || this.#seenUntil(timestampMs - 2 * this.#sliceMs) > 0;
  }

  /** Hands over the starts since then: they are of the process that took this one's place. */
  splitAt(timestampMs: number, successor: StartTally): void {
    const first = Math.floor(timestampMs / this.#sliceMs);
    for (let slice = Math.max(first, this.#newest - SLICES + 1); slice <= this.#newest; slice += 1) {
      const starts = this.#slices[slice % SLICES] ?? 0;
      for (let start = 0; start < starts; start += 1) successor.started(slice * this.#sliceMs);
      this.#slices[slice % SLICES] = 0;
      this.#seen -= starts;
    }
  }

  /** No more starts are counted. */
  close(): void {
    this.#slices = NO_SLICES;
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

  #forgetTimes(): void {
    this.#slices.fill(0);
    this.#newest = Number.NEGATIVE_INFINITY;
  }

  #advance(slice: number): void {
    if (slice - this.#newest >= SLICES) this.#slices.fill(0);
    else for (let passed = this.#newest + 1; passed <= slice; passed += 1) this.#slices[passed % SLICES] = 0;
    this.#newest = slice;
  }
}
