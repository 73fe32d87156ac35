/** How the measurements of one series become the value of its point, and how points become a metric. Types only. */
import type {
  AggregationTemporality,
  DataPoint,
  MetricData,
  MetricDescriptor,
} from '@opentelemetry/sdk-metrics';
import type { Reservoir } from './reservoir.ts';

/** The accumulation of one series. Measurements are finite, and negative only in up-down counters. */
export interface Accumulation<V> {
  /** @returns false if the sum would exceed its bound; the measurement is then refused */
  measure(value: number): boolean;
  /** A copy: later measurements do not change it. */
  value(): V;
  /**
   * Merges a value that could not be exported, as if it had been measured here.
   * @param value from an accumulation of the same aggregation; it is not changed
   * @returns false if the sum would exceed its bound, and was cut off there
   */
  absorb(value: V): boolean;
}

export interface Aggregation<V> {
  /** Whether its sum never falls, so that it may restart at 0. */
  readonly isMonotonic: boolean;
  /** Buckets of a point, at most; 0 if it has none. */
  readonly buckets: number;
  /**
   * An empty accumulation.
   * @param max the largest absolute value of a sum; by default that of a double
   */
  begin(max?: number): Accumulation<V>;
  /** For the exemplars of a series. */
  beginExemplars(): Reservoir;
  metric(stream: StreamIdentity, dataPoints: DataPoint<V>[]): MetricData;
}

/** What each exported metric of a stream has in common. */
export interface StreamIdentity {
  readonly descriptor: MetricDescriptor;
  readonly aggregationTemporality: AggregationTemporality;
}
