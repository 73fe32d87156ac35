/** A MeterProvider of the plain SDK, as in an application that attaches the bridge; a test collects it on demand. */
import type { Attributes } from '@opentelemetry/api';
import {
  AggregationTemporality,
  DataPointType,
  type InstrumentType,
  MeterProvider,
  type MetricData,
  MetricReader,
  type ViewOptions,
} from '@opentelemetry/sdk-metrics';

export interface PlainSdkOptions {
  /** By default everything is cumulative, as it is with the SDK’s exporters. */
  readonly temporality?: (instrument: InstrumentType) => AggregationTemporality;
  readonly views?: readonly ViewOptions[];
  /** Of the series of each instrument, where no view says otherwise. */
  readonly limit?: number;
}

export interface PlainPoint {
  readonly scope: string;
  readonly metric: string;
  readonly attributes: Attributes;
  /** Of a histogram: how many measurements. */
  readonly value: number;
}

export interface PlainSdk {
  readonly provider: MeterProvider;
  /** The content of an export. */
  collect(): Promise<readonly PlainPoint[]>;
  /** Of callbacks, in all collections. */
  readonly failures: readonly unknown[];
}

export function plainSdk(options: PlainSdkOptions = {}): PlainSdk {
  const { temporality = () => AggregationTemporality.CUMULATIVE, views = [], limit = 2000 } = options;
  const reader = new Reader({
    aggregationTemporalitySelector: temporality,
    cardinalitySelector: () => limit,
  });
  const failures: unknown[] = [];
  return {
    provider: new MeterProvider({ readers: [reader], views: [...views] }),
    failures,
    async collect() {
      const { resourceMetrics, errors } = await reader.collect();
      failures.push(...errors);
      return resourceMetrics.scopeMetrics.flatMap(({ scope, metrics }) =>
        metrics.flatMap((metric) => pointsOf(scope.name, metric)),
      );
    },
  };
}

/** The sum of a metric’s points that have these attributes. */
export function sumOf(points: readonly PlainPoint[], metric: string, attributes: Attributes = {}): number {
  return points
    .filter((point) => point.metric === metric)
    .filter((point) => Object.entries(attributes).every(([key, value]) => point.attributes[key] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

/** The values that an attribute has on the points of a metric, sorted; of a point without it `-`. */
export function valuesOf(points: readonly PlainPoint[], metric: string, key: string): readonly string[] {
  return points
    .filter((point) => point.metric === metric)
    .map(({ attributes }) => String(attributes[key] ?? '-'))
    .sort();
}

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

function pointsOf(scope: string, metric: MetricData): readonly PlainPoint[] {
  const { name } = metric.descriptor;
  switch (metric.dataPointType) {
    case DataPointType.SUM:
    case DataPointType.GAUGE:
      return metric.dataPoints.map(({ attributes, value }) => ({ scope, metric: name, attributes, value }));
    case DataPointType.HISTOGRAM:
    case DataPointType.EXPONENTIAL_HISTOGRAM:
      return metric.dataPoints.map(({ attributes, value }) => {
        return { scope, metric: name, attributes, value: value.count };
      });
  }
}
