/**
 * The base-2 exponential bucket histogram aggregation: counts per bucket, sum, min and max. Buckets widen as the values
 * spread (metrics SDK specification, "Base2 Exponential Bucket Histogram Aggregation"). It knows nothing about series or
 * times.
 */
import { DataPointType, type ExponentialHistogram } from '@opentelemetry/sdk-metrics';
import type { Accumulation, Aggregation } from './aggregation.ts';
import { cutOff } from './cut-off.ts';
import { FINEST_SCALE, ScaledCounts } from './exponential-scale.ts';

export interface ExponentialBucketsOptions {
  /** Maximum of buckets, without the zero bucket: an integer from 2. */
  readonly maxSize?: number;
  /** The initial scale: an integer from -10, at which two buckets hold all values, to 20. */
  readonly maxScale?: number;
  /** Whether points have a min and a max. */
  readonly recordMinMax?: boolean;
}

export function exponentialBuckets({
  maxSize = 160,
  maxScale = FINEST_SCALE,
  recordMinMax = true,
}: ExponentialBucketsOptions = {}): Aggregation<ExponentialHistogram> {
  return {
    instrument: 'histogram',
    buckets: maxSize,
    begin: (max = Number.MAX_VALUE) =>
      new ExponentialBuckets(new ScaledCounts(maxSize, maxScale), recordMinMax, max),
    metric: (stream, dataPoints) => ({
      ...stream,
      dataPointType: DataPointType.EXPONENTIAL_HISTOGRAM,
      dataPoints,
    }),
  };
}

class ExponentialBuckets implements Accumulation<ExponentialHistogram> {
  readonly #positive: ScaledCounts;
  readonly #recordMinMax: boolean;
  readonly #sumMax: number;
  #zeroCount = 0;
  #count = 0;
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;

  constructor(positive: ScaledCounts, recordMinMax: boolean, sumMax: number) {
    this.#positive = positive;
    this.#recordMinMax = recordMinMax;
    this.#sumMax = sumMax;
  }

  measure(value: number): boolean {
    const sum = this.#sum + value;
    if (sum > this.#sumMax) return false;
    this.#sum = sum;
    if (value === 0) this.#zeroCount += 1;
    else this.#positive.count(value);
    this.#count += 1;
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
    return true;
  }

  /**
   * If all values are zero, the scale is the maximum, and not 0 as in the SDK: to Prometheus, a rising scale is a counter
   * reset.
   */
  value(): ExponentialHistogram {
    const [min, max] = [this.#min, this.#max];
    return {
      count: this.#count,
      sum: this.#sum,
      scale: this.#positive.scale,
      zeroCount: this.#zeroCount,
      positive: this.#positive.row(),
      negative: { offset: 0, bucketCounts: [] },
      // A series that restarts has a point before its first measurement.
      ...(this.#recordMinMax && this.#count > 0 ? { min, max } : {}),
    };
  }

  absorb(value: ExponentialHistogram): boolean {
    const { count, sum = 0, zeroCount, positive, scale, min = Infinity, max = -Infinity } = value;
    this.#positive.add(positive, scale);
    this.#zeroCount += zeroCount;
    this.#count += count;
    this.#min = Math.min(this.#min, min);
    this.#max = Math.max(this.#max, max);
    const total = this.#sum + sum;
    this.#sum = cutOff(total, this.#sumMax);
    return this.#sum === total;
  }
}
