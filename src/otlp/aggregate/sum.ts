/**
 * The sum aggregation, of counters and up-down counters. It knows nothing about series or times.
 */
import { DataPointType } from '@opentelemetry/sdk-metrics';
import type { Accumulation, Aggregation } from './aggregation.ts';
import { Reservoir } from './reservoir.ts';

export const MONOTONIC_SUM = sumOf(true);

export const UP_DOWN_SUM = sumOf(false);

function sumOf(isMonotonic: boolean): Aggregation<number> {
  return {
    isMonotonic,
    buckets: 0,
    beginExemplars: () => new Reservoir(),
    begin: (max = Number.MAX_VALUE) => new Sum(max),
    metric: (stream, dataPoints) => ({
      ...stream,
      dataPointType: DataPointType.SUM,
      isMonotonic,
      dataPoints,
    }),
  };
}

class Sum implements Accumulation<number> {
  readonly #max: number;
  #sum = 0;

  constructor(max: number) {
    this.#max = max;
  }

  measure(value: number): boolean {
    const sum = this.#sum + value;
    if (sum > this.#max || sum < -this.#max) return false;
    this.#sum = sum;
    return true;
  }

  value(): number {
    return this.#sum;
  }

  absorb(value: number): boolean {
    const sum = this.#sum + value;
    this.#sum = cutOff(sum, this.#max);
    return this.#sum === sum;
  }
}

/**
 * A measurement that would exceed the bound of a sum is refused, so that later ones still count. A merged value was counted
 * before, so its sum is cut off at the bound.
 * @param max its largest absolute value
 */
export function cutOff(sum: number, max: number): number {
  return Math.max(-max, Math.min(sum, max));
}
