/** A fake collected metric, which remembers which of its points have been exported. */
import { ValueType } from '@opentelemetry/api';
import { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics';
import type { CollectedMetric } from '../../src/otlp/collect/collected-metric.ts';

export interface FakeMetric extends CollectedMetric {
  /** Which points have been exported, one by one. */
  readonly settled: readonly number[];
}

/** Of which each point is known by the metric’s name and its number. */
export function fakeMetric(
  name: string,
  points: number,
  bytesOf: (point: number) => number = () => 1,
): FakeMetric {
  const settled: number[] = [];
  return {
    settled,
    pointCount: points,
    bytesOf,
    slice: (from, to) => ({
      descriptor: { name, description: `What ${name} is.`, unit: 's', valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPointType: DataPointType.GAUGE,
      dataPoints: Array.from({ length: to - from }, (_, index) => ({
        attributes: { point: from + index },
        startTime: [0, 0],
        endTime: [0, 0],
        value: from + index,
      })),
    }),
    acknowledge(from, to) {
      for (let point = from; point < to; point += 1) settled.push(point);
    },
  };
}
