/**
 * Counts lost `task-started` events: it compares how many tasks a worker process reports as started with the events that arrived
 * from it. While events may still be on their way it counts too few losses rather than too many: a loss is never taken back.
 */

/** How many slices of time, each some ms long, starts are counted in. */
const SLICES = 64;
/** The shortest slice, ms: Celery counts a task just before it stamps the event, in thread pools some ms before. */
const SLICE_MS_MIN = 50;
/** Into how many slices the reordering window is divided. */
const SLICES_PER_WINDOW = 8;
/** Two events whose times are no further apart than this many slices may have happened in either order. */
const TOLERATED_SLICES = 2;

/**
 * A count that grew by more starts per second, or by more in the ms by which a report may be delayed, is forged, and becomes a
 * new base. Celery is far slower.
 */
const STARTS_PER_SECOND_MAX = 100_000;
const DELAYED_MS = 5000;

/** The starts that one report of a worker adds. */
export interface Progress {
  /** How many tasks it has started since its last report. */
  readonly processed: number;
  /** How many more `task-started` events are now known to be lost. */
  readonly lost: number;
  /** How many starts have no event: the lost ones, and in the first report all from before the process was known. */
  readonly missed: number;
}

export const NO_PROGRESS: Progress = { processed: 0, lost: 0, missed: 0 };

/** When a count was reported, by the worker’s clocks. */
interface Report {
  readonly timestampMs: number;
  /** The logical clock; -1 if unknown. */
  readonly clock: number;
}

/** The slices of a worker that has started no task, shared to save memory. */
const NO_SLICES = new Uint32Array();

export class MissedStarts {
  /** The length of a slice, ms. */
  readonly #sliceMs: number;
  /** How many starts happened in each of the last slices, up to the slice `#newest`; older starts are only in `#seen`. */
  #slices = NO_SLICES;
  #newest = Number.NEGATIVE_INFINITY;
  /** The logical clock of the last start in the newest slice; -1 if unknown. */
  #newestClock = -1;
  /** How many starts have been seen in total. */
  #seen = 0;
  /** The lowest logical clock of a start; infinite if no start had one. */
  firstClock = Number.POSITIVE_INFINITY;
  /** The highest reported count of started tasks; undefined before the first report. */
  highest: number | undefined;
  /** The reported count from which losses are counted, and how many starts had been seen by then; undefined before it. */
  #base: { readonly processed: number; readonly seen: number } | undefined;
  /** How many lost starts were counted since the base. */
  #lost = 0;

  constructor(windowMs: number) {
    this.#sliceMs = Math.max(SLICE_MS_MIN, windowMs / SLICES_PER_WINDOW);
  }

  /**
   * Takes a `task-started` with that timestamp.
   * @param clock the logical clock; -1 if unknown
   */
  started(timestampMs: number, clock = -1): void {
    this.#seen += 1;
    if (clock >= 0 && clock < this.firstClock) this.firstClock = clock;
    const slice = Math.floor(timestampMs / this.#sliceMs);
    if (this.#wasSetBack(slice + TOLERATED_SLICES, clock)) this.#forgetTimes();
    // Most forged workers never start a task.
    if (this.#slices === NO_SLICES) this.#slices = new Uint32Array(SLICES);
    if (slice > this.#newest) this.#advance(slice);
    if (slice === this.#newest) this.#newestClock = clock;
    if (slice > this.#newest - SLICES) this.#slices[slice % SLICES] = (this.#slices[slice % SLICES] ?? 0) + 1;
  }

  /**
   * Takes a reported count of started tasks, once all earlier events have arrived.
   * @param uncertaintyMs by how many ms the timestamps of starts may be too late
   * @param elapsedMs how many ms after the previous report this one was sent
   */
  report(processed: number, when: Report, uncertaintyMs = 0, elapsedMs = 0): Progress {
    const growthMax = (STARTS_PER_SECOND_MAX * (elapsedMs + DELAYED_MS)) / 1000;
    const isFirst = this.highest === undefined || processed - this.highest > growthMax;
    if (isFirst) {
      this.highest = processed;
      this.#base = undefined;
      this.#lost = 0;
    }
    const before = this.highest ?? processed;
    this.highest = Math.max(before, processed);
    const toleratedMs = uncertaintyMs + TOLERATED_SLICES * this.#sliceMs;
    const lost = this.#newlyLost(processed, when, toleratedMs);
    this.#lost += lost;
    const missed = isFirst ? Math.max(0, processed - this.#seen) : lost;
    return { processed: this.highest - before, lost, missed };
  }

  /** The count of started tasks that the process is expected to report next, at least. */
  get expected(): number {
    return Math.max(this.highest ?? 0, this.#seen);
  }

  /** Makes the next report the base from which losses are counted. */
  resetBase(): void {
    this.#base = undefined;
  }

  /** Makes the next report count as the first one. */
  restart(): void {
    this.highest = undefined;
  }

  /** Hands the last starts over to the process that replaced this one, since that one sent them. */
  handOver(starts: number, successor: MissedStarts): void {
    successor.#seen += starts;
    this.#seen -= starts;
    if (starts > 0 && this.#newestClock >= 0) successor.firstClock = this.#newestClock;
  }

  /** Frees the slices, when no more starts will be counted. */
  close(): void {
    this.#slices = NO_SLICES;
  }

  /** How many more starts have been lost according to a report. */
  #newlyLost(processed: number, { timestampMs, clock }: Report, toleratedMs: number): number {
    if (this.#base === undefined) {
      // In a backlog, the slices may no longer show which starts happened after this report.
      if (Math.floor((timestampMs - toleratedMs) / this.#sliceMs) < this.#newest - SLICES) return 0;
      // More starts than the process had reported cannot have been seen by then.
      this.#base = { processed, seen: Math.min(processed, this.#seenUntil(timestampMs - toleratedMs)) };
      return 0;
    }
    const last = Math.floor((timestampMs + toleratedMs) / this.#sliceMs);
    if (last <= this.#newest - SLICES || this.#wasSetBack(last, clock)) this.#forgetTimes();
    const seen = this.#seenUntil(timestampMs + toleratedMs) - this.#base.seen;
    return Math.max(0, processed - this.#base.processed - seen - this.#lost);
  }

  /** How many of the seen starts happened by this moment, as far as the slices still show. */
  #seenUntil(timestampMs: number): number {
    const last = Math.floor(timestampMs / this.#sliceMs);
    let later = 0;
    for (let back = 0; back < Math.min(this.#newest - last, SLICES); back += 1) {
      later += this.#slices[(this.#newest - back) % SLICES] ?? 0;
    }
    return this.#seen - later;
  }

  /** Whether the clock was set back: starts with later timestamps have lower logical clocks. */
  #wasSetBack(last: number, clock: number): boolean {
    return last < this.#newest && this.#newestClock >= 0 && clock > this.#newestClock;
  }

  /** Empties the slices after the clock was set back, since timestamps no longer show which starts came after a report. */
  #forgetTimes(): void {
    this.#slices.fill(0);
    this.#newest = Number.NEGATIVE_INFINITY;
    this.#newestClock = -1;
  }

  /** Makes this slice the newest, and empties those that it replaces. */
  #advance(slice: number): void {
    if (slice - this.#newest >= SLICES) this.#slices.fill(0);
    else
      for (let back = slice - this.#newest - 1; back >= 0; back -= 1)
        this.#slices[(slice - back) % SLICES] = 0;
    this.#newest = slice;
  }
}
