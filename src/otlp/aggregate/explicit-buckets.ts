/** The explicit bucket histogram aggregation: counts measurements per bucket, with fixed bounds. */
import { DataPointType, type Histogram } from '@opentelemetry/sdk-metrics';
import type { Aggregation } from './aggregation.ts';
import { type Buckets, HistogramAccumulation } from './histogram.ts';
import { Reservoir } from './reservoir.ts';

/**
 * @param boundaries upper bounds, inclusive
 * @param recordMinMax whether points have a min and a max
 */
export function explicitBuckets(
  boundaries: readonly number[],
  { recordMinMax = true }: { readonly recordMinMax?: boolean } = {},
): Aggregation<Histogram> {
  // The infinite bounds are implied in every histogram.
  const bounds = boundaries.filter(Number.isFinite).sort((a, b) => a - b);
  return {
    isMonotonic: true,
    buckets: bounds.length + 1,
    beginExemplars: () => new Reservoir((value) => bucketOf(value, bounds)),
    begin: (max) => new HistogramAccumulation(new BoundedCounts(bounds), recordMinMax, max),
    metric: (stream, dataPoints) => ({ ...stream, dataPointType: DataPointType.HISTOGRAM, dataPoints }),
  };
}

type Row = Pick<Histogram, 'buckets'>;

class BoundedCounts implements Buckets<Row> {
  /** The upper bounds, ascending. */
  readonly #bounds: number[];
  readonly #counts: number[];

  constructor(bounds: number[]) {
    this.#bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  count(value: number): void {
    const bucket = bucketOf(value, this.#bounds);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
  }

  row(): Row {
    return { buckets: { boundaries: this.#bounds, counts: [...this.#counts] } };
  }

  add({ buckets }: Row): void {
    buckets.counts.forEach((added, bucket) => {
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) + added;
    });
  }
}

/** The index of the first bound that is not below the value; if all are below, the number of bounds. */
function bucketOf(value: number, bounds: readonly number[]): number {
  let low = 0;
  let high = bounds.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((bounds[middle] ?? Infinity) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
