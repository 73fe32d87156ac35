/**
 * Chooses the exemplars of one series: the last of each bucket, or the last of all (metrics SDK specification,
 * "ExemplarReservoir"), but few, since a request with thousands of series has no room for more. It has no clock. Pure.
 */
import type { ExemplarContext } from '../../meter/bindable.ts';

/** A measurement, and what it was measured in. */
export interface Exemplar {
  readonly value: number;
  /** When it was offered, epoch ms. */
  readonly timeMs: number;
  readonly context: ExemplarContext;
}

/** Of one series. */
export const EXEMPLARS_MAX = 5;

export class Reservoir {
  readonly #bucketOf: ((value: number) => number) | undefined;
  /** Ascending by bucket, each once. */
  readonly #kept: { readonly bucket: number; readonly exemplar: Exemplar }[] = [];
  #offered = 0;

  /** @param bucketOf the number of a value’s bucket; by default, the last exemplars are kept, whatever their values are */
  constructor(bucketOf?: (value: number) => number) {
    this.#bucketOf = bucketOf;
  }

  /** A copy. Without buckets, the last one is at the end. */
  get all(): readonly Exemplar[] {
    return this.#kept.map(({ exemplar }) => exemplar);
  }

  /** If more buckets have one than there is room for, the highest keep theirs: what is slow is looked for most. */
  offer(exemplar: Exemplar): void {
    this.#offered += 1;
    const bucket = this.#bucketOf === undefined ? this.#offered : this.#bucketOf(exemplar.value);
    const kept = this.#kept;
    let at = kept.length;
    while (at > 0 && (kept[at - 1]?.bucket ?? bucket) >= bucket) at -= 1;
    // Most buckets have one, and a splice takes several times as long.
    if (kept[at]?.bucket === bucket) kept[at] = { bucket, exemplar };
    else kept.splice(at, 0, { bucket, exemplar });
    if (kept.length > EXEMPLARS_MAX) kept.shift();
  }

  /** Those that have been exported, but not others of their buckets. */
  remove(exported: readonly Exemplar[]): void {
    const left = this.#kept.filter(({ exemplar }) => !exported.includes(exemplar));
    this.#kept.splice(0, this.#kept.length, ...left);
  }
}
