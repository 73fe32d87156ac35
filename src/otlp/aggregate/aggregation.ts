/** How what is measured of one series becomes the value of its point, and points a metric. Types only. */
import type {
  AggregationTemporality,
  DataPoint,
  MetricData,
  MetricDescriptor,
} from '@opentelemetry/sdk-metrics';

/** What has been measured of one series; each measurement is a finite number, not negative but in an up-down counter. */
export interface Accumulation<V> {
  /** @returns false if the sum would be beyond its bound, and nothing of it was taken */
  measure(value: number): boolean;
  /** As it is now: what is measured while it is exported is in the next one. */
  value(): V;
  /**
   * Takes back what could not be exported: as if all that is in the value had been measured here.
   * @param value of an accumulation that the same aggregation began; it stays as it is
   * @returns false if the sum would be beyond its bound, and was cut off there
   */
  absorb(value: V): boolean;
}

export interface Aggregation<V> {
  /** What an instrument with it is called in warnings. */
  readonly instrument: 'counter' | 'up-down counter' | 'histogram';
  /** Of a point, at most; 0 of one that has none. */
  readonly buckets: number;
  /**
   * Nothing measured yet.
   * @param max how far from 0 a sum may be; by default, whatever a double can be
   */
  begin(max?: number): Accumulation<V>;
  metric(stream: StreamIdentity, dataPoints: DataPoint<V>[]): MetricData;
}

/** What every export of a stream says of it. */
export interface StreamIdentity {
  readonly descriptor: MetricDescriptor;
  readonly aggregationTemporality: AggregationTemporality;
}
