/** A meter of the real SDK whose metrics a test collects on demand. */
import type { TestContext } from 'node:test';
import type { Meter, ValueType } from '@opentelemetry/api';
import {
  type DataPoint,
  DataPointType,
  type Histogram,
  MeterProvider,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import { ManualReader } from '../otlp/collect/reading.ts';
import { temporalityOf } from '../otlp/collect/sdk-temporality.ts';

export interface Collected {
  readonly metric: string;
  readonly unit: string;
  readonly description: string;
  readonly valueType: ValueType;
  /** Of a sum; undefined otherwise. */
  readonly monotonic: boolean | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Of a histogram: how many measurements. */
  readonly value: number;
  readonly boundaries: readonly number[];
  readonly sum: number;
}

/** More than the limit of our own provider with a hundred services. */
const POINTS_MAX = 5000;

export function collectingMeter(t: TestContext): {
  meter: Meter;
  collect: () => Promise<readonly Collected[]>;
} {
  const reader = new ManualReader({
    selectTemporality: (kind) => temporalityOf(kind, 'cumulative'),
    limit: POINTS_MAX,
  });
  const provider = new MeterProvider({ readers: [reader] });
  t.after(() => provider.shutdown());
  return {
    meter: provider.getMeter('test'),
    async collect() {
      return (await reader.read()).flatMap((scope) => scope.metrics.flatMap(flatten));
    },
  };
}

function flatten(metric: MetricData): readonly Collected[] {
  const { name, unit, description, valueType } = metric.descriptor;
  const monotonic = metric.dataPointType === DataPointType.SUM ? metric.isMonotonic : undefined;
  const common = { metric: name, unit, description, valueType, monotonic };
  switch (metric.dataPointType) {
    case DataPointType.HISTOGRAM:
      return metric.dataPoints.map((point) => ({ ...common, ...ofHistogram(point) }));
    case DataPointType.SUM:
    case DataPointType.GAUGE:
      return metric.dataPoints.map(({ attributes, value }) => ({
        ...common,
        attributes,
        value,
        boundaries: [],
        sum: 0,
      }));
    case DataPointType.EXPONENTIAL_HISTOGRAM:
      throw new Error('no test makes one');
  }
}

function ofHistogram({
  attributes,
  value,
}: DataPoint<Histogram>): Pick<Collected, 'attributes' | 'value' | 'boundaries' | 'sum'> {
  return { attributes, value: value.count, boundaries: value.buckets.boundaries, sum: value.sum ?? 0 };
}
