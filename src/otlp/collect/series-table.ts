/**
 * Which series one instrument has: finds them by their attributes and gives places to new ones, within a limit that holds
 * for as long as the process lives. It counts who found none, and never says when a series is exported or ends.
 *
 * The SDK's limit (3.1, `DeltaMetricProcessor`) counts the series of one interval, whatever the cumulative stream has, and no
 * series of that ever ends.
 */
import type { Attributes } from '@opentelemetry/api';
import type { Accumulation } from '../aggregate/aggregation.ts';
import type { Start } from './interval.ts';
import { attributesBytes } from './point-bytes.ts';
import type { Series } from './series.ts';
import { frozen, keptAttributes, keyOf, OVERFLOW, OVERFLOW_KEY } from './series-attributes.ts';

export interface SeriesTableOptions<V> {
  /** Places, the one of the overflow included. */
  readonly limit: number;
  /** Whether an attribute tells series apart; undefined: all do. */
  readonly keeps: ((key: string) => boolean) | undefined;
  readonly begin: () => Accumulation<V>;
  /** From when on a new series counts. */
  readonly start: (key: string) => Start;
}

/** Of those without a place, so many are told apart at once: more have to wait for theirs. */
const REFUSED_MAX = 1000;

export class SeriesTable<V> {
  readonly #options: SeriesTableOptions<V>;
  readonly #series = new Map<string, Series<V>>();
  /** The keys of those that were measured lately and have no place. */
  readonly #refused = new Set<string>();

  constructor(options: SeriesTableOptions<V>) {
    this.#options = options;
  }

  /** The series of these attributes; that of the overflow where there is no place for one. */
  of(attributes: Attributes): Series<V> {
    const kept = keptAttributes(attributes, this.#options.keeps);
    const key = keyOf(kept);
    return this.#series.get(key) ?? this.#admit(key, kept);
  }

  all(): Iterable<Series<V>> {
    return this.#series.values();
  }

  /** Places that nobody has, but for the one of the overflow. */
  get free(): number {
    const taken = this.#series.size - (this.#series.has(OVERFLOW_KEY) ? 1 : 0);
    return this.#options.limit - 1 - taken;
  }

  /** How many were measured since this was last asked and have no place. */
  takeRefused(): number {
    const refused = this.#refused.size;
    this.#refused.clear();
    return refused;
  }

  /** Frees their places; what overflowed may have a place of its own from now on. */
  end(ended: readonly Series<V>[]): void {
    for (const series of ended) {
      this.#series.delete(series.key);
      series.hasEnded = true;
    }
  }

  #admit(key: string, attributes: Attributes): Series<V> {
    if (key !== OVERFLOW_KEY) {
      // No series gives way at once: what is owed of it has to be exported first.
      if (this.free > 0) return this.#begin(key, attributes);
      if (this.#refused.size < REFUSED_MAX) this.#refused.add(key);
    }
    return this.#series.get(OVERFLOW_KEY) ?? this.#begin(OVERFLOW_KEY, OVERFLOW);
  }

  #begin(key: string, attributes: Attributes): Series<V> {
    const { begin } = this.#options;
    const start = this.#options.start(key);
    const made: Series<V> = {
      key,
      attributes: frozen(attributes),
      bytes: attributesBytes(attributes),
      isOverflow: key === OVERFLOW_KEY,
      start,
      accumulation: begin(),
      hasNews: false,
      measuredMs: start.steadyMs,
      collected: undefined,
      isOwed: false,
      owed: undefined,
      isLeaving: false,
      isClosing: false,
      hasEnded: false,
    };
    this.#series.set(key, made);
    this.#refused.delete(key);
    return made;
  }
}
