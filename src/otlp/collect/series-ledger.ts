/**
 * What of an instrument's series a backend has got, and what it is still owed, under either temporality. Nothing that was
 * measured is ever given up: what could not be exported is in the next collection. It finds no series and measures none.
 */
import type { Attributes } from '@opentelemetry/api';
import type { Accumulation } from '../aggregate/aggregation.ts';
import { idlest } from './idle-series.ts';
import { endMs, isSetBack, type Moment, retold, type Start } from './interval.ts';
import type { Due, Series } from './series.ts';
import type { SeriesTable } from './series-table.ts';

export interface SeriesLedger<V> {
  /**
   * What there is to export of each series.
   * @param isRetired which are to end once that has been exported, however many collections it takes
   * @param refused how many found no place since the last collection
   */
  collect(now: Moment, isRetired: (attributes: Attributes) => boolean, refused: number): readonly Due<V>[];
  /** These have been exported as they were collected last. */
  exported(series: readonly Series<V>[], collectedAt: Moment): void;
  /** Series that ended for good so far: those that begin anew under delta do not. */
  retired(): number;
}

export interface LedgerOptions<V> {
  readonly table: SeriesTable<V>;
  readonly begin: () => Accumulation<V>;
  /** A sum was cut off at its bound. */
  readonly onCut: () => void;
}

export interface TotalsOptions<V> extends LedgerOptions<V> {
  /** Whether it is nothing but what has come to it since its start: not what also falls. */
  readonly mayBeginAnew: boolean;
  /** For how long a series keeps its place, though it is idle and others have none, ms. */
  readonly retentionMs: number;
}

/** Cumulative: what was measured since a series began, until it is retired or gives its place to another. */
export class Totals<V> implements SeriesLedger<V> {
  readonly #options: TotalsOptions<V>;
  #retired = 0;

  constructor(options: TotalsOptions<V>) {
    this.#options = options;
  }

  collect(now: Moment, isRetired: (attributes: Attributes) => boolean, refused: number): readonly Due<V>[] {
    const due: Due<V>[] = [];
    const ended: Series<V>[] = [];
    for (const series of this.#options.table.all()) {
      if (series.hasNews) noteNews(series, now);
      if (!series.isOverflow && isRetired(series.attributes)) series.isLeaving = true;
      if (series.isLeaving && !series.isOwed) ended.push(series);
      else due.push(this.#due(series, now));
    }
    this.#end(ended);
    if (refused > 0) this.#makeRoom(due, refused, now);
    return due;
  }

  exported(exported: readonly Series<V>[], collectedAt: Moment): void {
    const { mayBeginAnew } = this.#options;
    const ended: Series<V>[] = [];
    for (const series of exported) {
      if (series.isClosing) beginAnew(series, collectedAt);
      else if (mayBeginAnew && !series.start.isTold) series.start = { ...series.start, isTold: true };
      series.isOwed = false;
      series.collected = undefined;
      if (series.isLeaving && !series.hasNews) ended.push(series);
    }
    this.#end(ended);
  }

  retired(): number {
    return this.#retired;
  }

  /**
   * To a backend another start is another series, and what was exported under the first one would count twice. So one whose
   * start the clock was set back beyond goes on in its own time until all of it has been exported.
   */
  #due(series: Series<V>, now: Moment): Due<V> {
    if (!series.start.isTold) series.start = retold(series.start, now);
    series.isClosing ||= isSetBack(series.start, now);
    series.collected = series.isClosing ? new Difference(series, this.#options) : new Total(series);
    return series.collected;
  }

  /** Those that were idle longest are exported once more, and end with that: as many as it takes. */
  #makeRoom(due: readonly Due<V>[], refused: number, now: Moment): void {
    const { table, mayBeginAnew, retentionMs } = this.#options;
    // Whoever also falls would begin at 0, and not where it was.
    if (!mayBeginAnew) return;
    const leaving = due.filter(({ series }) => series.isLeaving).length;
    for (const series of idlest(due, refused - table.free - leaving, now.steadyMs - retentionMs))
      series.isLeaving = series.isOwed = true;
  }

  #end(ended: readonly Series<V>[]): void {
    this.#options.table.end(ended);
    this.#retired += ended.length;
  }
}

function noteNews<V>(series: Series<V>, now: Moment): void {
  series.hasNews = false;
  series.measuredMs = now.steadyMs;
  series.isOwed = true;
  // It is back before it was gone.
  series.isLeaving = false;
}

/** All that was measured until it was collected has been exported. */
function beginAnew<V>(series: Series<V>, collectedAt: Moment): void {
  series.collected?.keep();
  series.owed = undefined;
  series.isClosing = false;
  series.start = { ...collectedAt, isTold: false };
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
  readonly #options: LedgerOptions<V>;
  /** Until when those were exported that the last export had: they go on from there, so that nothing seems to be missing. */
  readonly #until: Map<string, Start>;

  constructor(options: LedgerOptions<V>, until: Map<string, Start>) {
    this.#options = options;
    this.#until = until;
  }

  collect(now: Moment): readonly Due<V>[] {
    this.#until.clear();
    const due: Due<V>[] = [];
    const ended: Series<V>[] = [];
    for (const series of this.#options.table.all()) {
      if (series.hasNews) series.collected = new Difference(series, this.#options);
      series.hasNews = false;
      if (series.collected === undefined) ended.push(series);
      else {
        if (!series.start.isTold || isSetBack(series.start, now)) series.start = retold(series.start, now);
        due.push(series.collected);
      }
    }
    this.#options.table.end(ended);
    return due;
  }

  exported(exported: readonly Series<V>[], collectedAt: Moment): void {
    for (const series of exported) {
      series.collected = undefined;
      series.owed = undefined;
      series.start = { ...collectedAt, wallMs: endMs(series.start, collectedAt), isTold: true };
      this.#until.set(series.key, series.start);
    }
    this.#options.table.end(exported.filter(({ hasNews }) => !hasNews));
  }

  retired(): number {
    return 0;
  }
}

/** All that a series owed when it was collected; measuring begins anew. */
class Difference<V> implements Due<V> {
  readonly series: Series<V>;
  readonly #options: LedgerOptions<V>;
  #owed: Accumulation<V> | undefined;

  constructor(series: Series<V>, options: LedgerOptions<V>) {
    this.series = series;
    this.#options = options;
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
    if (owed?.absorb(accumulation.value()) === false) this.#options.onCut();
    this.series.accumulation = this.#options.begin();
    this.#owed = owed ?? accumulation;
    this.series.owed = this.#owed;
    return this.#owed;
  }
}
