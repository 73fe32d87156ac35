/**
 * Keeps the exemplars of the series of one stream until they have been exported. It is not created if exemplars are
 * off. Callers decide which measurements get an exemplar.
 */
import type { Attributes } from '@opentelemetry/api';
import type { OfferExemplar } from '../../meter/bindable.ts';
import type { Exemplar, Reservoir } from '../aggregate/reservoir.ts';
import type { Series, SeriesTable } from './series-table.ts';

/** The exemplars of each series at the time of a collection. */
export type CollectedExemplars<V> = ReadonlyMap<Series<V>, readonly Exemplar[]>;

export interface SeriesExemplarsOptions<V> {
  readonly table: SeriesTable<V>;
  readonly begin: () => Reservoir;
  readonly nowMs: () => number;
}

export class SeriesExemplars<V> {
  readonly #options: SeriesExemplarsOptions<V>;
  /** The exemplars by series, including series that have ended since the last collection. */
  readonly #reservoirs = new Map<Series<V>, Reservoir>();

  constructor(options: SeriesExemplarsOptions<V>) {
    this.#options = options;
  }

  /** @returns a function that offers an exemplar to the series with these attributes, if that still exists */
  bind(attributes: Attributes): OfferExemplar {
    const { table, nowMs } = this.#options;
    let series: Series<V> | undefined;
    return (value, context) => {
      // As in `bind` of a stream: a series that ended may have restarted, and one that overflowed may be admitted by now.
      if (series === undefined || series.hasEnded || series.isOverflow) series = table.find(attributes);
      if (series !== undefined) this.#reservoirOf(series).offer({ value, timeMs: nowMs(), context });
    };
  }

  /** Returns the current exemplars, and forgets those of series that have ended. */
  collect(): CollectedExemplars<V> {
    const collected = new Map<Series<V>, readonly Exemplar[]>();
    for (const [series, reservoir] of this.#reservoirs) {
      if (series.hasEnded) this.#reservoirs.delete(series);
      else collected.set(series, reservoir.all);
    }
    return collected;
  }

  /**
   * Removes exported exemplars. Exemplars that were offered since the collection stay; so do unexported ones, until
   * they are replaced.
   */
  acknowledge(exported: readonly Series<V>[], collected: CollectedExemplars<V> | undefined): void {
    for (const series of exported) {
      const exemplars = collected?.get(series);
      if (exemplars !== undefined) this.#reservoirs.get(series)?.remove(exemplars);
    }
  }

  #reservoirOf(series: Series<V>): Reservoir {
    const known = this.#reservoirs.get(series);
    if (known !== undefined) return known;
    const made = this.#options.begin();
    this.#reservoirs.set(series, made);
    return made;
  }
}
