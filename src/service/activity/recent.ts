/**
 * What was counted lately: in the current window of five minutes and in the one before, so that it is always about the last five
 * to ten minutes. Pure: the time is an argument. It does not know what is counted.
 */

const WINDOW_MS = 5 * 60_000;
/** A rate over a shorter time is arbitrary. */
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

  /** The window that counts now. */
  at(nowMs: number): Counted {
    const window = Math.floor(nowMs / WINDOW_MS);
    if (window !== this.#window) this.#roll(window);
    return this.#current;
  }

  /** Both windows. */
  read(nowMs: number): readonly [current: Counted, last: Counted] {
    return [this.at(nowMs), this.#last];
  }

  /** A clock that was set back a little continues in the current window. */
  #roll(window: number): void {
    if (window === this.#window - 1) return;
    const isNext = window === this.#window + 1;
    [this.#current, this.#last] = [this.#last, this.#current];
    this.#current.clear();
    if (!isNext) this.#last.clear();
    this.#window = window;
  }
}

/** The total length of the windows that `read` returns, without the time before the start. */
export function spanMs(nowMs: number, startedMs: number): number {
  const begunMs = (Math.floor(nowMs / WINDOW_MS) - 1) * WINDOW_MS;
  return Math.max(SPAN_MS_MIN, nowMs - Math.max(begunMs, startedMs));
}
