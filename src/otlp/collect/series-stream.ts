/**
 * The stream of a counter or histogram: it sorts measurements into series, and makes the points of each collection. The result
 * equals that of the SDK, in a fraction of the time. Aggregation and clocks are passed in. It exports nothing.
 */
import { type Attributes, ValueType } from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import { AggregationTemporality, type DataPoint, type MetricDescriptor } from '@opentelemetry/sdk-metrics';
import type { OfferExemplar } from '../../meter/bindable.ts';
import type { Accumulation, Aggregation } from '../aggregate/aggregation.ts';
import type { Exemplar } from '../aggregate/reservoir.ts';
import type { CollectedMetric, Stream } from './collected-metric.ts';
import { EndedSeries } from './ended-series.ts';
import { endMs, type Moment, type Start } from './interval.ts';
import { exemplarsBytes, pointBytes } from './point-bytes.ts';
import { frozen, NO_ATTRIBUTES } from './series-attributes.ts';
import { SeriesExemplars } from './series-exemplars.ts';
import {
  Differences,
  type LedgerOptions,
  type SeriesLedger,
  Totals,
  type TotalsOptions,
} from './series-ledger.ts';
import { type Due, type Series, SeriesTable } from './series-table.ts';
import type { StreamPlan } from './stream-plan.ts';
import { maxOf } from './value-range.ts';

export interface SeriesStreamOptions<V> extends Omit<StreamPlan, 'aggregation'> {
  readonly aggregation: Aggregation<V>;
  readonly temporality: AggregationTemporality;
  /** If the limit is reached, a series that was idle for this many ms is ended to make room. By default, none is. */
  readonly retentionMs?: number | undefined;
  /** With cumulative temporality: how many ms a new series is exported as 0 before its value. By default, it is not. */
  readonly zeroFirstMs?: number | undefined;
  /** The wall clock; called once per new series. */
  readonly nowMs: () => number;
  /** A monotonic clock, for durations; default: that of the process. */
  readonly steadyMs?: (() => number) | undefined;
}

export type Measure = (value: number, attributes?: Attributes) => void;

/** Measures one series without a look-up. */
export type MeasureSeries = (value: number) => void;

export interface SeriesStream extends Stream {
  measure: Measure;
  /** Binds to the series of these attributes, which begins with its first measurement. */
  bind(attributes?: Attributes): MeasureSeries;
  bindExemplars(attributes: Attributes): OfferExemplar;
}

export function createSeriesStream<V>(options: SeriesStreamOptions<V>): SeriesStream {
  const { descriptor, aggregation, limit, keeps, nowMs, steadyMs = () => performance.now() } = options;
  const { isInt, lowest, max } = rangeOf(descriptor, aggregation.isMonotonic);
  const begin = () => aggregation.begin(max);
  const until = new Map<string, Start>();
  const starts = startTimes(options, until);
  const table = new SeriesTable<V>({ limit, keeps, begin, start: starts.of });
  /** Undefined until the first call of `bindExemplars`. */
  let exemplars: SeriesExemplars<V> | undefined;
  let [live, overflowed, refused] = [0, 0, 0];
  const ended = endedSeries(options, begin);
  const ofTable = { table, begin, onCut: () => (refused += 1), onEnd: ended.add };
  const ledger = ledgerOf(options, ofTable, until);

  /** The value to count, truncated for an integer instrument; undefined for a value that would spoil the sum for ever. */
  function measurementOf(value: number): number | undefined {
    // False for NaN.
    if (value >= lowest && value <= max) return isInt ? Math.trunc(value) : value;
    refused += 1;
    return undefined;
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
        const measured = measurementOf(value);
        if (measured === undefined) return;
        // The usual case: the series was measured since the last collection, so it still exists and no collected value must be kept.
        if (series?.hasNews && !series.isOverflow) {
          if (!series.accumulation.measure(measured)) refused += 1;
          return;
        }
        // A series that ended restarts, and one that overflowed may be admitted by now.
        if (series === undefined || series.hasEnded || series.isOverflow) series = table.of(own);
        measureSeries(series, measured);
      };
    },
    bindExemplars(attributes) {
      exemplars ??= new SeriesExemplars({ table, begin: () => aggregation.beginExemplars(), nowMs });
      return exemplars.bind(frozen(attributes));
    },
    collect(collectedAtMs, isRetired, isLast) {
      const collectedAt = { wallMs: collectedAtMs, steadyMs: steadyMs() };
      starts.collected(collectedAt);
      const due = ledger.collect(collectedAt, isRetired, table.takeRefused(), isLast);
      live = due.length;
      return due.length === 0 ? undefined : handOver(due, collectedAt, options, { ledger, exemplars });
    },
    collectEnded: (atMs) => ended.collect({ wallMs: atMs, steadyMs: steadyMs() }, table),
    tally: () => ({ live, retired: ledger.retired, unmarked: ended.unmarked(), overflowed, refused }),
  };
}

function rangeOf(descriptor: MetricDescriptor, isMonotonic: boolean) {
  const max = maxOf(descriptor);
  return { isInt: descriptor.valueType === ValueType.INT, lowest: isMonotonic ? 0 : -max, max };
}

/**
 * The start times of new series. With delta temporality, a series starts at the collection before its first measurement; with
 * cumulative temporality, at its first measurement.
 */
function startTimes(
  {
    temporality,
    nowMs,
    steadyMs = () => performance.now(),
  }: Pick<SeriesStreamOptions<never>, 'temporality' | 'nowMs' | 'steadyMs'>,
  until: ReadonlyMap<string, Start>,
) {
  const now = (): Start => ({ wallMs: nowMs(), steadyMs: steadyMs(), isFixed: false });
  let last = now();
  return {
    of: (key: string): Start =>
      temporality === AggregationTemporality.DELTA ? (until.get(key) ?? last) : now(),
    collected(at: Moment): void {
      last = { ...at, isFixed: false };
    },
  };
}

/** The ended series of monotonic cumulative sums. For other streams, a series that ends just has no more points. */
function endedSeries<V>(
  {
    descriptor,
    aggregation,
    temporality,
    zeroFirstMs = 0,
    steadyMs = () => performance.now(),
  }: SeriesStreamOptions<V>,
  begin: () => Accumulation<V>,
) {
  const ended = new EndedSeries<V>({
    nothing: () => begin().value(),
    metricOf: (points) => aggregation.metric({ descriptor, aggregationTemporality: temporality }, points),
    buckets: aggregation.buckets,
  });
  return {
    add({ key, attributes, bytes, start, measuredMs, zeroMs, isOverflow }: Series<V>): void {
      // A value that was held back was exported only after the time of zeros.
      const shownMs = zeroMs === undefined ? measuredMs : Math.max(measuredMs, zeroMs + zeroFirstMs);
      // Not in the past: the last measurement may be as long ago as series are kept.
      const notBeforeMs = Math.max(shownMs + zeroFirstMs, steadyMs());
      if (!isOverflow) ended.add({ key, attributes, bytes, start, notBeforeMs });
    },
    collect: (now: Moment, table: SeriesTable<V>) => ended.collect(now, (key) => table.has(key)),
    unmarked: () => ended.unmarked,
  };
}

function ledgerOf<V>(
  { temporality, aggregation, retentionMs = Infinity, zeroFirstMs }: SeriesStreamOptions<V>,
  ofTable: LedgerOptions<V> & Pick<TotalsOptions<V>, 'onEnd'>,
  until: Map<string, Start>,
): SeriesLedger<V> {
  if (temporality === AggregationTemporality.DELTA) return new Differences(ofTable, until);
  return new Totals({ ...ofTable, canRestart: aggregation.isMonotonic, retentionMs, zeroFirstMs });
}

interface Holders<V> {
  readonly ledger: SeriesLedger<V>;
  readonly exemplars: SeriesExemplars<V> | undefined;
}

function handOver<V>(
  due: readonly Due<V>[],
  collectedAt: Moment,
  { descriptor, aggregation, temporality }: SeriesStreamOptions<V>,
  { ledger, exemplars }: Holders<V>,
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
  const exemplified = exemplars?.collect();
  const exemplarsOf = (one: Due<V> | undefined): readonly Exemplar[] =>
    one === undefined || one.isZero ? [] : (exemplified?.get(one.series) ?? []);
  return {
    pointCount: due.length,
    bytesOf(point) {
      const one = due[point];
      const bytes = pointBytes(one?.series.bytes ?? 0, aggregation.buckets);
      return exemplified === undefined ? bytes : bytes + exemplarsBytes(exemplarsOf(one));
    },
    slice: (from, to) => aggregation.metric(identity, due.slice(from, to).map(pointOf)),
    ...(exemplified && {
      exemplarsOf(point) {
        const one = due[point];
        if (one === undefined) return [];
        const { start } = one.series;
        const [fromMs, toMs] = [start.wallMs, endMs(start, collectedAt)];
        // If the clock was adjusted in between, an exemplar may lie outside the interval of its point.
        return exemplarsOf(one).filter(({ timeMs }) => timeMs >= fromMs && timeMs <= toMs);
      },
    }),
    acknowledge(from, to) {
      const arrived = due.slice(from, to);
      const seriesOf = (ones: readonly Due<V>[]) => ones.map(({ series }) => series);
      ledger.acknowledge(seriesOf(arrived), collectedAt);
      exemplars?.acknowledge(seriesOf(arrived.filter(({ isZero }) => !isZero)), exemplified);
    },
  };
}
