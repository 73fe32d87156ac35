/**
 * Series that have ended, until that was reported: each has one more point, without a value (`NoRecordedValue`; metrics
 * data model, "No Recorded Value"), so that it is gone there at once. It decides nothing about when series end.
 */
import type { Attributes, HrTime } from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import type { DataPoint, MetricData } from '@opentelemetry/sdk-metrics';
import { endMs, type Moment } from './interval.ts';
import { pointBytes } from './point-bytes.ts';

/** The last point of a series. */
export interface EndedPoint {
  /** With this point alone: Collectors skip what is after it in the same metric. */
  readonly metric: MetricData;
  /** Upper bound of its size in a request. */
  readonly bytes: number;
  /** To be called once it has arrived, or is given up. */
  arrived(): void;
}

/** What is kept of one. */
export interface Ended {
  readonly key: string;
  readonly attributes: Attributes;
  /** Of the attributes. */
  readonly bytes: number;
  /** Undefined for gauges, which have none. */
  readonly start: Moment | undefined;
  /** Its last value has to be seen first: no earlier than this, in ms of the monotonic clock. */
  readonly notBeforeMs: number;
}

export interface EndedSeriesOptions<V> {
  /** A value without measurements, for the shape of the point. */
  readonly nothing: () => V;
  readonly metricOf: (points: DataPoint<V>[]) => MetricData;
  /** Buckets of a point, at most; 0 if it has none. */
  readonly buckets: number;
}

/** Further ones disappear when the backend forgets them; they are counted. */
const ENDED_MAX = 1000;
/** By then, Collectors have forgotten them. */
export const FORGOTTEN_MS = 300_000;
const NO_TIME: HrTime = [0, 0];

export class EndedSeries<V> {
  readonly #options: EndedSeriesOptions<V>;
  readonly #ended = new Map<string, Ended>();
  #unmarked = 0;

  constructor(options: EndedSeriesOptions<V>) {
    this.#options = options;
  }

  /** Series whose end was not reported: there was no room, or no export took it in time. */
  get unmarked(): number {
    return this.#unmarked;
  }

  add(ended: Ended): void {
    if (this.#ended.size < ENDED_MAX || this.#ended.has(ended.key)) this.#ended.set(ended.key, ended);
    else this.#unmarked += 1;
  }

  /** Those that can be reported now. @param isAlive whether a series with that key is there again */
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
