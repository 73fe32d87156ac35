/**
 * The base-2 exponential bucket histogram aggregation: it counts measurements per bucket. When more buckets than the maximum
 * size are needed, their base is squared (metrics data model, "ExponentialHistogram"; metrics SDK specification, "Base2
 * Exponential Bucket Histogram Aggregation").
 */
import { DataPointType, type ExponentialHistogram } from '@opentelemetry/sdk-metrics';
import type { Aggregation } from './aggregation.ts';
import { type Buckets, HistogramAccumulation } from './histogram.ts';
import { Reservoir } from './reservoir.ts';

/** 2^20 buckets per power of two: all indices fit into 32 bits. */
const FINEST_SCALE = 20;

export interface ExponentialBucketsOptions {
  /** Maximum number of buckets, the zero bucket excluded: an integer, at least 2. */
  readonly maxSize?: number;
  /** The initial scale: an integer from -10 to 20. At -10, two buckets cover all values. */
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
    isMonotonic: true,
    buckets: maxSize,
    beginExemplars: () => new Reservoir(),
    begin: (max) => new HistogramAccumulation(new ScaledCounts(maxSize, maxScale), recordMinMax, max),
    metric: (stream, dataPoints) => ({
      ...stream,
      dataPointType: DataPointType.EXPONENTIAL_HISTOGRAM,
      dataPoints,
    }),
  };
}

type Row = Pick<ExponentialHistogram, 'scale' | 'zeroCount' | 'positive' | 'negative'>;

/**
 * Buckets at the highest scale at which they fit into the maximum size. The scale depends only on the smallest and the
 * largest value: each lower scale halves every index, so values that fit at one scale fit at all lower scales. Hence the order
 * in which buckets are merged does not matter.
 */
class ScaledCounts implements Buckets<Row> {
  readonly #maxSize: number;
  #scale: number;
  #zeroCount = 0;
  /** The bucket index of the first count. */
  #offset = 0;
  /** The counts from `#offset` on; the first and the last are never zero. */
  #counts: number[] = [];

  constructor(maxSize: number, maxScale: number) {
    this.#maxSize = maxSize;
    this.#scale = maxScale;
  }

  /**
   * If all values are zero, the scale is the maximum. In the SDK it is 0, but Prometheus interprets a rising scale as a counter
   * reset.
   */
  row(): Row {
    return {
      scale: this.#scale,
      zeroCount: this.#zeroCount,
      positive: { offset: this.#offset, bucketCounts: [...this.#counts] },
      negative: { offset: 0, bucketCounts: [] },
    };
  }

  /** @param value finite, and not negative */
  count(value: number): void {
    if (value === 0) {
      this.#zeroCount += 1;
      return;
    }
    const finest = finestIndexOf(value);
    let position = (finest >> (FINEST_SCALE - this.#scale)) - this.#offset;
    if (position < 0 || position >= this.#counts.length) {
      this.#makeRoom(finest, finest, FINEST_SCALE);
      position = (finest >> (FINEST_SCALE - this.#scale)) - this.#offset;
    }
    this.#counts[position] = (this.#counts[position] ?? 0) + 1;
  }

  /** Merges buckets of any scale. If they are empty, their scale is ignored. */
  add({ scale, zeroCount, positive }: Row): void {
    this.#zeroCount += zeroCount;
    const { offset, bucketCounts } = positive;
    if (bucketCounts.length === 0) return;
    this.#lowerBy(Math.max(0, this.#scale - scale));
    this.#makeRoom(offset, offset + bucketCounts.length - 1, scale);
    this.#addAll(positive, scale - this.#scale);
  }

  /**
   * Makes room for the indices from first to last. @param scale the scale of these indices, not below the current one
   */
  #makeRoom(firstAtScale: number, lastAtScale: number, scale: number): void {
    const isEmpty = this.#counts.length === 0;
    let first = firstAtScale >> (scale - this.#scale);
    let last = lastAtScale >> (scale - this.#scale);
    if (!isEmpty) {
      first = Math.min(first, this.#offset);
      last = Math.max(last, this.#offset + this.#counts.length - 1);
    }
    let change = 0;
    while ((last >> change) - (first >> change) >= this.#maxSize) change += 1;
    this.#lowerBy(change);
    const offset = first >> change;
    if (!isEmpty && offset < this.#offset) this.#counts = zeros(this.#offset - offset).concat(this.#counts);
    this.#offset = offset;
    while (offset + this.#counts.length <= last >> change) this.#counts.push(0);
  }

  /** Lowers the scale: every 2^change buckets are merged into one. */
  #lowerBy(change: number): void {
    if (change === 0) return;
    const finer = { offset: this.#offset, bucketCounts: this.#counts };
    const last = finer.offset + finer.bucketCounts.length - 1;
    this.#scale -= change;
    this.#offset = finer.offset >> change;
    this.#counts = zeros((last >> change) - this.#offset + 1);
    this.#addAll(finer, change);
  }

  /** Adds counts. The caller has made room for them. */
  #addAll({ offset, bucketCounts }: Row['positive'], change: number): void {
    bucketCounts.forEach((added, place) => {
      const position = ((offset + place) >> change) - this.#offset;
      this.#counts[position] = (this.#counts[position] ?? 0) + added;
    });
  }
}

function zeros(length: number): number[] {
  return new Array<number>(length).fill(0);
}

/** Holds the bits of a double: a sign bit, 11 bits of exponent, and 52 of the significand without its leading 1. */
const DOUBLE = new DataView(new ArrayBuffer(8));
const EXPONENT_BIAS = 1023;
const SMALLEST_NORMAL = 2 ** -1022;

/**
 * The index of a value’s bucket at the finest scale. The lower bound of a bucket is exclusive, the upper one inclusive. Each
 * lower scale halves the index, rounded down; at scale 0 and below, only the exponent matters. The logarithm is taken of the
 * significand alone, because that of a very large or very small value is too imprecise next to a power of two. Subnormal values
 * count as the smallest normal value, which the specification permits.
 */
function finestIndexOf(value: number): number {
  DOUBLE.setFloat64(0, Math.max(value, SMALLEST_NORMAL));
  const high = DOUBLE.getUint32(0);
  const powerOfTwo = ((high >>> 20) - EXPONENT_BIAS) << FINEST_SCALE;
  DOUBLE.setUint32(0, (high & 0xfffff) | (EXPONENT_BIAS << 20));
  const significand = DOUBLE.getFloat64(0);
  // A power of two is the inclusive upper bound of the bucket below.
  if (significand === 1) return powerOfTwo - 1;
  return powerOfTwo + Math.floor(Math.log2(significand) * 2 ** FINEST_SCALE);
}
