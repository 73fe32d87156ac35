/**
 * The series of a gauge that had a point and have none now. If such a series has ended, its end is exported once. The
 * others are remembered until they have a point again, or are known to have ended. Bounded. It keeps no values.
 */
import type { DataPoint, MetricData } from '@opentelemetry/sdk-metrics';
import type { HasEnded } from '../../meter/bindable.ts';
import { type Ended, type EndedPoint, EndedSeries, FORGOTTEN_MS } from './ended-series.ts';
import { attributesBytes } from './point-bytes.ts';
import { OVERFLOW, OVERFLOW_KEY } from './series-attributes.ts';

/** A series without a point. */
export type Gone = Pick<Ended, 'key' | 'attributes' | 'bytes'>;

export interface MissingGaugesOptions {
  readonly metricOf: (points: DataPoint<number>[]) => MetricData;
  /** How many series are remembered; those that have been missing longest are forgotten first. */
  readonly max: number;
  readonly steadyMs: () => number;
  /** The series that had a point of their own in the last collection. */
  readonly shown: { isShown(key: string): boolean };
}

export const OVERFLOWING: Gone = {
  key: OVERFLOW_KEY,
  attributes: OVERFLOW,
  bytes: attributesBytes(OVERFLOW),
};

const NOT_KNOWN: HasEnded = () => false;

export class MissingGauges {
  readonly #options: MissingGaugesOptions;
  readonly #ended: EndedSeries<number>;
  readonly #missing = new Map<string, Gone & { readonly sinceMs: number }>();
  #hasEnded = NOT_KNOWN;
  #isOverflowing = false;

  constructor(options: MissingGaugesOptions) {
    this.#options = options;
    this.#ended = new EndedSeries({ nothing: () => 0, metricOf: options.metricOf, buckets: 0 });
  }

  get unmarked(): number {
    return this.#ended.unmarked;
  }

  /** Sets which missing series have ended, for the next collection. */
  end(hasEnded: HasEnded): void {
    this.#hasEnded = hasEnded;
  }

  /**
   * Call it at each collection. @param gone series that had a point of their own in the last collection and have none
   * now
   */
  collected(gone: readonly Gone[], isOverflowing: boolean): void {
    const nowMs = this.#options.steadyMs();
    const all = this.#isOverflowing && !isOverflowing ? [...gone, OVERFLOWING] : gone;
    for (const one of all) this.#missing.set(one.key, { ...one, sinceMs: nowMs });
    this.#isOverflowing = isOverflowing;
    for (const [key, one] of this.#missing) {
      const isShown = this.#isShown(key);
      const isEnd = !isShown && this.#hasEnded(one.attributes);
      if (isEnd) this.#ended.add({ ...one, start: undefined, notBeforeMs: nowMs });
      if (isEnd || isShown || nowMs - one.sinceMs > FORGOTTEN_MS) this.#missing.delete(key);
    }
    for (const key of this.#missing.keys()) {
      if (this.#missing.size <= this.#options.max) break;
      this.#missing.delete(key);
    }
    this.#hasEnded = NOT_KNOWN;
  }

  /** The final points of the series that have ended. */
  points(wallMs: number): readonly EndedPoint[] {
    const now = { wallMs, steadyMs: this.#options.steadyMs() };
    return this.#ended.collect(now, (key) => this.#isShown(key));
  }

  #isShown(key: string): boolean {
    return key === OVERFLOW_KEY ? this.#isOverflowing : this.#options.shown.isShown(key);
  }
}
