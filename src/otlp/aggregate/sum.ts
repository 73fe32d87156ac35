/**
 * What counters aggregate, those that only grow and those that also fall: one sum for each series. Which series there are,
 * and from when, is not known here.
 */
import { DataPointType } from '@opentelemetry/sdk-metrics';
import type { Accumulation, Aggregation } from './aggregation.ts';

export const MONOTONIC_SUM: Aggregation<number> = {
  instrument: 'counter',
  buckets: 0,
  begin: () => new Sum(),
  metric: (stream, dataPoints) => ({
    ...stream,
    dataPointType: DataPointType.SUM,
    isMonotonic: true,
    dataPoints,
  }),
};

export const UP_DOWN_SUM: Aggregation<number> = {
  instrument: 'up-down counter',
  buckets: 0,
  begin: () => new Sum(),
  metric: (stream, dataPoints) => ({
    ...stream,
    dataPointType: DataPointType.SUM,
    isMonotonic: false,
    dataPoints,
  }),
};

class Sum implements Accumulation<number> {
  #sum = 0;

  measure(value: number): void {
    this.#sum += value;
  }

  value(): number {
    return this.#sum;
  }

  absorb(value: number): void {
    this.#sum += value;
  }
}
