/**
 * Limits how much processor time the compressed bodies of one service take together: each takes its worst case from a common
 * reserve that refills over time (a token bucket). It decompresses nothing, and takes the time as an argument.
 */
import { BODY_LIMITS } from './body-limits.ts';

/** Refilled per second, and held at most. */
const RESERVE_MS = BODY_LIMITS.expansion_cost.max;

export class ExpansionReserve {
  /** Negative after a body that cost more than was left, by at most the cost of one body. */
  #ms = RESERVE_MS;
  #atMs: number;

  /** @param atMs from a monotonic clock */
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

  /** To be called for each decompression, even if it was aborted. */
  take(costMs: number): void {
    this.#ms -= costMs;
  }
}
