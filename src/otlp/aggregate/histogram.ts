/**
 * The totals of a histogram: count, sum, min and max of one series. Its `Buckets` count the buckets. It knows nothing
 * about series or times.
 */
import type { Histogram } from '@opentelemetry/sdk-metrics';
import type { Accumulation } from './aggregation.ts';
import { cutOff } from './sum.ts';

/** The bucket counts of one series, in the form that a point has. */
export interface Buckets<Row> {
  count(value: number): void;
  /** The counts as a copy. */
  row(): Row;
  /** Merges counts of the same kind of buckets. */
  add(row: Row): void;
}

type Totals = Pick<Histogram, 'count' | 'sum' | 'min' | 'max'>;

export class HistogramAccumulation<Row extends object> implements Accumulation<Row & Totals> {
  readonly #buckets: Buckets<Row>;
  readonly #recordMinMax: boolean;
  readonly #sumMax: number;
  #count = 0;
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;

  /** @param recordMinMax whether points have a min and a max */
  constructor(buckets: Buckets<Row>, recordMinMax: boolean, sumMax = Number.MAX_VALUE) {
    this.#buckets = buckets;
    this.#recordMinMax = recordMinMax;
    this.#sumMax = sumMax;
  }

  measure(value: number): boolean {
    const sum = this.#sum + value;
    if (sum > this.#sumMax) return false;
    this.#sum = sum;
    this.#buckets.count(value);
    this.#count += 1;
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
    return true;
  }

  value(): Row & Totals {
    const [min, max] = [this.#min, this.#max];
    return {
      ...this.#buckets.row(),
      count: this.#count,
      sum: this.#sum,
      // The point of a restarted series may have no measurement yet, and so no min or max.
      ...(this.#recordMinMax && this.#count > 0 ? { min, max } : {}),
    };
  }

  absorb(value: Row & Totals): boolean {
    const { count, sum = 0, min = Infinity, max = -Infinity } = value;
    this.#buckets.add(value);
    this.#count += count;
    this.#min = Math.min(this.#min, min);
    this.#max = Math.max(this.#max, max);
    const total = this.#sum + sum;
    this.#sum = cutOff(total, this.#sumMax);
    return this.#sum === total;
  }
}
