/**
 * What a stream returns at a collection: points that can be sent in several requests and acknowledged. Types only.
 */
import type { Attributes } from '@opentelemetry/api';
import type { MetricData } from '@opentelemetry/sdk-metrics';
import type { SeriesReading } from '../../meter/self-readings.ts';
import type { Exemplar } from '../aggregate/reservoir.ts';
import type { EndedPoint } from './ended-series.ts';

export interface CollectedMetric {
  /** At least 1. */
  readonly points: number;
  /** Upper bound of a point’s size in a request, in any encoding. */
  bytesOf(point: number): number;
  /** The metric with the points from `from` to `to` (exclusive), as collected. */
  slice(from: number, to: number): MetricData;
  /** Of a point; by default none. */
  exemplarsOf?(point: number): readonly Exemplar[];
  /** Acknowledges that these points have arrived. */
  exported(from: number, to: number): void;
}

/** Of one stream or of several. */
export type SeriesTally = Omit<SeriesReading, 'service'>;

/** Measurements of a stream that went to its overflow series since the last collection. */
export interface Overflow {
  /** Its exported name. */
  readonly metric: string;
  readonly limit: number;
  /** Total of this stream since it began. */
  readonly isFirst: boolean;
}

export interface Stream {
  /** Its exported name. */
  readonly metric: string;
  /** The cardinality limit, the overflow point included. */
  readonly limit: number;
  /**
   * Undefined if there is nothing to export.
   * @param isRetired which series end once they have been exported. The overflow series never ends.
   * @param isLast whether no other collection is meant to follow: no value is held back
   */
  collect(
    collectedAtMs: number,
    isRetired: (attributes: Attributes) => boolean,
    isLast?: boolean,
  ): CollectedMetric | undefined;
  /** The last points of series that have ended; after `collect`. */
  collectEnded(collectedAtMs: number): readonly EndedPoint[];
  tally(): SeriesTally;
}
