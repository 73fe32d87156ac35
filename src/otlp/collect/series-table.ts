/**
 * The series of one instrument: it finds them by their attributes, and admits new ones up to the limit, first come, first
 * served. The limit holds for the life of the process. Callers decide when a series is exported or ends.
 *
 * The limit of the SDK (3.1, `DeltaMetricProcessor`) counts only the series of one interval, even if the cumulative stream has
 * more, and its series never end.
 */
import type { Attributes } from '@opentelemetry/api';
import type { Accumulation } from '../aggregate/aggregation.ts';
import type { Start } from './interval.ts';
import { attributesBytes } from './point-bytes.ts';
import { frozen, keptAttributes, keyOf, OVERFLOW, OVERFLOW_KEY } from './series-attributes.ts';

/** One series of a counter or histogram. */
export class Series<V> {
  /** Its key in the table. */
  readonly key: string;
  readonly attributes: Attributes;
  /** Upper bound of the attributes’ size in a request. */
  readonly bytes: number;
  readonly isOverflow: boolean;
  /** The start time of its next point. */
  start: Start;
  accumulation: Accumulation<V>;
  /** Whether it was measured since the last collection. If so, it cannot end. */
  hasNews = false;
  /** The time of the last collection with a new measurement, or its start, in ms of a monotonic clock. */
  measuredMs: number;
  /** Its value in the last collection, until that has been exported. */
  collected: Due<V> | undefined = undefined;
  /** Whether measurements have been collected but not exported yet. */
  isOwed = false;
  /** The part of these measurements that is no longer in the accumulation. */
  owed: Accumulation<V> | undefined = undefined;
  /** When 0 was first collected and exported instead of its value, by the monotonic clock. */
  zeroMs: number | undefined = undefined;
  /** Whether it ends once its owed value has been exported, unless it is measured before. */
  endsAfterExport = false;
  /** Whether it restarts once everything in it has been exported, because the clock was set back before its start. */
  restartsAfterExport = false;
  /** Whether it is no longer in the table. Later measurements belong to a new series. */
  hasEnded = false;

  constructor(key: string, attributes: Attributes, start: Start, accumulation: Accumulation<V>) {
    this.key = key;
    this.attributes = frozen(attributes);
    this.bytes = attributesBytes(attributes);
    this.isOverflow = key === OVERFLOW_KEY;
    this.start = start;
    this.measuredMs = start.steadyMs;
    this.accumulation = accumulation;
  }
}

/**
 * A series and the value of its point in one collection. The value is computed on demand, since computing all at once would take
 * too much time and memory.
 */
export interface Due<V> {
  readonly series: Series<V>;
  /** Whether the value is replaced by 0, and is still owed. */
  readonly isZero: boolean;
  /** The value as collected. */
  value(): V;
  /** Fixes the value before the series is measured again. */
  keep(): void;
}

export interface SeriesTableOptions<V> {
  /** The cardinality limit, the overflow series included. */
  readonly limit: number;
  /** Whether an attribute key is kept; undefined: all are. */
  readonly keeps: ((key: string) => boolean) | undefined;
  readonly begin: () => Accumulation<V>;
  /** The start time of a new series. */
  readonly start: (key: string) => Start;
}

/** Maximum number of refused series that are counted per collection, and so replaced at once. More can follow later. */
const REFUSED_MAX = 1000;

export class SeriesTable<V> {
  readonly #options: SeriesTableOptions<V>;
  readonly #series = new Map<string, Series<V>>();
  /** Keys of the series that were measured since the last `takeRefused` and not admitted. */
  readonly #refused = new Set<string>();

  constructor(options: SeriesTableOptions<V>) {
    this.#options = options;
  }

  /** The series of these attributes, or the overflow series if the limit is reached. */
  of(attributes: Attributes): Series<V> {
    const kept = keptAttributes(attributes, this.#options.keeps);
    const key = keyOf(kept);
    return this.#series.get(key) ?? this.#admit(key, kept);
  }

  /** Like `of`, but without admitting a new series. */
  find(attributes: Attributes): Series<V> | undefined {
    const key = keyOf(keptAttributes(attributes, this.#options.keeps));
    return this.#series.get(key) ?? (this.free > 0 ? undefined : this.#series.get(OVERFLOW_KEY));
  }

  has(key: string): boolean {
    return this.#series.has(key);
  }

  all(): Iterable<Series<V>> {
    return this.#series.values();
  }

  /** How many more series can be admitted. */
  get free(): number {
    const taken = this.#series.size - (this.#series.has(OVERFLOW_KEY) ? 1 : 0);
    return this.#options.limit - 1 - taken;
  }

  /** How many series were measured and not admitted since the last call. */
  takeRefused(): number {
    const refused = this.#refused.size;
    this.#refused.clear();
    return refused;
  }

  /** Removes series, so that others can be admitted. */
  end(ended: readonly Series<V>[]): void {
    for (const series of ended) {
      this.#series.delete(series.key);
      series.hasEnded = true;
    }
  }

  #admit(key: string, attributes: Attributes): Series<V> {
    if (key !== OVERFLOW_KEY) {
      // No series is evicted here, because its owed value has to be exported first.
      if (this.free > 0) return this.#begin(key, attributes);
      if (this.#refused.size < REFUSED_MAX) this.#refused.add(key);
    }
    return this.#series.get(OVERFLOW_KEY) ?? this.#begin(OVERFLOW_KEY, OVERFLOW);
  }

  #begin(key: string, attributes: Attributes): Series<V> {
    const made = new Series(key, attributes, this.#options.start(key), this.#options.begin());
    this.#series.set(key, made);
    this.#refused.delete(key);
    return made;
  }
}
