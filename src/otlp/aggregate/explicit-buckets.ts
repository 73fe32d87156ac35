/**
 * The explicit bucket histogram aggregation: counts per bucket, sum, min and max. It knows nothing about series or times.
 */
import { DataPointType, type Histogram } from '@opentelemetry/sdk-metrics';
import type { Accumulation, Aggregation } from './aggregation.ts';
import { cutOff } from './cut-off.ts';

/**
 * Without `recordMinMax`, points have neither min nor max.
 * @param boundaries upper bounds, inclusive
 */
export function explicitBuckets(
  boundaries: readonly number[],
  { recordMinMax = true }: { readonly recordMinMax?: boolean } = {},
): Aggregation<Histogram> {
  // Every histogram has the infinite bounds anyway.
  const bounds = boundaries.filter(Number.isFinite).sort((a, b) => a - b);
  return {
    instrument: 'histogram',
    buckets: bounds.length + 1,
    begin: (max = Number.MAX_VALUE) => new Buckets(bounds, recordMinMax, max),
    metric: (stream, dataPoints) => ({ ...stream, dataPointType: DataPointType.HISTOGRAM, dataPoints }),
  };
}

class Buckets implements Accumulation<Histogram> {
  /** Ascending. */
  readonly #bounds: number[];
  readonly #counts: number[];
  readonly #recordMinMax: boolean;
  readonly #sumMax: number;
  #count = 0;
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;

  constructor(bounds: number[], recordMinMax: boolean, sumMax: number) {
    this.#bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
    this.#recordMinMax = recordMinMax;
    this.#sumMax = sumMax;
  }

  measure(value: number): boolean {
    const sum = this.#sum + value;
    if (sum > this.#sumMax) return false;
    this.#sum = sum;
    const bucket = bucketOf(value, this.#bounds);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#count += 1;
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
    return true;
  }

  value(): Histogram {
    const [min, max] = [this.#min, this.#max];
    return {
      buckets: { boundaries: this.#bounds, counts: [...this.#counts] },
      count: this.#count,
      sum: this.#sum,
      // A series that restarts has a point before its first measurement.
      ...(this.#recordMinMax && this.#count > 0 ? { min, max } : {}),
    };
  }

  absorb({ buckets, count, sum = 0, min = Infinity, max = -Infinity }: Histogram): boolean {
    buckets.counts.forEach((added, bucket) => {
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) + added;
    });
    this.#count += count;
    this.#min = Math.min(this.#min, min);
    this.#max = Math.max(this.#max, max);
    const total = this.#sum + sum;
    this.#sum = cutOff(total, this.#sumMax);
    return this.#sum === total;
  }
}

/** The index of the first bound that is not below the value, or the number of bounds if all are. */
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
