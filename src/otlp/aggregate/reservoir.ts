/**
 * Keeps the exemplars of one series: the last one of each bucket, or the last few without buckets (metrics SDK specification,
 * "ExemplarReservoir"). Their number is small, since a request with thousands of series has no room for more. It has no clock.
 * Pure.
 */
import type { ExemplarContext } from '../../meter/bindable.ts';

/** A measurement, and the context in which it was recorded. */
export interface Exemplar {
  readonly value: number;
  /** When the exemplar was offered, epoch ms. */
  readonly timeMs: number;
  readonly context: ExemplarContext;
}

/** Maximum number of exemplars per series. */
export const EXEMPLARS_MAX = 5;

export class Reservoir {
  readonly #bucketOf: ((value: number) => number) | undefined;
  /** In ascending order of buckets, each bucket at most once. */
  readonly #kept: { readonly bucket: number; readonly exemplar: Exemplar }[] = [];
  #offered = 0;

  /** @param bucketOf returns the index of a value’s bucket; by default, the last exemplars are kept, whatever their values */
  constructor(bucketOf?: (value: number) => number) {
    this.#bucketOf = bucketOf;
  }

  /** The exemplars as a copy. Without buckets, the newest is at the end. */
  get all(): readonly Exemplar[] {
    return this.#kept.map(({ exemplar }) => exemplar);
  }

  /**
   * Keeps an exemplar. If there are more than five buckets, the highest ones keep theirs: users look for slow tasks
   * most.
   */
  offer(exemplar: Exemplar): void {
    this.#offered += 1;
    const bucket = this.#bucketOf === undefined ? this.#offered : this.#bucketOf(exemplar.value);
    const kept = this.#kept;
    let at = kept.length;
    while (at > 0 && (kept[at - 1]?.bucket ?? bucket) >= bucket) at -= 1;
    // Most buckets already have an exemplar. Assigning is several times faster than a splice.
    if (kept[at]?.bucket === bucket) kept[at] = { bucket, exemplar };
    else kept.splice(at, 0, { bucket, exemplar });
    if (kept.length > EXEMPLARS_MAX) kept.shift();
  }

  /** Removes exemplars that have been exported. Newer ones of the same buckets stay. */
  remove(exported: readonly Exemplar[]): void {
    const left = this.#kept.filter(({ exemplar }) => !exported.includes(exemplar));
    this.#kept.splice(0, this.#kept.length, ...left);
  }
}
