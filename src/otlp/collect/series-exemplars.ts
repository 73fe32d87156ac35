/**
 * The exemplars of the series of one stream, until they have been exported. There is none of it without exemplars. Which
 * measurements have one is decided elsewhere.
 */
import type { Attributes } from '@opentelemetry/api';
import type { OfferExemplar } from '../../meter/bindable.ts';
import type { Exemplar, Reservoir } from '../aggregate/reservoir.ts';
import type { Series, SeriesTable } from './series-table.ts';

/** Of series, as collected. */
export type CollectedExemplars<V> = ReadonlyMap<Series<V>, readonly Exemplar[]>;

export interface SeriesExemplarsOptions<V> {
  readonly table: SeriesTable<V>;
  readonly begin: () => Reservoir;
  readonly nowMs: () => number;
}

export class SeriesExemplars<V> {
  readonly #options: SeriesExemplarsOptions<V>;
  /** Those of series that have ended since the last collection included. */
  readonly #reservoirs = new Map<Series<V>, Reservoir>();

  constructor(options: SeriesExemplarsOptions<V>) {
    this.#options = options;
  }

  /** Offers exemplars to the series that has been measured with these attributes, if it is still there. */
  bind(attributes: Attributes): OfferExemplar {
    const { table, nowMs } = this.#options;
    let series: Series<V> | undefined;
    return (value, context) => {
      // As of a measurement: a series that ended may have begun anew, and one that overflowed may be admitted by now.
      if (series === undefined || series.hasEnded || series.isOverflow) series = table.find(attributes);
      if (series !== undefined) this.#reservoirOf(series).offer({ value, timeMs: nowMs(), context });
    };
  }

  /** Forgets those of series that have ended. */
  collect(): CollectedExemplars<V> {
    const collected = new Map<Series<V>, readonly Exemplar[]>();
    for (const [series, reservoir] of this.#reservoirs) {
      if (series.hasEnded) this.#reservoirs.delete(series);
      else collected.set(series, reservoir.all);
    }
    return collected;
  }

  /** What has been offered since the collection stays for the next one; and what did not arrive, unless its bucket has another. */
  exported(exported: readonly Series<V>[], collected: CollectedExemplars<V> | undefined): void {
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
