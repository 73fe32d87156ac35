/**
 * The stream of an instrument that adds up: what is measured becomes series, and those the points of a collection. It makes
 * what the SDK makes of the same measurements, in a fraction of the time. It does not know what is aggregated of a series,
 * never exports and never reads a clock of its own.
 */
import { type Attributes, diag, ValueType } from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import { AggregationTemporality, type DataPoint, type MetricDescriptor } from '@opentelemetry/sdk-metrics';
import type { Aggregation } from '../aggregate/aggregation.ts';
import type { CollectedMetric, Stream } from './collected-metric.ts';
import { pointBytes } from './point-bytes.ts';
import type { Due } from './series.ts';
import { NO_ATTRIBUTES } from './series-attributes.ts';
import { Differences, type SeriesLedger, Totals } from './series-ledger.ts';
import { SeriesTable } from './series-table.ts';

export interface SeriesStreamOptions<V> {
  readonly descriptor: MetricDescriptor;
  readonly aggregation: Aggregation<V>;
  readonly temporality: AggregationTemporality;
  /** Points at most, the one of the overflow included. */
  readonly limit: number;
  /** Whether an attribute tells series apart; undefined: all do. */
  readonly keeps?: ((key: string) => boolean) | undefined;
  /** Asked once for each new series. */
  readonly nowMs: () => number;
}

export interface SeriesStream extends Stream {
  measure(value: number, attributes?: Attributes): void;
}

export function createSeriesStream<V>(options: SeriesStreamOptions<V>): SeriesStream {
  const { descriptor, aggregation, limit, keeps, nowMs } = options;
  const { begin } = aggregation;
  const until = new Map<string, number>();
  const startMs = (key: string): number => until.get(key) ?? nowMs();
  const table = new SeriesTable<V>({ limit, keeps, begin, startMs });
  const isDelta = options.temporality === AggregationTemporality.DELTA;
  const ledger = isDelta ? new Differences(table, begin, until) : new Totals(table);
  let live = 0;
  let overflowed = 0;
  return {
    measure(value, attributes = NO_ATTRIBUTES) {
      const measured = measurementOf(value, aggregation.instrument, descriptor);
      if (measured === undefined) return;
      const series = table.of(attributes);
      if (!series.hasNews) series.collected?.keep();
      series.hasNews = true;
      series.accumulation.measure(measured);
      if (series.isOverflow) overflowed += 1;
    },
    collect(collectedAtMs, isRetired) {
      const due = ledger.collect(isRetired);
      live = due.length;
      return due.length === 0 ? undefined : handOver(due, collectedAtMs, options, ledger);
    },
    tally: () => ({ live, retired: ledger.retired(), overflowed }),
  };
}

function handOver<V>(
  due: readonly Due<V>[],
  collectedAtMs: number,
  { descriptor, aggregation, temporality }: SeriesStreamOptions<V>,
  ledger: SeriesLedger<V>,
): CollectedMetric {
  const identity = { descriptor, aggregationTemporality: temporality };
  const endTime = millisToHrTime(collectedAtMs);
  const pointOf = (one: Due<V>): DataPoint<V> => {
    const { attributes, startMs } = one.series;
    const startTime = millisToHrTime(startMs);
    // The clock may have been set back since.
    return {
      attributes,
      startTime,
      endTime: collectedAtMs < startMs ? startTime : endTime,
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
        collectedAtMs,
      ),
  };
}

/**
 * What counts of a value: nothing of a negative one, as in the SDK, and nothing of NaN or Infinity, of which the SDK makes
 * sums that stay so for ever.
 */
function measurementOf(
  value: number,
  instrument: Aggregation<unknown>['instrument'],
  { name, valueType }: MetricDescriptor,
): number | undefined {
  if (value < 0 && instrument !== 'up-down counter') {
    diag.warn(`negative value provided to ${instrument} ${name}: ${value}`);
    return undefined;
  }
  if (!Number.isFinite(value)) return undefined;
  if (valueType !== ValueType.INT || Number.isInteger(value)) return value;
  diag.warn(
    `INT value type cannot accept a floating-point value for ${name}, ignoring the fractional digits.`,
  );
  return Math.trunc(value);
}
