/**
 * The interfaces of aggregation: how the measurements of a series become the value of a point, and points become a
 * metric. Types only.
 */
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
  /** The current value, as a copy: later measurements do not change it. */
  value(): V;
  /**
   * Merges a value that could not be exported. The result is the same as if it had been measured here.
   * @param value from an accumulation of the same aggregation; it is not changed
   * @returns false if the sum exceeded its bound and was capped
   */
  absorb(value: V): boolean;
}

export interface Aggregation<V> {
  /** Whether the sum never decreases, so that a series may restart at 0. */
  readonly isMonotonic: boolean;
  /** Maximum number of buckets in a point; 0 if points have none. */
  readonly buckets: number;
  /**
   * Creates an empty accumulation.
   * @param max the largest absolute value of the sum; default: that of a double
   */
  begin(max?: number): Accumulation<V>;
  /** Creates a reservoir for the exemplars of one series. */
  beginExemplars(): Reservoir;
  metric(stream: StreamIdentity, dataPoints: DataPoint<V>[]): MetricData;
}

/** The part that all exported metrics of a stream share. */
export interface StreamIdentity {
  readonly descriptor: MetricDescriptor;
  readonly aggregationTemporality: AggregationTemporality;
}
