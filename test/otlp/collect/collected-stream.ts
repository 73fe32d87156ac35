/** A stream of series with each aggregation, and what tests compare of what it collects. */
import { type Attributes, ValueType } from '@opentelemetry/api';
import { AggregationTemporality } from '@opentelemetry/sdk-metrics';
import { explicitBuckets } from '../../../src/otlp/aggregate/explicit-buckets.ts';
import { exponentialBuckets } from '../../../src/otlp/aggregate/exponential-buckets.ts';
import { MONOTONIC_SUM, UP_DOWN_SUM } from '../../../src/otlp/aggregate/sum.ts';
import type { CollectedMetric } from '../../../src/otlp/collect/collected-metric.ts';
import { createSeriesStream, type SeriesStreamOptions } from '../../../src/otlp/collect/series-stream.ts';
import { pointsOf, type ReadPoint, readTotals, whole } from './reading.ts';

type IsRetired = (attributes: Attributes) => boolean;

const NONE: IsRetired = () => false;

export type StreamOptions = Partial<Omit<SeriesStreamOptions<unknown>, 'aggregation'>>;

function streamOf<V>(options: StreamOptions & Pick<SeriesStreamOptions<V>, 'aggregation'>) {
  const stream = createSeriesStream<V>({
    descriptor: { name: 'm', description: '', unit: 's', valueType: ValueType.DOUBLE },
    temporality: AggregationTemporality.CUMULATIVE,
    limit: 2000,
    nowMs: () => 0,
    ...options,
  });
  let last: CollectedMetric | undefined;
  /** A collection for an export whose result is not known yet. */
  const attempt = (atMs = 0, isRetired: IsRetired = NONE, isLast = false): readonly ReadPoint[] => {
    last = stream.collect(atMs, isRetired, isLast);
    return pointsOf(whole(last));
  };
  /** These points of what was collected last have been exported; all of them by default. */
  const exported = (from = 0, to = last?.pointCount ?? 0): void => last?.acknowledge(from, to);
  return {
    measure: stream.measure,
    bind: stream.bind,
    bindExemplars: stream.bindExemplars,
    /** Attributes and exemplars of each point of the last attempt. */
    exemplars: () =>
      pointsOf(whole(last)).map(
        ({ attributes }, point) => [attributes, last?.exemplarsOf?.(point) ?? []] as const,
      ),
    tally: stream.tally,
    /** As it is handed over. */
    collected: () => stream.collect(0, NONE),
    attempt,
    exported,
    /** What is collected, and exported at once. */
    collect(atMs?: number, isRetired?: IsRetired): readonly ReadPoint[] {
      const collected = attempt(atMs, isRetired);
      exported();
      return collected;
    },
    /** Attributes and total of each point of an attempt. */
    attemptTotals(isRetired: IsRetired = NONE) {
      last = stream.collect(0, isRetired);
      return readTotals(whole(last));
    },
    /** Attributes and total of each point, which is exported at once. */
    read(isRetired: IsRetired = NONE) {
      last = stream.collect(0, isRetired);
      const totals = readTotals(whole(last));
      exported();
      return totals;
    },
  };
}

/** The same stream with each aggregation, since its behaviour must not depend on it. */
export const STREAMS = {
  counter: (options: StreamOptions = {}) => streamOf({ ...options, aggregation: MONOTONIC_SUM }),
  'up-down counter': (options: StreamOptions = {}) => streamOf({ ...options, aggregation: UP_DOWN_SUM }),
  histogram: (options: StreamOptions = {}) => streamOf({ ...options, aggregation: explicitBuckets([1, 2]) }),
  'exponential histogram': (options: StreamOptions = {}) =>
    streamOf({ ...options, aggregation: exponentialBuckets() }),
} as const;

/** The monotonic ones. */
export const KINDS_OF_STREAM = ['counter', 'histogram', 'exponential histogram'] as const;

export const OVERFLOW: Attributes = { 'otel.metric.overflow': true };

export function ofWorker(...workers: readonly string[]): IsRetired {
  return (attributes) => workers.includes(String(attributes['worker']));
}
