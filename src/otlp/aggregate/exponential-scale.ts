/**
 * Counts in buckets between the powers of a base, which is squared as often as it takes to keep them few (metrics data
 * model, "ExponentialHistogram"). Whose they are, and what else is known of the values, is not known here.
 */

/** There are 2^20 buckets from one power of two to the next, so that all indices fit into 32 bits. */
export const FINEST_SCALE = 20;

interface BucketRow {
  /** The index of the first count. */
  readonly offset: number;
  readonly bucketCounts: readonly number[];
}

/**
 * A row of buckets at the highest scale at which there are few enough. That depends on the smallest and the greatest value
 * alone: an index is half of what it is one scale above, so a row that fits at one scale fits at each below it. Hence rows
 * that are added in whatever order come to what a single one comes to.
 */
export class ScaledCounts {
  readonly #maxSize: number;
  #scale: number;
  #offset = 0;
  /** Neither the first nor the last is ever zero. */
  #counts: number[] = [];

  /**
   * @param maxSize buckets at most, from 2
   * @param maxScale where it begins, at most the finest
   */
  constructor(maxSize: number, maxScale: number) {
    this.#maxSize = maxSize;
    this.#scale = maxScale;
  }

  get scale(): number {
    return this.#scale;
  }

  row(): { offset: number; bucketCounts: number[] } {
    return { offset: this.#offset, bucketCounts: [...this.#counts] };
  }

  /** @param value finite and positive */
  count(value: number): void {
    const finest = finestIndexOf(value);
    let position = (finest >> (FINEST_SCALE - this.#scale)) - this.#offset;
    if (position < 0 || position >= this.#counts.length) {
      this.#makeRoom(finest, finest, FINEST_SCALE);
      position = (finest >> (FINEST_SCALE - this.#scale)) - this.#offset;
    }
    this.#counts[position] = (this.#counts[position] ?? 0) + 1;
  }

  /** Adds a row of another scale. The scale of an empty one says nothing. */
  add(row: BucketRow, scale: number): void {
    if (row.bucketCounts.length === 0) return;
    this.#lowerBy(Math.max(0, this.#scale - scale));
    this.#makeRoom(row.offset, row.offset + row.bucketCounts.length - 1, scale);
    this.#addAll(row, scale - this.#scale);
  }

  /** Has buckets for all from the first index to the last, which are of a scale that is not below its own. */
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

  /** Makes one bucket of each 2^change. */
  #lowerBy(change: number): void {
    if (change === 0) return;
    const finer = { offset: this.#offset, bucketCounts: this.#counts };
    const last = finer.offset + finer.bucketCounts.length - 1;
    this.#scale -= change;
    this.#offset = finer.offset >> change;
    this.#counts = zeros((last >> change) - this.#offset + 1);
    this.#addAll(finer, change);
  }

  /** There is room for all of them. */
  #addAll({ offset, bucketCounts }: BucketRow, change: number): void {
    bucketCounts.forEach((added, place) => {
      const position = ((offset + place) >> change) - this.#offset;
      this.#counts[position] = (this.#counts[position] ?? 0) + added;
    });
  }
}

function zeros(length: number): number[] {
  return new Array<number>(length).fill(0);
}

/** Of a double: a sign, 11 bits of an exponent, and 52 of the significand without its leading 1. */
const DOUBLE = new DataView(new ArrayBuffer(8));
const EXPONENT_BIAS = 1023;
const SMALLEST_NORMAL = 2 ** -1022;

/**
 * The index at the finest scale of the bucket of a value: greater than its lower bound and at most its upper one. At each
 * scale below it is half the one above, rounded down; so it is the exponent that decides at scale 0 and below. The
 * logarithm is that of the significand alone: of a great or a small value it would be rounded so much that the neighbours
 * of a power of two would be beyond it. Subnormal values count as the smallest normal one, as the specification permits.
 */
function finestIndexOf(value: number): number {
  DOUBLE.setFloat64(0, Math.max(value, SMALLEST_NORMAL));
  const high = DOUBLE.getUint32(0);
  const powerOfTwo = ((high >>> 20) - EXPONENT_BIAS) << FINEST_SCALE;
  DOUBLE.setUint32(0, (high & 0xfffff) | (EXPONENT_BIAS << 20));
  const significand = DOUBLE.getFloat64(0);
  // A bucket has its upper bound, not its lower one.
  if (significand === 1) return powerOfTwo - 1;
  return powerOfTwo + Math.floor(Math.log2(significand) * 2 ** FINEST_SCALE);
}
