/**
 * What of an instrument's series a backend has got, and what it is still owed, under either temporality. Nothing that was
 * measured is ever given up: what could not be exported is in the next collection. It finds no series and measures none.
 */
import type { Attributes } from '@opentelemetry/api';
import type { Accumulation } from '../aggregate/aggregation.ts';
import type { Due, Series } from './series.ts';
import type { SeriesTable } from './series-table.ts';

export interface SeriesLedger<V> {
  /**
   * What there is to export of each series.
   * @param isRetired which are to end once that has been exported, however many collections it takes
   */
  collect(isRetired: (attributes: Attributes) => boolean): readonly Due<V>[];
  /** These have been exported as they were collected last. */
  exported(series: readonly Series<V>[], collectedAtMs: number): void;
  /** Series that ended for good so far: those that begin anew under delta do not. */
  retired(): number;
}

/** Cumulative: what was measured since a series began, until it is retired. */
export class Totals<V> implements SeriesLedger<V> {
  readonly #table: SeriesTable<V>;
  #retired = 0;

  constructor(table: SeriesTable<V>) {
    this.#table = table;
  }

  collect(isRetired: (attributes: Attributes) => boolean): readonly Due<V>[] {
    const due: Due<V>[] = [];
    const ended: Series<V>[] = [];
    for (const series of this.#table.all()) {
      if (!series.isOverflow && isRetired(series.attributes)) series.isLeaving = true;
      series.isOwed ||= series.hasNews;
      series.hasNews = false;
      if (series.isLeaving && !series.isOwed) {
        ended.push(series);
      } else {
        series.collected = new Total(series);
        due.push(series.collected);
      }
    }
    this.#end(ended);
    return due;
  }

  exported(exported: readonly Series<V>[]): void {
    const ended: Series<V>[] = [];
    for (const series of exported) {
      series.isOwed = false;
      series.collected = undefined;
      if (series.isLeaving && !series.hasNews) ended.push(series);
      // Measured again since: it is back before it was gone.
      series.isLeaving = false;
    }
    this.#end(ended);
  }

  retired(): number {
    return this.#retired;
  }

  #end(ended: readonly Series<V>[]): void {
    this.#table.end(ended);
    this.#retired += ended.length;
  }
}

/** All that was measured of a series until it was collected. */
class Total<V> implements Due<V> {
  readonly series: Series<V>;
  #kept: V | undefined;

  constructor(series: Series<V>) {
    this.series = series;
  }

  value(): V {
    return this.#kept ?? this.series.accumulation.value();
  }

  keep(): void {
    this.#kept ??= this.series.accumulation.value();
  }
}

/** Delta: what was measured since the last export that succeeded. A series without any has no place. */
export class Differences<V> implements SeriesLedger<V> {
  readonly #table: SeriesTable<V>;
  readonly #begin: () => Accumulation<V>;
  /** Until when those were exported that the last export had: they go on from there, so that nothing seems to be missing. */
  readonly #until: Map<string, number>;

  constructor(table: SeriesTable<V>, begin: () => Accumulation<V>, until: Map<string, number>) {
    this.#table = table;
    this.#begin = begin;
    this.#until = until;
  }

  collect(): readonly Due<V>[] {
    this.#until.clear();
    const due: Due<V>[] = [];
    const ended: Series<V>[] = [];
    for (const series of this.#table.all()) {
      if (series.hasNews) series.collected = new Difference(series, this.#begin);
      series.hasNews = false;
      if (series.collected === undefined) ended.push(series);
      else due.push(series.collected);
    }
    this.#table.end(ended);
    return due;
  }

  exported(exported: readonly Series<V>[], collectedAtMs: number): void {
    for (const series of exported) {
      series.collected = undefined;
      series.owed = undefined;
      series.startMs = Math.max(series.startMs, collectedAtMs);
      this.#until.set(series.key, series.startMs);
    }
    this.#table.end(exported.filter(({ hasNews }) => !hasNews));
  }

  retired(): number {
    return 0;
  }
}

/** All that a series owed when it was collected; measuring begins anew. */
class Difference<V> implements Due<V> {
  readonly series: Series<V>;
  readonly #begin: () => Accumulation<V>;
  #owed: Accumulation<V> | undefined;

  constructor(series: Series<V>, begin: () => Accumulation<V>) {
    this.series = series;
    this.#begin = begin;
  }

  value(): V {
    return this.#take().value();
  }

  keep(): void {
    this.#take();
  }

  #take(): Accumulation<V> {
    if (this.#owed !== undefined) return this.#owed;
    const { owed, accumulation } = this.series;
    owed?.absorb(accumulation.value());
    this.series.accumulation = this.#begin();
    this.#owed = owed ?? accumulation;
    this.series.owed = this.#owed;
    return this.#owed;
  }
}
