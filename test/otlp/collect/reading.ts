/**
 * Collected metrics in a comparable form: of our streams, whose metrics come in pieces, and of the real SDK, with a
 * reader that collects on demand.
 */
import type { Attributes } from '@opentelemetry/api';
import { hrTimeToMilliseconds } from '@opentelemetry/core';
import {
  type AggregationTemporality,
  type DataPoint,
  DataPointType,
  type InstrumentType,
  type MetricData,
  MetricReader,
  type ScopeMetrics,
} from '@opentelemetry/sdk-metrics';
import type { CollectedMetric } from '../../../src/otlp/collect/collected-metric.ts';
import type { CollectedScope } from '../../../src/otlp/collect/scope-streams.ts';

export interface ReadingOptions {
  readonly selectTemporality: (instrument: InstrumentType) => AggregationTemporality;
  readonly limit?: number;
}

export class ManualReader extends MetricReader {
  constructor({ selectTemporality, limit = 2000 }: ReadingOptions) {
    super({ aggregationTemporalitySelector: selectTemporality, cardinalitySelector: () => limit });
  }

  async read(): Promise<readonly ScopeMetrics[]> {
    const { resourceMetrics, errors } = await this.collect();
    if (errors.length > 0) throw new AggregateError(errors);
    return resourceMetrics.scopeMetrics;
  }

  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

export interface ReadPoint {
  readonly attributes: Attributes;
  /** Of a histogram, the sum of what was measured. */
  readonly total: number;
  readonly startMs: number;
  readonly endMs: number;
}

export function pointsOf(metric: MetricData | undefined): readonly ReadPoint[] {
  switch (metric?.dataPointType) {
    case undefined:
      return [];
    case DataPointType.SUM:
    case DataPointType.GAUGE:
      return metric.dataPoints.map((point) => readPoint(point, point.value));
    case DataPointType.HISTOGRAM:
    case DataPointType.EXPONENTIAL_HISTOGRAM:
      return metric.dataPoints.map((point) => readPoint(point, point.value.sum ?? Number.NaN));
  }
}

function readPoint(
  { attributes, startTime, endTime }: Pick<DataPoint<unknown>, 'attributes' | 'startTime' | 'endTime'>,
  total: number,
): ReadPoint {
  return {
    attributes,
    total,
    startMs: hrTimeToMilliseconds(startTime),
    endMs: hrTimeToMilliseconds(endTime),
  };
}

/** Attributes and total of each point. */
export function readTotals(metric: MetricData | undefined): readonly (readonly [Attributes, number])[] {
  return pointsOf(metric).map(({ attributes, total }) => [attributes, total]);
}

/** The metric in one piece. */
export function whole(metric: CollectedMetric | undefined): MetricData | undefined {
  return metric?.slice(0, metric.pointCount);
}

/** As the SDK’s reader would hand it over. */
export function wholeScopes(scopes: readonly CollectedScope[]): readonly ScopeMetrics[] {
  return scopes.map(({ scope, metrics }) => ({
    scope,
    metrics: metrics.map((metric) => metric.slice(0, metric.pointCount)),
  }));
}
