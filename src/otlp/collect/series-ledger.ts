/**
 * Records which measurements of an instrument’s series the backend has received, and which it is still owed, for both
 * temporalities. If an export fails, its measurements are part of the next collection. It does not find or measure
 * series.
 */
import type { Attributes } from '@opentelemetry/api';
import type { Accumulation } from '../aggregate/aggregation.ts';
import { idlest } from './idle-series.ts';
import { endMs, isSetBack, type Moment, restated, type Start } from './interval.ts';
import type { Due, Series, SeriesTable } from './series-table.ts';

export type SeriesLedger<V> = Totals<V> | Differences<V>;

export interface LedgerOptions<V> {
  readonly table: SeriesTable<V>;
  readonly begin: () => Accumulation<V>;
  /** Called if a sum was capped at its bound. */
  readonly onCut: () => void;
}

export interface TotalsOptions<V> extends LedgerOptions<V> {
  /** Whether a series may restart at 0; false for up-down counters. */
  readonly canRestart: boolean;
  /** An idle series may be ended to make room for a new one after this many ms. */
  readonly retentionMs: number;
  /** How many ms a new series is exported as 0 before its value. Undefined: its first point has its value. */
  readonly zeroFirstMs: number | undefined;
  /** Called with each series that ended permanently and was exported. */
  readonly onEnd: (series: Series<V>) => void;
}

/** Tolerance for timer drift: otherwise a hold of one interval could last two. */
const HOLD_SLACK_MS = 1000;
const HOLD_SLACK_SHARE = 0.05;

/** Cumulative temporality: a value covers everything since the series began. A series ends if it is retired or evicted. */
export class Totals<V> {
  readonly #options: TotalsOptions<V>;
  /** How many series have ended permanently so far. */
  retired = 0;

  constructor(options: TotalsOptions<V>) {
    this.#options = options;
  }

  /**
   * Collects the values to export.
   * @param isRetired selects the series that end once their value has been exported, even if that takes several collections
   * @param refused number of series that went to the overflow since the last collection
   * @param isLast whether no further collection follows, so that no value is held back
   */
  collect(
    now: Moment,
    isRetired: (attributes: Attributes) => boolean,
    refused: number,
    isLast = false,
  ): readonly Due<V>[] {
    const due: Due<V>[] = [];
    const ended: Series<V>[] = [];
    for (const series of this.#options.table.all()) {
      if (series.hasNews) noteNews(series, now);
      if (!series.isOverflow && isRetired(series.attributes)) series.endsAfterExport = true;
      if (series.endsAfterExport && !series.isOwed) ended.push(series);
      else due.push(this.#due(series, now, isLast));
    }
    this.#end(ended);
    if (refused > 0) this.#makeRoom(due, refused, now);
    return due;
  }

  /** Acknowledges the export of these series as last collected. */
  acknowledge(exported: readonly Series<V>[], collectedAt: Moment): void {
    const { canRestart } = this.#options;
    const ended: Series<V>[] = [];
    for (const series of exported) {
      const { collected } = series;
      series.collected = undefined;
      if (series.restartsAfterExport) beginAnew(series, collected, collectedAt);
      else if (canRestart && !series.start.isFixed) series.start = { ...series.start, isFixed: true };
      if (collected?.isZero === true) {
        series.zeroMs ??= collectedAt.steadyMs;
        continue;
      }
      series.isOwed = false;
      if (series.endsAfterExport && !series.hasNews) ended.push(series);
    }
    this.#end(ended);
  }

  /**
   * A backend interprets a new start time as a reset, and would count the exported value twice. So if the clock was set back
   * before the start of a series, the series keeps its start time until everything in it has been exported, and restarts then.
   */
  #due(series: Series<V>, now: Moment, isLast: boolean): Due<V> {
    if (!series.start.isFixed) series.start = restated(series.start, now);
    series.restartsAfterExport ||= isSetBack(series.start, now);
    if (series.restartsAfterExport) series.collected = new Difference(series, this.#options);
    else if (!isLast && this.#isHeld(series, now)) series.collected = new Zero(series, this.#options);
    else series.collected = new Total(series);
    return series.collected;
  }

  /** Prometheus does not count the first value of a series as an increase, so it has to see 0 at least once before. */
  #isHeld({ zeroMs }: Series<V>, now: Moment): boolean {
    const { canRestart, zeroFirstMs } = this.#options;
    if (zeroFirstMs === undefined || !canRestart) return false;
    if (zeroMs === undefined) return true;
    const slackMs = Math.min(HOLD_SLACK_MS, HOLD_SLACK_SHARE * zeroFirstMs);
    return now.steadyMs - zeroMs < zeroFirstMs - slackMs;
  }

  /** Ends as many of the longest idle series as needed. They are exported once more. */
  #makeRoom(due: readonly Due<V>[], refused: number, now: Moment): void {
    const { table, canRestart, retentionMs } = this.#options;
    // An up-down counter that restarts at 0 would have a wrong value.
    if (!canRestart) return;
    const leaving = due.filter(({ series }) => series.endsAfterExport).length;
    for (const series of idlest(due, refused - table.free - leaving, now.steadyMs - retentionMs))
      series.endsAfterExport = series.isOwed = true;
  }

  #end(ended: readonly Series<V>[]): void {
    this.#options.table.end(ended);
    this.retired += ended.length;
    for (const series of ended) if (series.start.isFixed) this.#options.onEnd(series);
  }
}

function noteNews<V>(series: Series<V>, now: Moment): void {
  series.hasNews = false;
  series.measuredMs = now.steadyMs;
  series.isOwed = true;
  // It was measured again before it ended, so it stays.
  series.endsAfterExport = false;
}

/** Restarts the series at the collection: everything before has been exported. */
function beginAnew<V>(series: Series<V>, collected: Due<V> | undefined, collectedAt: Moment): void {
  collected?.keep();
  series.owed = undefined;
  series.restartsAfterExport = false;
  series.zeroMs = undefined;
  series.start = { ...collectedAt, isFixed: false };
}

/** Everything measured since the series began, up to the collection. */
class Total<V> implements Due<V> {
  readonly series: Series<V>;
  readonly isZero = false;
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

/** 0 in place of a value that is held back for a later collection. */
class Zero<V> implements Due<V> {
  readonly series: Series<V>;
  readonly isZero = true;
  readonly #begin: () => Accumulation<V>;

  constructor(series: Series<V>, { begin }: LedgerOptions<V>) {
    this.series = series;
    this.#begin = begin;
  }

  value(): V {
    return this.#begin().value();
  }

  keep(): void {}
}

/** Delta temporality: a value covers the time since the last successful export. Series without new measurements are dropped. */
export class Differences<V> {
  readonly #options: LedgerOptions<V>;
  /** The ends of the last exported intervals. The next intervals start there, so that there is no gap. */
  readonly #until: Map<string, Start>;
  /** Always 0: no series ends permanently, since a later measurement restarts it. */
  readonly retired = 0;

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
        if (!series.start.isFixed || isSetBack(series.start, now)) series.start = restated(series.start, now);
        due.push(series.collected);
      }
    }
    this.#options.table.end(ended);
    return due;
  }

  acknowledge(exported: readonly Series<V>[], collectedAt: Moment): void {
    for (const series of exported) {
      series.collected = undefined;
      series.owed = undefined;
      series.start = { ...collectedAt, wallMs: endMs(series.start, collectedAt), isFixed: true };
      this.#until.set(series.key, series.start);
    }
    this.#options.table.end(exported.filter(({ hasNews }) => !hasNews));
  }
}

/** Everything that a series owed at the collection. Taking the value restarts the accumulation at zero. */
class Difference<V> implements Due<V> {
  readonly series: Series<V>;
  readonly isZero = false;
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
