/**
 * Limits how far the compressed bodies of one service may expand: each to a multiple of its size, and beyond that from a
 * common reserve that refills over time (a token bucket). It decompresses nothing; the time is an argument.
 */
import { BODY_LIMITS } from './body-limits.ts';

const RATIO = BODY_LIMITS.expansion.max;
const RESERVE_BYTES = BODY_LIMITS.expansion_reserve.max;
const REFILL_BYTES_PER_MS = BODY_LIMITS.expansion_refill.max / 1000;

export class ExpansionReserve {
  /** Negative after an aborted body that took more work than it was allowed to expand to. */
  #bytes = RESERVE_BYTES;
  #atMs: number;

  /** @param atMs as in `bytesFor` */
  constructor(atMs: number) {
    this.#atMs = atMs;
  }

  /**
   * The number of bytes that a body may expand to; 0: do not try.
   * @param workBytes what decompression may cost regardless of that number
   * @param atMs from a monotonic clock
   */
  bytesFor(bodyBytes: number, workBytes: number, atMs: number): number {
    this.#bytes = Math.min(RESERVE_BYTES, this.#bytes + (atMs - this.#atMs) * REFILL_BYTES_PER_MS);
    this.#atMs = atMs;
    if (this.#bytes < 0 && workBytes > bodyBytes * RATIO) return 0;
    return Math.floor(bodyBytes * RATIO + Math.max(0, this.#bytes));
  }

  /** Call for each attempt with the expanded size, or with the work spent if it was aborted. */
  take(bodyBytes: number, bytes: number): void {
    this.#bytes -= Math.max(0, bytes - bodyBytes * RATIO);
  }
}
