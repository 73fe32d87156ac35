/**
 * Keeps the series that have ended until their end has been exported: as a final point without a value (`NoRecordedValue`;
 * metrics data model, "No Recorded Value"), so that the series disappears from the backend at once. Callers decide when a series
 * ends.
 */
import type { Attributes, HrTime } from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import type { DataPoint, MetricData } from '@opentelemetry/sdk-metrics';
import { endMs, type Moment } from './interval.ts';
import { pointBytes } from './point-bytes.ts';

/** The final point of a series. */
export interface EndedPoint {
  /** A metric with this point alone: Collectors skip any points after it in the same metric. */
  readonly metric: MetricData;
  /** Upper bound of the metric’s size in a request. */
  readonly bytes: number;
  /** Call it once the point has arrived, or was given up. */
  arrived(): void;
}

/** What is kept about an ended series. */
export interface Ended {
  readonly key: string;
  readonly attributes: Attributes;
  /** Size of the attributes. */
  readonly bytes: number;
  /** Undefined for gauges, which have no start time. */
  readonly start: Moment | undefined;
  /**
   * The end is not exported before this time on the monotonic clock, because the backend must see the last value first.
   */
  readonly notBeforeMs: number;
}

export interface EndedSeriesOptions<V> {
  /** Returns a value without measurements, which gives the point its required shape. */
  readonly nothing: () => V;
  readonly metricOf: (points: DataPoint<V>[]) => MetricData;
  /** Maximum number of buckets in a point; 0 if points have none. */
  readonly buckets: number;
}

/**
 * How many ends are kept; the ends of further series are only counted. Without an end, the backend drops a series when
 * it becomes stale.
 */
const ENDED_MAX = 1000;
/** After this time Collectors have forgotten a series, so its end is no longer exported. */
export const FORGOTTEN_MS = 300_000;
const NO_TIME: HrTime = [0, 0];

export class EndedSeries<V> {
  readonly #options: EndedSeriesOptions<V>;
  readonly #ended = new Map<string, Ended>();
  #unmarked = 0;

  constructor(options: EndedSeriesOptions<V>) {
    this.#options = options;
  }

  /** How many series ended without an exported end, for lack of room or because no export succeeded in time. */
  get unmarked(): number {
    return this.#unmarked;
  }

  add(ended: Ended): void {
    if (this.#ended.size < ENDED_MAX || this.#ended.has(ended.key)) this.#ended.set(ended.key, ended);
    else this.#unmarked += 1;
  }

  /** The ends that can be exported now. @param isAlive whether a series with this key exists again */
  collect(now: Moment, isAlive: (key: string) => boolean): readonly EndedPoint[] {
    const points: EndedPoint[] = [];
    for (const [key, ended] of this.#ended) {
      const waitedMs = now.steadyMs - ended.notBeforeMs;
      const isLate = waitedMs > FORGOTTEN_MS;
      if (isLate && !isAlive(key)) this.#unmarked += 1;
      if (isLate || isAlive(key)) this.#ended.delete(key);
      else if (waitedMs >= 0) points.push(this.#pointOf(ended, now));
    }
    return points;
  }

  #pointOf(ended: Ended, now: Moment): EndedPoint {
    const { key, attributes, bytes, start } = ended;
    const { nothing, metricOf, buckets } = this.#options;
    const point = {
      attributes,
      startTime: start === undefined ? NO_TIME : millisToHrTime(start.wallMs),
      endTime: millisToHrTime(start === undefined ? now.wallMs : endMs(start, now)),
      value: nothing(),
    };
    return {
      metric: metricOf([point]),
      bytes: pointBytes(bytes, buckets),
      arrived: () => {
        if (this.#ended.get(key) === ended) this.#ended.delete(key);
      },
    };
  }
}
