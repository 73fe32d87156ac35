/**
 * A histogram of durations. Each bucket ends a fifth higher than the one before, so a quantile is at most a tenth too
 * high or too low. It keeps no single duration, and its size is fixed.
 */

const SHORTEST_S = 0.001;
const GROWTH = 1.2;
const LOG_GROWTH = Math.log(GROWTH);
/** Enough for two days; longer durations are counted in the last bucket. */
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
   * The quantile of all durations, in seconds; undefined if there are none.
   * @param parts the histograms to combine
   * @param share for example 0.5 for the median
   */
  static quantile(parts: readonly LogHistogram[], share: number): number | undefined {
    const total = parts.reduce((sum, part) => sum + part.#total, 0);
    if (total === 0) return undefined;
    let remaining = Math.ceil(total * share);
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      for (const part of parts) remaining -= part.#counts[bucket] ?? 0;
      if (remaining <= 0) return SHORTEST_S * GROWTH ** (bucket + 0.5);
    }
    return undefined;
  }
}
