/**
 * A token bucket: allows up to its capacity at once, then one per interval. The time is an argument; a clock that is set back
 * does not block it. Pure.
 */

export class TokenBucket {
  readonly #capacity: number;
  readonly #perMs: number;
  #tokens: number;
  #atMs: number;

  constructor(capacity: number, everyMs: number, nowMs: number) {
    this.#capacity = this.#tokens = capacity;
    this.#perMs = 1 / everyMs;
    this.#atMs = nowMs;
  }

  /** Whether there is a token. */
  has(nowMs: number): boolean {
    const passedMs = Math.max(0, nowMs - this.#atMs);
    this.#tokens = Math.min(this.#capacity, this.#tokens + passedMs * this.#perMs);
    this.#atMs = nowMs;
    return this.#tokens >= 1;
  }

  /** Takes an available token. */
  take(): void {
    this.#tokens -= 1;
  }
}
