/**
 * The stream of an observable gauge. Each collection exports the series that were observed for it, and no others. If a view or
 * the cardinality limit merges several observations into one point, they are combined, never overwritten. Between collections
 * it keeps only the list of series that had a point.
 *
 * The SDK never forgets a series: with cumulative temporality it exports the last value for ever (opentelemetry-js #4096), and
 * once the limit is reached, all new attribute sets overflow (`DeltaMetricProcessor`, `_cumulativeMemoStorage`).
 */
import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type MetricData,
  type MetricDescriptor,
} from '@opentelemetry/sdk-metrics';
import type { HasEnded } from '../../meter/bindable.ts';
import type { CollectedMetric, Stream } from './collected-metric.ts';
import { type Gone, MissingGauges, OVERFLOWING } from './missing-gauges.ts';
import { attributesBytes, pointBytes } from './point-bytes.ts';
import { frozen, keptAttributes, keyOf, OVERFLOW, OVERFLOW_KEY } from './series-attributes.ts';
import type { StreamPlan } from './stream-plan.ts';
import { maxOf } from './value-range.ts';

/**
 * How merged observations become one value. `max in order` is `max`, but at the limit the series that are observed first get a
 * point, whichever had one before.
 */
export type GaugeCombination = 'sum' | 'min' | 'max' | 'max in order';

export interface GaugeStreamOptions extends Omit<StreamPlan, 'aggregation'> {
  readonly combination: GaugeCombination;
  /** A monotonic clock; default: that of the process. */
  readonly steadyMs?: (() => number) | undefined;
}

export interface GaugeStream extends Stream {
  /** Records a value for the next collection. @param ageMs how old the value is at the collection; default: 0 */
  observe(value: number, attributes: Attributes, ageMs?: number): void;
  /**
   * Sets which series without a point have ended, for the next collection; others may return. By default, none has
   * ended.
   */
  end(hasEnded: HasEnded): void;
}

/** A gauge has no start time: the field is 0. */
const NO_TIME: HrTime = [0, 0];

/** One series. It is kept as long as it has a point of its own in every collection. */
class Reading {
  readonly attributes: Attributes;
  /** Size of the attributes in a request. */
  readonly bytes: number;
  /** Whether it has the attributes of the overflow series, and so never a point of its own. */
  readonly isOverflow: boolean;
  value = 0;
  /** Age of the newest observation. */
  ageMs = 0;
  /** Number of observations since the last collection. */
  observations = 0;
  /** Whether one of the limited points is reserved for it. */
  hasPlace = false;
  /** Whether it had a point of its own in the last collection. */
  wasShown = false;

  constructor(key: string, kept: Attributes) {
    this.attributes = frozen(kept);
    this.bytes = attributesBytes(kept);
    this.isOverflow = key === OVERFLOW_KEY;
  }
}

/** The series with a point of their own, and as many new ones as may get one. All others are merged into the overflow series. */
class Readings {
  readonly #byKey = new Map<string, Reading>();
  readonly #newcomersMax: number;
  #newcomers = 0;

  constructor(newcomersMax: number) {
    this.#newcomersMax = newcomersMax;
  }

  find(key: string, kept: Attributes): Reading {
    const isFull = this.#newcomers >= this.#newcomersMax;
    const known = this.#byKey.get(key) ?? (isFull ? this.#byKey.get(OVERFLOW_KEY) : undefined);
    if (known !== undefined) return known;
    const reading = isFull ? new Reading(OVERFLOW_KEY, OVERFLOW) : new Reading(key, kept);
    this.#byKey.set(isFull ? OVERFLOW_KEY : key, reading);
    this.#newcomers += 1;
    return reading;
  }

  /** Whether the series had a point of its own in the last collection. */
  isShown(key: string): boolean {
    return this.#byKey.get(key)?.wasShown === true;
  }

  /**
   * Forgets the series without a point of their own in this collection.
   * @param keepPlaces whether the others keep their points in the next collection
   * @returns the series that had a point in the last collection and have none now
   */
  forgetAbsent(keepPlaces: boolean): readonly Gone[] {
    const gone: Gone[] = [];
    for (const [key, reading] of this.#byKey) {
      const isShown = reading.observations > 0 && reading.hasPlace;
      const { attributes, bytes, wasShown } = reading;
      if (wasShown && !isShown) gone.push({ key, attributes, bytes });
      if (!isShown) this.#byKey.delete(key);
      reading.wasShown = isShown;
      reading.observations = 0;
      reading.hasPlace &&= keepPlaces;
    }
    this.#newcomers = 0;
    return gone;
  }
}

function combined(combination: GaugeCombination, one: number, other: number): number {
  switch (combination) {
    case 'sum':
      return one + other;
    case 'min':
      return Math.min(one, other);
    case 'max':
    case 'max in order':
      return Math.max(one, other);
  }
}

export function createGaugeStream(options: GaugeStreamOptions): GaugeStream {
  const { descriptor, combination, limit, keeps, steadyMs = () => performance.now() } = options;
  const max = maxOf(descriptor);
  const isInt = descriptor.valueType === ValueType.INT;
  const readings = new Readings(limit);
  const pointsOf = (points: DataPoint<number>[]) => metricOf(descriptor, points);
  const missing = new MissingGauges({ metricOf: pointsOf, max: limit, steadyMs, shown: readings });
  /** The series that were observed since the last collection. */
  let observed: Reading[] = [];
  let [live, overflowed, refused] = [0, 0, 0];

  function fits(value: number): boolean {
    // False for NaN.
    if (Math.abs(value) <= max) return true;
    refused += 1;
    return false;
  }

  function combine(into: Reading, value: number, ageMs: number): void {
    const both = combined(combination, into.value, value);
    if (!fits(both)) return;
    into.value = both;
    into.ageMs = Math.min(into.ageMs, ageMs);
  }

  function takePoints(): readonly Reading[] {
    const { own, others } = place(observed, limit - 1);
    observed = [];
    const [first, ...more] = others;
    if (first === undefined) return own;
    const overflow = { ...first, ...OVERFLOWING };
    for (const { value, ageMs } of more) combine(overflow, value, ageMs);
    overflowed += others.reduce((sum, { observations }) => sum + observations, 0);
    return [...own, overflow];
  }

  return {
    metric: descriptor.name,
    limit,
    observe(given, attributes, ageMs = 0) {
      const value = isInt ? Math.trunc(given) : given;
      if (!fits(value)) return;
      const kept = keptAttributes(attributes, keeps);
      const key = keyOf(kept);
      const reading = readings.find(key, kept);
      if (reading.observations > 0) combine(reading, value, ageMs);
      else {
        reading.value = value;
        reading.ageMs = ageMs;
        observed.push(reading);
      }
      reading.observations += 1;
    },
    end: (hasEnded) => missing.end(hasEnded),
    collect(collectedAtMs) {
      const points = takePoints();
      live = points.length;
      const gone = readings.forgetAbsent(combination !== 'max in order');
      missing.collected(gone, points.at(-1)?.attributes === OVERFLOW);
      return live === 0 ? undefined : handOver(points, collectedAtMs, descriptor);
    },
    collectEnded: (wallMs) => missing.points(wallMs),
    tally: () => ({ live, retired: 0, unmarked: missing.unmarked, overflowed, refused }),
  };
}

/**
 * Series that have a point keep it while they are observed. The others get the free points in the order of observation.
 */
function place(observed: readonly Reading[], most: number) {
  let free = most;
  for (const { hasPlace } of observed) if (hasPlace) free -= 1;
  const own: Reading[] = [];
  const others: Reading[] = [];
  for (const reading of observed) {
    if (!reading.hasPlace && free > 0 && !reading.isOverflow) {
      reading.hasPlace = true;
      free -= 1;
    }
    (reading.hasPlace ? own : others).push(reading);
  }
  return { own, others };
}

function handOver(
  readings: readonly Reading[],
  collectedAtMs: number,
  descriptor: MetricDescriptor,
): CollectedMetric {
  const collectedAt = millisToHrTime(collectedAtMs);
  // Copied now, because the next collection reuses the readings.
  const points = readings.map(({ attributes, value, ageMs }): DataPoint<number> => {
    const endTime = ageMs === 0 ? collectedAt : millisToHrTime(collectedAtMs - ageMs);
    return { attributes, startTime: NO_TIME, endTime, value };
  });
  return {
    pointCount: points.length,
    bytesOf: (point) => pointBytes(readings[point]?.bytes ?? 0, 0),
    slice: (from, to) => metricOf(descriptor, points.slice(from, to)),
    // Nothing is kept for a retry: the next collection has a newer value.
    acknowledge: () => {},
  };
}

function metricOf(descriptor: MetricDescriptor, dataPoints: DataPoint<number>[]): MetricData {
  return {
    descriptor,
    // A gauge has no temporality, but the field is required.
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    dataPointType: DataPointType.GAUGE,
    dataPoints,
  };
}
