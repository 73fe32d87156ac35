/**
 * The points that a stream returns from a collection. They may be sent in several requests, and are acknowledged when
 * they have arrived. Types only.
 */
import type { Attributes } from '@opentelemetry/api';
import type { MetricData } from '@opentelemetry/sdk-metrics';
import type { SeriesReading } from '../../meter/self-readings.ts';
import type { Exemplar } from '../aggregate/reservoir.ts';
import type { EndedPoint } from './ended-series.ts';

export interface CollectedMetric {
  /** How many points the metric has, at least 1. */
  readonly pointCount: number;
  /** Upper bound on the size of a point in a request, in any encoding. */
  bytesOf(point: number): number;
  /** The metric with the points from `from` to `to` (exclusive), as collected. */
  slice(from: number, to: number): MetricData;
  /** The exemplars of a point; absent if no point of the metric has any. */
  exemplarsOf?(point: number): readonly Exemplar[];
  /** Acknowledges that these points have arrived. */
  acknowledge(from: number, to: number): void;
}

/** How many series one stream, or several, have. */
export type SeriesTally = Omit<SeriesReading, 'service'>;

/** Reports that a stream has sent measurements to its overflow series since the last collection. */
export interface Overflow {
  /** The exported name of the stream. */
  readonly metric: string;
  readonly limit: number;
  /** Whether it is the first overflow of this stream. */
  readonly isFirst: boolean;
}

export interface Stream {
  /** The exported name of the stream. */
  readonly metric: string;
  /** The cardinality limit, the overflow point included. */
  readonly limit: number;
  /**
   * @param isRetired selects the series that end once they have been exported. The overflow series never ends.
   * @param isLast whether no further collection is planned, so that no value is held back
   * @returns undefined if there is nothing to export
   */
  collect(
    collectedAtMs: number,
    isRetired: (attributes: Attributes) => boolean,
    isLast?: boolean,
  ): CollectedMetric | undefined;
  /** The final points of series that have ended. Called after `collect`. */
  collectEnded(collectedAtMs: number): readonly EndedPoint[];
  tally(): SeriesTally;
}
