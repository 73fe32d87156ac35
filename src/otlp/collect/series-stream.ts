/**
 * The stream of an instrument that adds up: what is measured becomes series, and those the points of a collection. It makes
 * what the SDK makes of the same measurements, in a fraction of the time. It does not know what is aggregated of a series,
 * never exports, and keeps no time: it is told what the clocks say.
 */
import { type Attributes, diag, ValueType } from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import { AggregationTemporality, type DataPoint, type MetricDescriptor } from '@opentelemetry/sdk-metrics';
import type { Aggregation } from '../aggregate/aggregation.ts';
import type { CollectedMetric, Stream } from './collected-metric.ts';
import { endMs, type Moment, type Start } from './interval.ts';
import { pointBytes } from './point-bytes.ts';
import type { Due, Series } from './series.ts';
import { frozen, NO_ATTRIBUTES } from './series-attributes.ts';
import { Differences, type LedgerOptions, type SeriesLedger, Totals } from './series-ledger.ts';
import { SeriesTable } from './series-table.ts';
import { maxOf } from './value-range.ts';

export interface SeriesStreamOptions<V> {
  readonly descriptor: MetricDescriptor;
  readonly aggregation: Aggregation<V>;
  readonly temporality: AggregationTemporality;
  /** Points at most, the one of the overflow included. */
  readonly limit: number;
  /** Of a series that was idle for so long, the place goes to another where all are taken; by default, of none. */
  readonly retentionMs?: number | undefined;
  /** Whether an attribute tells series apart; undefined: all do. */
  readonly keeps?: ((key: string) => boolean) | undefined;
  /** Asked once for each new series. */
  readonly nowMs: () => number;
  /** Of a clock that only goes on: how long it is since then, though the other one may have been set. */
  readonly steadyMs?: (() => number) | undefined;
}

export type Measure = (value: number, attributes?: Attributes) => void;

/** Of one series; whoever has it needs no look-up to measure. */
export type MeasureSeries = (value: number) => void;

export interface SeriesStream extends Stream {
  measure: Measure;
  /** What measures the series of these attributes; there is none before it is measured for the first time. */
  bind(attributes?: Attributes): MeasureSeries;
}

export function createSeriesStream<V>(options: SeriesStreamOptions<V>): SeriesStream {
  const { descriptor, aggregation, limit, keeps, nowMs, steadyMs = () => performance.now() } = options;
  const max = maxOf(descriptor);
  const isInt = descriptor.valueType === ValueType.INT;
  const lowest = aggregation.instrument === 'up-down counter' ? -max : 0;
  const begin = () => aggregation.begin(max);
  const until = new Map<string, Start>();
  const start = (key: string): Start =>
    until.get(key) ?? { wallMs: nowMs(), steadyMs: steadyMs(), isTold: false };
  const table = new SeriesTable<V>({ limit, keeps, begin, start });
  let live = 0;
  let overflowed = 0;
  let refused = 0;
  const ledger = ledgerOf(options, { table, begin, onCut: () => (refused += 1) }, until);

  function isUsual(value: number): boolean {
    return value >= lowest && value <= max && (!isInt || Number.isInteger(value));
  }

  /** What counts of a value: nothing of one that would spoil the sum for ever. */
  function measurementOf(value: number): number | undefined {
    if (isUsual(value)) return value;
    const measured = withinRange(value, lowest, max, aggregation.instrument, descriptor);
    if (measured === undefined) refused += 1;
    return measured;
  }

  function measureSeries(series: Series<V>, measured: number): void {
    if (!series.hasNews) series.collected?.keep();
    if (!series.accumulation.measure(measured)) {
      refused += 1;
      return;
    }
    series.hasNews = true;
    if (series.isOverflow) overflowed += 1;
  }

  return {
    metric: descriptor.name,
    limit,
    measure(value, attributes = NO_ATTRIBUTES) {
      const measured = measurementOf(value);
      if (measured !== undefined) measureSeries(table.of(attributes), measured);
    },
    bind(attributes = NO_ATTRIBUTES) {
      const own = frozen(attributes);
      let series: Series<V> | undefined;
      return (value) => {
        // Nearly always: one that was measured since the last collection is there still, and has nothing to keep.
        if (series?.hasNews && !series.isOverflow && isUsual(value)) {
          if (!series.accumulation.measure(value)) refused += 1;
          return;
        }
        const measured = measurementOf(value);
        if (measured === undefined) return;
        // One that has ended begins anew, and one that overflowed may have a place of its own by now.
        if (series === undefined || series.hasEnded || series.isOverflow) series = table.of(own);
        measureSeries(series, measured);
      };
    },
    collect(collectedAtMs, isRetired) {
      const collectedAt = { wallMs: collectedAtMs, steadyMs: steadyMs() };
      const due = ledger.collect(collectedAt, isRetired, table.takeRefused());
      live = due.length;
      return due.length === 0 ? undefined : handOver(due, collectedAt, options, ledger);
    },
    tally: () => ({ live, retired: ledger.retired(), overflowed, refused }),
  };
}

function ledgerOf<V>(
  { temporality, aggregation, retentionMs = Infinity }: SeriesStreamOptions<V>,
  ofTable: LedgerOptions<V>,
  until: Map<string, Start>,
): SeriesLedger<V> {
  if (temporality === AggregationTemporality.DELTA) return new Differences(ofTable, until);
  const mayBeginAnew = aggregation.instrument !== 'up-down counter';
  return new Totals({ ...ofTable, mayBeginAnew, retentionMs });
}

function handOver<V>(
  due: readonly Due<V>[],
  collectedAt: Moment,
  { descriptor, aggregation, temporality }: SeriesStreamOptions<V>,
  ledger: SeriesLedger<V>,
): CollectedMetric {
  const identity = { descriptor, aggregationTemporality: temporality };
  const pointOf = (one: Due<V>): DataPoint<V> => {
    const { attributes, start } = one.series;
    return {
      attributes,
      startTime: millisToHrTime(start.wallMs),
      endTime: millisToHrTime(endMs(start, collectedAt)),
      value: one.value(),
    };
  };
  return {
    points: due.length,
    bytesOf: (point) => pointBytes(due[point]?.series.bytes ?? 0, aggregation.buckets),
    slice: (from, to) => aggregation.metric(identity, due.slice(from, to).map(pointOf)),
    exported: (from, to) =>
      ledger.exported(
        due.slice(from, to).map(({ series }) => series),
        collectedAt,
      ),
  };
}

/** What counts of an unusual value, and a warning where the SDK warns. */
function withinRange(
  value: number,
  lowest: number,
  max: number,
  instrument: Aggregation<unknown>['instrument'],
  { name }: MetricDescriptor,
): number | undefined {
  if (value < 0 && lowest === 0) {
    diag.warn(`negative value provided to ${instrument} ${name}: ${value}`);
    return undefined;
  }
  // Neither is NaN.
  if (!(value >= lowest && value <= max)) return undefined;
  diag.warn(
    `INT value type cannot accept a floating-point value for ${name}, ignoring the fractional digits.`,
  );
  return Math.trunc(value);
}
