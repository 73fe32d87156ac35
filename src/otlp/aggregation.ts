/** How what is measured of one series becomes the value of its point, and points a metric. Types only. */
import type {
  AggregationTemporality,
  DataPoint,
  MetricData,
  MetricDescriptor,
} from '@opentelemetry/sdk-metrics';

/** What has been measured of one series; each measurement is a finite number, not negative. */
export interface Accumulation<V> {
  measure(value: number): void;
  /** As it is now: what is measured while it is exported is in the next one. */
  value(): V;
}

export interface Aggregation<V> {
  /** What an instrument with it is called in warnings. */
  readonly instrument: 'counter' | 'histogram';
  /** Nothing measured yet. */
  begin(): Accumulation<V>;
  metric(stream: StreamIdentity, dataPoints: DataPoint<V>[]): MetricData;
}

/** What every export of a stream says of it. */
export interface StreamIdentity {
  readonly descriptor: MetricDescriptor;
  readonly aggregationTemporality: AggregationTemporality;
}
