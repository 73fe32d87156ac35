/**
 * Which series one instrument has: finds them by their attributes and gives places to new ones, within a limit that holds
 * for as long as the process lives. It never says when a series is exported or ends.
 *
 * The SDK's limit (3.1, `DeltaMetricProcessor`) counts the series of one interval, whatever the cumulative stream has, and no
 * series of that ever ends.
 */
import type { Attributes } from '@opentelemetry/api';
import type { Accumulation } from '../aggregate/aggregation.ts';
import type { Start } from './interval.ts';
import { attributesBytes } from './point-bytes.ts';
import type { Series } from './series.ts';
import { keyOf, OVERFLOW, OVERFLOW_KEY, ownAttributes } from './series-attributes.ts';

export interface SeriesTableOptions<V> {
  /** Places, the one of the overflow included. */
  readonly limit: number;
  /** Whether an attribute tells series apart; undefined: all do. */
  readonly keeps: ((key: string) => boolean) | undefined;
  readonly begin: () => Accumulation<V>;
  /** From when on a new series counts. */
  readonly start: (key: string) => Start;
}

export class SeriesTable<V> {
  readonly #options: SeriesTableOptions<V>;
  readonly #series = new Map<string, Series<V>>();
  /** By the objects that were used before: sorting and serialising attributes is what costs most in a measurement. */
  #known = new WeakMap<Attributes, Series<V>>();

  constructor(options: SeriesTableOptions<V>) {
    this.#options = options;
  }

  /** The series of these attributes; that of the overflow where there is no place for one. */
  of(attributes: Attributes): Series<V> {
    return this.#known.get(attributes) ?? this.#find(attributes);
  }

  all(): Iterable<Series<V>> {
    return this.#series.values();
  }

  /** Frees their places; what overflowed may have a place of its own from now on. */
  end(ended: readonly Series<V>[]): void {
    if (ended.length === 0) return;
    for (const series of ended) {
      this.#series.delete(series.key);
      series.hasEnded = true;
    }
    this.#known = new WeakMap();
  }

  #find(attributes: Attributes): Series<V> {
    const own = ownAttributes(attributes, this.#options.keeps);
    const key = keyOf(own);
    const found = this.#series.get(key) ?? this.#admit(key, own);
    // One that can still change may be another series at the next measurement.
    if (Object.isFrozen(attributes)) this.#known.set(attributes, found);
    return found;
  }

  #admit(key: string, attributes: Attributes): Series<V> {
    const overflow = this.#series.get(OVERFLOW_KEY);
    // One place is the overflow's. No series gives way to a new one: a cumulative stream must not start over.
    const taken = this.#series.size - (overflow === undefined ? 0 : 1);
    if (taken < this.#options.limit - 1 && key !== OVERFLOW_KEY) return this.#begin(key, attributes);
    return overflow ?? this.#begin(OVERFLOW_KEY, OVERFLOW);
  }

  #begin(key: string, attributes: Attributes): Series<V> {
    const { begin, start } = this.#options;
    const made: Series<V> = {
      key,
      attributes,
      bytes: attributesBytes(attributes),
      isOverflow: key === OVERFLOW_KEY,
      start: start(key),
      accumulation: begin(),
      hasNews: false,
      collected: undefined,
      isOwed: false,
      owed: undefined,
      isLeaving: false,
      isClosing: false,
      hasEnded: false,
    };
    this.#series.set(key, made);
    return made;
  }
}
