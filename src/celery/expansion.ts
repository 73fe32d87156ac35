/**
 * Limits what the compressed bodies of one service may cost together: each takes its worst-case processor time from a
 * common reserve that refills over time (a token bucket). It decompresses nothing; the time is an argument.
 */
import { BODY_LIMITS } from './body-limits.ts';

/** What a second refills. */
const RESERVE_MS = BODY_LIMITS.expansion_cost.max;

export class ExpansionReserve {
  /** Negative after a body that cost more than was left: one body's cost at most. */
  #ms = RESERVE_MS;
  #atMs: number;

  /** @param atMs as in `isLeft` */
  constructor(atMs: number) {
    this.#atMs = atMs;
  }

  /**
   * Whether another body may be decompressed.
   * @param atMs from a monotonic clock
   */
  isLeft(atMs: number): boolean {
    this.#ms = Math.min(RESERVE_MS, this.#ms + (atMs - this.#atMs) * (RESERVE_MS / 1000));
    this.#atMs = atMs;
    return this.#ms > 0;
  }

  /** Call for each body that was decompressed, or aborted. */
  take(costMs: number): void {
    this.#ms -= costMs;
  }
}
