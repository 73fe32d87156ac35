/**
 * What a stream hands over at a collection: points that can be sent in pieces, and that hear when they have arrived.
 * Types only.
 */
import type { Attributes } from '@opentelemetry/api';
import type { MetricData } from '@opentelemetry/sdk-metrics';

export interface CollectedMetric {
  /** At least 1. */
  readonly points: number;
  /** Of one point in a request, at most, in whatever encoding. */
  bytesOf(point: number): number;
  /** The metric with the points from `from` up to, and without, `to`; as it was collected, whenever it is asked for. */
  slice(from: number, to: number): MetricData;
  /** These points have been exported: the next collection need not carry them again. */
  exported(from: number, to: number): void;
}

/** Of one stream, since it began, but for `live`. */
export interface SeriesTally {
  /** Points at the last collection. */
  readonly live: number;
  /** Series that ended: their worker is forgotten, or they were idle and others had no place. */
  readonly retired: number;
  /** Measurements that had no place of their own. */
  readonly overflowed: number;
  /** Measurements that were no number a point could have, or were more than one can hold with all before them. */
  readonly refused: number;
}

/** Measurements of a stream had no place of their own since its last collection. */
export interface Overflow {
  /** Its name, as it is exported. */
  readonly metric: string;
  readonly limit: number;
  /** Of this stream since it began. */
  readonly isFirst: boolean;
}

export interface Stream {
  /** As it is exported. */
  readonly metric: string;
  /** Points at most, the one of the overflow included. */
  readonly limit: number;
  /**
   * What there is to export; undefined where there is nothing.
   * @param isRetired which series are to end once they are exported. That of the overflow never ends.
   */
  collect(collectedAtMs: number, isRetired: (attributes: Attributes) => boolean): CollectedMetric | undefined;
  tally(): SeriesTally;
}
