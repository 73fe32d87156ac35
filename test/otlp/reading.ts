/** Readers of the real SDK that a test collects when it wants to, and the points they read. */
import type { Attributes } from '@opentelemetry/api';
import { hrTimeToMilliseconds } from '@opentelemetry/core';
import {
  type AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type InstrumentType,
  type MetricData,
  type MetricProducer,
  MetricReader,
  type ScopeMetrics,
} from '@opentelemetry/sdk-metrics';

export interface ReadingOptions {
  readonly selectTemporality: (instrument: InstrumentType) => AggregationTemporality;
  readonly limit?: number;
  readonly producers?: readonly MetricProducer[];
}

export class ManualReader extends MetricReader {
  constructor({ selectTemporality, limit = 2000, producers = [] }: ReadingOptions) {
    super({
      aggregationTemporalitySelector: selectTemporality,
      cardinalitySelector: () => limit,
      metricProducers: [...producers],
    });
  }

  async read(): Promise<readonly ScopeMetrics[]> {
    const { resourceMetrics, errors } = await this.collect();
    if (errors.length > 0) throw new AggregateError(errors);
    return resourceMetrics.scopeMetrics;
  }

  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** @throws on any other metric than a sum */
export function sumPoints(metric: MetricData | undefined): readonly DataPoint<number>[] {
  if (metric === undefined) return [];
  if (metric.dataPointType !== DataPointType.SUM) throw new Error(`${metric.descriptor.name} is no sum`);
  return metric.dataPoints;
}

/** @throws on any other metric than a histogram */
export function histogramPoints(metric: MetricData | undefined): readonly DataPoint<Histogram>[] {
  if (metric === undefined) return [];
  if (metric.dataPointType !== DataPointType.HISTOGRAM)
    throw new Error(`${metric.descriptor.name} is no histogram`);
  return metric.dataPoints;
}

export interface Total {
  readonly attributes: Attributes;
  readonly total: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** The points of either instrument, with the sum of what was measured. @throws on any other metric */
export function totals(metric: MetricData | undefined): readonly Total[] {
  const times = (point: { readonly startTime: [number, number]; readonly endTime: [number, number] }) => ({
    startMs: hrTimeToMilliseconds(point.startTime),
    endMs: hrTimeToMilliseconds(point.endTime),
  });
  return metric?.dataPointType === DataPointType.HISTOGRAM
    ? histogramPoints(metric).map((point) => ({
        attributes: point.attributes,
        total: point.value.sum ?? Number.NaN,
        ...times(point),
      }))
    : sumPoints(metric).map((point) => ({
        attributes: point.attributes,
        total: point.value,
        ...times(point),
      }));
}
