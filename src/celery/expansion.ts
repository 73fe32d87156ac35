/**
 * How far the compressed bodies of one service may expand: each to a multiple of its size, and beyond that all of them
 * out of one reserve, which is refilled as time goes by. It undoes no compression, and its time is an argument.
 */
import { BODY_LIMITS } from './body-limits.ts';

const RATIO = BODY_LIMITS.expansion.max;
const RESERVE_BYTES = BODY_LIMITS.expansion_reserve.max;
const REFILL_BYTES_PER_MS = BODY_LIMITS.expansion_refill.max / 1000;

export class ExpansionReserve {
  /** Below 0 after a body was given up that took more work than it was allowed to become. */
  #bytes = RESERVE_BYTES;
  #atMs: number;

  /** @param atMs as in `bytesFor` */
  constructor(atMs: number) {
    this.#atMs = atMs;
  }

  /**
   * To how many bytes a body may expand; 0: it is not to be tried.
   * @param workBytes what decompressing it may cost whatever it is allowed to become
   * @param atMs of a clock that never goes back
   */
  bytesFor(bodyBytes: number, workBytes: number, atMs: number): number {
    this.#bytes = Math.min(RESERVE_BYTES, this.#bytes + (atMs - this.#atMs) * REFILL_BYTES_PER_MS);
    this.#atMs = atMs;
    if (this.#bytes < 0 && workBytes > bodyBytes * RATIO) return 0;
    return Math.floor(bodyBytes * RATIO + Math.max(0, this.#bytes));
  }

  /** To be told what was made of each body that was tried, or how much work it was when it was given up. */
  take(bodyBytes: number, bytes: number): void {
    this.#bytes -= Math.max(0, bytes - bodyBytes * RATIO);
  }
}
