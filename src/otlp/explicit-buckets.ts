/**
 * What a histogram with explicit buckets aggregates: how many values are in each bucket, and their sum and extremes.
 * Which series there are, and from when, is not known here.
 */
import { DataPointType, type Histogram } from '@opentelemetry/sdk-metrics';
import type { Accumulation, Aggregation } from './aggregation.ts';

/** @param boundaries upper bounds, each of them inside its bucket */
export function explicitBuckets(boundaries: readonly number[]): Aggregation<Histogram> {
  // Infinite bounds are those that every histogram has anyway.
  const bounds = boundaries.filter(Number.isFinite).sort((a, b) => a - b);
  return {
    instrument: 'histogram',
    begin: () => new Buckets(bounds),
    metric: (stream, dataPoints) => ({ ...stream, dataPointType: DataPointType.HISTOGRAM, dataPoints }),
  };
}

class Buckets implements Accumulation<Histogram> {
  /** Ascending. */
  readonly #bounds: number[];
  readonly #counts: number[];
  #count = 0;
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;

  constructor(bounds: number[]) {
    this.#bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  measure(value: number): void {
    const bucket = bucketOf(value, this.#bounds);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#count += 1;
    this.#sum += value;
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
  }

  value(): Histogram {
    return {
      buckets: { boundaries: this.#bounds, counts: [...this.#counts] },
      count: this.#count,
      sum: this.#sum,
      min: this.#min,
      max: this.#max,
    };
  }
}

/** The index of the first bound that is not below the value; one past the last where all are. */
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
