/**
 * Limits how much processor time the compressed bodies of one service take together: each takes its worst case from a common
 * reserve that refills over time (a token bucket). It decompresses nothing, and takes the time as an argument.
 */
import { BODY_LIMITS } from './body-limits.ts';

/** Milliseconds of processor time that the reserve regains per second, and the most that it holds. */
const RESERVE_MS = BODY_LIMITS.expansion_cost.max;

export class ExpansionReserve {
  /** Milliseconds left. Below 0, by at most the cost of one body, after a body that cost more than was left. */
  #ms = RESERVE_MS;
  /** When the reserve was last refilled, ms of a monotonic clock. */
  #atMs: number;

  /** @param atMs the current time of a monotonic clock, ms */
  constructor(atMs: number) {
    this.#atMs = atMs;
  }

  /**
   * Whether another body may be decompressed.
   * @param atMs the current time of a monotonic clock, ms
   */
  isLeft(atMs: number): boolean {
    this.#ms = Math.min(RESERVE_MS, this.#ms + (atMs - this.#atMs) * (RESERVE_MS / 1000));
    this.#atMs = atMs;
    return this.#ms > 0;
  }

  /** Subtracts the cost of a decompression, also of one that was aborted. */
  take(costMs: number): void {
    this.#ms -= costMs;
  }
}
