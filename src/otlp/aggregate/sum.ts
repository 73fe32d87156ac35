/** The sum aggregation, for counters and up-down counters. It knows nothing about series or times. */
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
 * Caps the sum after a merge at its bound. A single measurement that would exceed the bound is refused instead, so that
 * later ones still count; but a merged value has already been counted.
 * @param max the largest absolute value of the sum
 */
export function cutOff(sum: number, max: number): number {
  return Math.max(-max, Math.min(sum, max));
}
