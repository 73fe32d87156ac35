/**
 * What counters aggregate, those that only grow and those that also fall: one sum for each series. Which series there are,
 * and from when, is not known here.
 */
import { DataPointType } from '@opentelemetry/sdk-metrics';
import type { Accumulation, Aggregation } from './aggregation.ts';

export const MONOTONIC_SUM = sumOf('counter', true);

export const UP_DOWN_SUM = sumOf('up-down counter', false);

function sumOf(instrument: Aggregation<number>['instrument'], isMonotonic: boolean): Aggregation<number> {
  return {
    instrument,
    buckets: 0,
    begin: () => new Sum(),
    metric: (stream, dataPoints) => ({
      ...stream,
      dataPointType: DataPointType.SUM,
      isMonotonic,
      dataPoints,
    }),
  };
}

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
