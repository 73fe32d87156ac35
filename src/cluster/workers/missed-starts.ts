/**
 * Compares how many tasks a worker process reports as started with the `task-started` events that arrived from it. A loss
 * is never taken back; it errs towards too few while events may still be on their way.
 */

/** The last seconds, in slices. */
const SLICES = 64;
/** Celery counts a task just before it stamps the event; in thread pools, some ms before. */
const SLICE_MS_MIN = 50;
/** The reordering window, in slices. */
const SLICES_PER_WINDOW = 8;
/** Two times that are no further apart may be in either order. */
const TOLERATED_SLICES = 2;

/** A count that grew by more is forged, and becomes a new base. Celery is far slower, but reports may be delayed. */
const STARTS_PER_SECOND_MAX = 100_000;
const DELAYED_MS = 5000;

/** What one report adds. */
export interface Progress {
  readonly processed: number;
  readonly lost: number;
  /** Starts without an event: lost ones, and in the first report all from before the process was known. */
  readonly missed: number;
}

export const NO_PROGRESS: Progress = { processed: 0, lost: 0, missed: 0 };

/** When a count was reported, by the worker’s clocks. */
interface Report {
  readonly timestampMs: number;
  /** The logical one; -1 if unknown. */
  readonly clock: number;
}

const NO_SLICES = new Uint32Array();

export class MissedStarts {
  readonly #sliceMs: number;
  /** Starts in each of the last slices, up to `#newest`; older ones are only in the total. */
  #slices = NO_SLICES;
  #newest = Number.NEGATIVE_INFINITY;
  /** The logical clock of the last start in it; -1 if unknown. */
  #newestClock = -1;
  #seen = 0;
  /** The lowest logical clock of a start. */
  firstClock = Number.POSITIVE_INFINITY;
  /** The highest reported count; undefined before the first. */
  highest: number | undefined;
  /** The first reported count within reach of the slices, and how many starts had been seen by then. */
  #base: { readonly processed: number; readonly seen: number } | undefined;
  #lost = 0;

  constructor(windowMs: number) {
    this.#sliceMs = Math.max(SLICE_MS_MIN, windowMs / SLICES_PER_WINDOW);
  }

  /**
   * Takes a `task-started` with that timestamp.
   * @param clock the logical one; -1 if unknown
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
   * Takes the count of a report; all earlier events have arrived.
   * @param uncertaintyMs by how much timestamps of starts may be too late
   * @param elapsedMs since the report before it
   */
  report(processed: number, when: Report, uncertaintyMs = 0, elapsedMs = 0): Progress {
    const most = (STARTS_PER_SECOND_MAX * (elapsedMs + DELAYED_MS)) / 1000;
    const isFirst = this.highest === undefined || processed - this.highest > most;
    if (isFirst) {
      this.highest = processed;
      this.#base = undefined;
      this.#lost = 0;
    }
    const before = this.highest ?? processed;
    this.highest = Math.max(before, processed);
    const toleratedMs = uncertaintyMs + TOLERATED_SLICES * this.#sliceMs;
    const lost = this.#missed(processed, when, toleratedMs);
    this.#lost += lost;
    const missed = isFirst ? Math.max(0, processed - this.#seen) : lost;
    return { processed: this.highest - before, lost, missed };
  }

  /** The count to expect from its starts and reports. */
  get expected(): number {
    return Math.max(this.highest ?? 0, this.#seen);
  }

  /** Makes its next report the base for later ones. */
  resetBase(): void {
    this.#base = undefined;
  }

  /** Treats its next report as the first one. */
  restart(): void {
    this.highest = undefined;
  }

  /** Hands over the last starts to its successor, to which they belong. */
  handOver(starts: number, successor: MissedStarts): void {
    successor.#seen += starts;
    this.#seen -= starts;
    if (starts > 0 && this.#newestClock >= 0) successor.firstClock = this.#newestClock;
  }

  /** No more starts are counted. */
  close(): void {
    this.#slices = NO_SLICES;
  }

  /** How many more starts have been lost. */
  #missed(processed: number, { timestampMs, clock }: Report, toleratedMs: number): number {
    if (this.#base === undefined) {
      // A backlog: which starts happened after this report is not known.
      if (Math.floor((timestampMs - toleratedMs) / this.#sliceMs) < this.#newest - SLICES) return 0;
      // Tasks that it had not started cannot have been seen.
      this.#base = { processed, seen: Math.min(processed, this.#seenUntil(timestampMs - toleratedMs)) };
      return 0;
    }
    const last = Math.floor((timestampMs + toleratedMs) / this.#sliceMs);
    if (last <= this.#newest - SLICES || this.#wasSetBack(last, clock)) this.#forgetTimes();
    const seen = this.#seenUntil(timestampMs + toleratedMs) - this.#base.seen;
    return Math.max(0, processed - this.#base.processed - seen - this.#lost);
  }

  /** Starts that happened by then, as far as the slices still show. */
  #seenUntil(timestampMs: number): number {
    const last = Math.floor(timestampMs / this.#sliceMs);
    let later = 0;
    for (let back = 0; back < Math.min(this.#newest - last, SLICES); back += 1) {
      later += this.#slices[(this.#newest - back) % SLICES] ?? 0;
    }
    return this.#seen - later;
  }

  /** Whether starts with later timestamps have earlier logical clocks. */
  #wasSetBack(last: number, clock: number): boolean {
    return last < this.#newest && this.#newestClock >= 0 && clock > this.#newestClock;
  }

  /** The clock was set back: timestamps no longer show which starts came after which report. */
  #forgetTimes(): void {
    this.#slices.fill(0);
    this.#newest = Number.NEGATIVE_INFINITY;
    this.#newestClock = -1;
  }

  #advance(slice: number): void {
    if (slice - this.#newest >= SLICES) this.#slices.fill(0);
    else
      for (let back = slice - this.#newest - 1; back >= 0; back -= 1)
        this.#slices[(slice - back) % SLICES] = 0;
    this.#newest = slice;
  }
}
