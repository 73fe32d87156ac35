/**
 * Holds what was counted in the last five to ten minutes: in the current window of five minutes, and in the one before.
 * Pure: the time is an argument. What is counted is up to the caller.
 */

const WINDOW_MS = 5 * 60_000;
/** Rates over less time would be arbitrary. */
const SPAN_MS_MIN = 10_000;

export interface Clearable {
  clear(): void;
}

export class Recent<Counted extends Clearable> {
  #current: Counted;
  #last: Counted;
  #window = 0;

  constructor(make: () => Counted) {
    this.#current = make();
    this.#last = make();
  }

  /** The window to count in now. */
  at(nowMs: number): Counted {
    const window = Math.floor(nowMs / WINDOW_MS);
    if (window !== this.#window) this.#roll(window);
    return this.#current;
  }

  /** Both windows, emptied if they are too old. */
  read(nowMs: number): readonly [current: Counted, last: Counted] {
    return [this.at(nowMs), this.#last];
  }

  /** Begins another window; if the clock was set back by one window, the current one continues. */
  #roll(window: number): void {
    if (window === this.#window - 1) return;
    const isNext = window === this.#window + 1;
    [this.#current, this.#last] = [this.#last, this.#current];
    this.#current.clear();
    if (!isNext) this.#last.clear();
    this.#window = window;
  }
}

/** How much time both windows cover, excluding the time before the start. */
export function spanMs(nowMs: number, startedMs: number): number {
  const begunMs = (Math.floor(nowMs / WINDOW_MS) - 1) * WINDOW_MS;
  return Math.max(SPAN_MS_MIN, nowMs - Math.max(begunMs, startedMs));
}
