/**
 * The stream of an observable gauge: the observations of a collection become its points, and what is no longer observed has
 * none. Observations that a view or the limit merges into one point are combined as the gauge says, never overwritten. Only
 * the list of series that had a point is kept.
 *
 * The SDK keeps what it once observed: with cumulative temporality it exports the last value for ever (opentelemetry-js
 * #4096), and once the limit is reached, new attribute sets overflow for ever (`DeltaMetricProcessor`,
 * `_cumulativeMemoStorage`).
 */
import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type MetricDescriptor,
} from '@opentelemetry/sdk-metrics';
import type { CollectedMetric, Stream } from './collected-metric.ts';
import { attributesBytes, pointBytes } from './point-bytes.ts';
import { frozen, keptAttributes, keyOf, OVERFLOW, OVERFLOW_KEY } from './series-attributes.ts';
import { maxOf } from './value-range.ts';

/** How several observations become one value, if a view drops the attribute that differs, or in the overflow. */
export type GaugeCombination = 'sum' | 'max' | 'last';

export interface GaugeStreamOptions {
  readonly descriptor: MetricDescriptor;
  readonly combination: GaugeCombination;
  /** The cardinality limit, the overflow point included. */
  readonly limit: number;
  readonly keeps?: ((key: string) => boolean) | undefined;
}

export interface GaugeStream extends Stream {
  /** Heard until the next collection. */
  observe(value: number, attributes: Attributes): void;
}

/** A gauge has no start time, which is 0 on the wire. */
const NO_TIME: HrTime = [0, 0];

interface Reading {
  readonly attributes: Attributes;
  /** Size of the attributes in a request. */
  readonly bytes: number;
  value: number;
  /** Number of observations in it. */
  observations: number;
  /** Number of its collection. */
  round: number;
  /** Whether it has a point of its own; a new one has none before its first collection. */
  hasPlace: boolean;
}

const OVERFLOW_READING: Reading = {
  attributes: OVERFLOW,
  bytes: attributesBytes(OVERFLOW),
  value: 0,
  observations: 0,
  round: 0,
  hasPlace: true,
};

export function createGaugeStream(options: GaugeStreamOptions): GaugeStream {
  const readings = new Readings(options);
  const isInt = options.descriptor.valueType === ValueType.INT;
  let live = 0;
  let overflowed = 0;
  return {
    metric: options.descriptor.name,
    limit: options.limit,
    observe(value, attributes) {
      readings.observe(isInt ? Math.trunc(value) : value, attributes);
    },
    collect(collectedAtMs) {
      const { points, beyond } = readings.takeAll();
      overflowed += beyond;
      live = points.length;
      return points.length === 0 ? undefined : handOver(points, collectedAtMs, options.descriptor);
    },
    tally: () => ({ live, retired: 0, overflowed, refused: readings.refused }),
  };
}

/** The observations since the last collection, and the series that had a point in it. */
class Readings {
  readonly #options: GaugeStreamOptions;
  readonly #max: number;
  /** Number of values that no point can have, by themselves or combined. */
  refused = 0;
  readonly #byKey = new Map<string, Reading>();
  /** The series observed in this round: those with a point, and those that may still get one. */
  #observed: Reading[] = [];
  /** The ones of them without a point. */
  #newcomers = 0;
  /** The combined value of all others. */
  #overflow: number | undefined;
  /** Observations without a point of their own. */
  #beyond = 0;
  #round = 1;

  constructor(options: GaugeStreamOptions) {
    this.#options = options;
    this.#max = maxOf(options.descriptor);
  }

  observe(value: number, attributes: Attributes): void {
    if (!this.#fits(value)) return;
    const kept = keptAttributes(attributes, this.#options.keeps);
    const key = keyOf(kept);
    const reading = this.#byKey.get(key) ?? this.#admit(key, kept);
    if (reading === undefined) {
      this.#beyond += 1;
      this.#overflow = this.#combined(this.#overflow, value);
      return;
    }
    if (reading.round !== this.#round) {
      reading.round = this.#round;
      reading.value = value;
      reading.observations = 1;
      this.#observed.push(reading);
      return;
    }
    reading.value = this.#combined(reading.value, value);
    reading.observations += 1;
  }

  /** Series with a point keep it while they are observed; the others get the remaining ones, first come, first served. */
  takeAll(): { points: readonly Reading[]; beyond: number } {
    const points: Reading[] = [];
    let overflow: number | undefined;
    let free = this.#options.limit - 1 - (this.#observed.length - this.#newcomers);
    for (const reading of this.#observed) {
      if (!reading.hasPlace && free > 0) {
        free -= 1;
        reading.hasPlace = true;
      }
      if (reading.hasPlace) {
        points.push(reading);
      } else {
        overflow = this.#combined(overflow, reading.value);
        this.#beyond += reading.observations;
      }
    }
    // These came after all that were kept individually.
    if (this.#overflow !== undefined) overflow = this.#combined(overflow, this.#overflow);
    if (overflow !== undefined) points.push({ ...OVERFLOW_READING, value: overflow });
    const beyond = this.#beyond;
    this.#forgetAbsent();
    this.#begin();
    return { points, beyond };
  }

  #begin(): void {
    this.#observed = [];
    this.#newcomers = this.#beyond = 0;
    this.#overflow = undefined;
    this.#round += 1;
  }

  #combined(one: number | undefined, other: number): number {
    if (one === undefined) return other;
    const value = combined(this.#options.combination, one, other);
    return this.#fits(value) ? value : one;
  }

  #fits(value: number): boolean {
    // NaN does not.
    const fits = Math.abs(value) <= this.#max;
    if (!fits) this.refused += 1;
    return fits;
  }

  /** No more of those that are new than there are places, should all others be left; undefined beyond that. */
  #admit(key: string, given: Attributes): Reading | undefined {
    if (this.#newcomers >= this.#options.limit - 1 || key === OVERFLOW_KEY) return undefined;
    this.#newcomers += 1;
    const attributes = frozen(given);
    const bytes = attributesBytes(attributes);
    const reading = { attributes, bytes, value: 0, observations: 0, round: 0, hasPlace: false };
    this.#byKey.set(key, reading);
    return reading;
  }

  #forgetAbsent(): void {
    for (const [key, reading] of this.#byKey) {
      if (reading.round !== this.#round || !reading.hasPlace) this.#byKey.delete(key);
    }
  }
}

function combined(combination: GaugeCombination, one: number, other: number): number {
  switch (combination) {
    case 'sum':
      return one + other;
    case 'max':
      return Math.max(one, other);
    case 'last':
      return other;
  }
}

function handOver(
  readings: readonly Reading[],
  collectedAtMs: number,
  descriptor: MetricDescriptor,
): CollectedMetric {
  const endTime = millisToHrTime(collectedAtMs);
  // Copied now: the same readings are reused at the next collection.
  const points = readings.map(
    ({ attributes, value }): DataPoint<number> => ({ attributes, startTime: NO_TIME, endTime, value }),
  );
  return {
    points: points.length,
    bytesOf: (point) => pointBytes(readings[point]?.bytes ?? 0, 0),
    slice: (from, to) => ({
      descriptor,
      // A gauge has none, but the field is required.
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPointType: DataPointType.GAUGE,
      dataPoints: points.slice(from, to),
    }),
    // An old value of a gauge is not worth a retry.
    exported: () => {},
  };
}
