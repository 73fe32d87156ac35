/**
 * How durations are spread: counts of buckets that each reach a fifth higher than the one before, so that a quantile is wrong by
 * a tenth at most, whatever the durations. It keeps no duration, and its size is fixed.
 */

const SHORTEST_S = 0.001;
const GROWTH = 1.2;
const LOG_GROWTH = Math.log(GROWTH);
/** Up to two days; longer durations are in the last bucket. */
const BUCKETS = 104;

export class LogHistogram {
  readonly #counts = new Uint32Array(BUCKETS);
  #total = 0;

  add(seconds: number): void {
    const above = seconds > SHORTEST_S ? Math.log(seconds / SHORTEST_S) / LOG_GROWTH : 0;
    const bucket = Math.min(BUCKETS - 1, Math.floor(above));
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#total += 1;
  }

  clear(): void {
    if (this.#total > 0) this.#counts.fill(0);
    this.#total = 0;
  }

  /**
   * In seconds; undefined if there are no durations.
   * @param parts the counts to combine
   * @param share 0.5 for the median
   */
  static quantile(parts: readonly LogHistogram[], share: number): number | undefined {
    const total = parts.reduce((sum, part) => sum + part.#total, 0);
    if (total === 0) return undefined;
    let left = Math.ceil(total * share);
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      for (const part of parts) left -= part.#counts[bucket] ?? 0;
      if (left <= 0) return SHORTEST_S * GROWTH ** (bucket + 0.5);
    }
    return undefined;
  }
}
