/**
 * How many events arrived in each ten-second window of the last hour. Pure and of a fixed size; the caller numbers the
 * windows.
 */

export const HISTORY_STEP_MS = 10_000;
const WINDOWS = 360;

/** Counts by window number (time / 10 s). If the clock is set back, the windows that recur are overwritten. */
export class History {
  readonly #counts = new Float64Array(WINDOWS);
  /** The number of the first window with events; undefined before the first event. */
  #first: number | undefined;
  /** The number of the newest window. */
  #last = 0;

  set(window: number, count: number): void {
    if (this.#first === undefined || window < this.#last - WINDOWS) {
      this.#counts.fill(0);
      this.#first = window;
      this.#last = window;
    }
    this.#reach(window);
    this.#counts[window % WINDOWS] = count;
  }

  /**
   * Whether any event arrived from window `from` to window `to`; also true if these windows are not over or no longer
   * kept.
   */
  hasEvents(from: number, to: number): boolean {
    if (this.#first === undefined || from < this.#first || to > this.#last) return true;
    for (let window = from; window <= to; window += 1)
      if (window <= this.#last - WINDOWS || (this.#counts[window % WINDOWS] ?? 0) > 0) return true;
    return false;
  }

  /** The counts of the windows before this one, oldest first, without those before the first event. */
  before(window: number): readonly number[] {
    if (this.#first === undefined) return [];
    this.#reach(window - 1);
    const first = Math.max(this.#first, window - WINDOWS);
    return Array.from(
      { length: Math.max(0, window - first) },
      (_, index) => this.#counts[(first + index) % WINDOWS] ?? 0,
    );
  }

  /** Extends the history to this window: the windows since the newest one had no events. */
  #reach(window: number): void {
    for (let next = Math.max(this.#last + 1, window - WINDOWS + 1); next <= window; next += 1)
      this.#counts[next % WINDOWS] = 0;
    this.#last = Math.max(this.#last, window);
  }
}
