/** How many events arrived in each ten seconds of the last hour. Pure, of a fixed size; the caller numbers the windows. */

export const HISTORY_STEP_MS = 10_000;
const WINDOWS = 360;

/** A window is ten seconds, by its number. A clock that was set back overwrites the windows that recur. */
export class History {
  readonly #counts = new Float64Array(WINDOWS);
  /** The first window with events; undefined before. */
  #first: number | undefined;
  /** The last window kept. */
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

  /** Whether any event arrived in these windows, or they are not over or not known. */
  hasEvents(from: number, to: number): boolean {
    if (this.#first === undefined || from < this.#first || to > this.#last) return true;
    for (let window = from; window <= to; window += 1)
      if (window <= this.#last - WINDOWS || (this.#counts[window % WINDOWS] ?? 0) > 0) return true;
    return false;
  }

  /** The windows before this one, the oldest first; those before the first event are absent. */
  before(window: number): readonly number[] {
    if (this.#first === undefined) return [];
    this.#reach(window - 1);
    const first = Math.max(this.#first, window - WINDOWS);
    return Array.from(
      { length: Math.max(0, window - first) },
      (_, index) => this.#counts[(first + index) % WINDOWS] ?? 0,
    );
  }

  /** Windows since the last one had no events. */
  #reach(window: number): void {
    for (let next = Math.max(this.#last + 1, window - WINDOWS + 1); next <= window; next += 1)
      this.#counts[next % WINDOWS] = 0;
    this.#last = Math.max(this.#last, window);
  }
}
