/**
 * The stream of an observable gauge: what is observed in one collection becomes its points, and what is not observed any
 * more has none. Points that a view or the limit puts together are combined as the gauge says, never overwritten. It keeps
 * only which series had a place.
 *
 * The SDK keeps what it once observed: under cumulative it exports the last value of what is gone for ever
 * (opentelemetry-js #4096), and once it has seen as many sets of attributes as the limit allows, new ones overflow for ever
 * (`DeltaMetricProcessor`, `_cumulativeMemoStorage`).
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
import { keyOf, OVERFLOW, OVERFLOW_KEY, ownAttributes } from './series-attributes.ts';
import { maxOf } from './value-range.ts';

/** What one value is made of several, where a view drops the attribute that tells them apart, or in the overflow. */
export type GaugeCombination = 'sum' | 'max' | 'last';

export interface GaugeStreamOptions {
  readonly descriptor: MetricDescriptor;
  readonly combination: GaugeCombination;
  /** Points at most, the one of the overflow included. */
  readonly limit: number;
  readonly keeps?: ((key: string) => boolean) | undefined;
}

export interface GaugeStream extends Stream {
  /** Heard until the next collection. */
  observe(value: number, attributes: Attributes): void;
}

/** On the wire, 0 is that there is none: a gauge is what it is at one moment. */
const NO_TIME: HrTime = [0, 0];

/** Readings, until what they were found by is let go of. */
const FORGOTTEN_MAX = 5000;

interface Reading {
  readonly key: string;
  readonly attributes: Attributes;
  readonly bytes: number;
  value: number;
  /** The collection it is of. */
  round: number;
  /** Whether it had a place of its own in that before. */
  hasPlace: boolean;
}

export function createGaugeStream(options: GaugeStreamOptions): GaugeStream {
  const readings = new Readings(options);
  const isInt = options.descriptor.valueType === ValueType.INT;
  let live = 0;
  let overflowed = 0;
  return {
    observe(value, attributes) {
      readings.observe(isInt ? Math.trunc(value) : value, attributes);
    },
    collect(collectedAtMs) {
      const { placed, beyond } = readings.takeAll();
      overflowed += beyond.length;
      const points = [...placed, ...readings.overflowOf(beyond)];
      live = points.length;
      return points.length === 0 ? undefined : handOver(points, collectedAtMs, options.descriptor);
    },
    tally: () => ({ live, retired: 0, overflowed, refused: readings.refused }),
  };
}

/** What has been observed since the last collection, and what had a place in it. */
class Readings {
  readonly #options: GaugeStreamOptions;
  readonly #max: number;
  /** What no point could have, by itself or combined with others. */
  refused = 0;
  readonly #byKey = new Map<string, Reading>();
  #known = new WeakMap<Attributes, Reading>();
  #forgotten = 0;
  #observed: Reading[] = [];
  #round = 1;

  constructor(options: GaugeStreamOptions) {
    this.#options = options;
    this.#max = maxOf(options.descriptor);
  }

  observe(value: number, attributes: Attributes): void {
    if (!this.#fits(value)) return;
    const known = this.#known.get(attributes);
    // One that was absent from the last collection is forgotten, and may be another by now.
    const isKept = known !== undefined && known.round >= this.#round - 1;
    const reading = isKept ? known : this.#find(attributes);
    if (reading.round === this.#round) {
      reading.value = this.#combined(reading.value, value);
      return;
    }
    reading.round = this.#round;
    reading.value = value;
    this.#observed.push(reading);
  }

  /** Those with a place keep it for as long as they are observed; the others have what is left, in the order they came. */
  takeAll(): { placed: readonly Reading[]; beyond: readonly Reading[] } {
    const observed = this.#observed;
    const { limit } = this.#options;
    let free = limit - 1 - observed.filter(({ hasPlace }) => hasPlace).length;
    const beyond: Reading[] = [];
    const placed = observed.filter((reading) => {
      if (!reading.hasPlace && free > 0 && reading.key !== OVERFLOW_KEY) {
        free -= 1;
        reading.hasPlace = true;
      }
      if (!reading.hasPlace) beyond.push(reading);
      return reading.hasPlace;
    });
    this.#forgetAbsent();
    this.#observed = [];
    this.#round += 1;
    return { placed, beyond };
  }

  /** The one reading of what has no place of its own, if anything has none. */
  overflowOf(beyond: readonly Reading[]): Reading[] {
    const [first, ...others] = beyond;
    if (first === undefined) return [];
    const value = others.reduce((sofar, other) => this.#combined(sofar, other.value), first.value);
    return [{ ...first, key: OVERFLOW_KEY, attributes: OVERFLOW, bytes: attributesBytes(OVERFLOW), value }];
  }

  #combined(one: number, other: number): number {
    const value = combined(this.#options.combination, one, other);
    return this.#fits(value) ? value : one;
  }

  #fits(value: number): boolean {
    // NaN does not.
    const fits = Math.abs(value) <= this.#max;
    if (!fits) this.refused += 1;
    return fits;
  }

  #find(attributes: Attributes): Reading {
    const own = ownAttributes(attributes, this.#options.keeps);
    const key = keyOf(own);
    let found = this.#byKey.get(key);
    if (found === undefined) {
      found = { key, attributes: own, bytes: attributesBytes(own), value: 0, round: 0, hasPlace: false };
      this.#byKey.set(key, found);
    }
    if (Object.isFrozen(attributes)) this.#known.set(attributes, found);
    return found;
  }

  #forgetAbsent(): void {
    if (this.#byKey.size === this.#observed.length) return;
    for (const [key, reading] of this.#byKey) {
      if (reading.round === this.#round) continue;
      this.#byKey.delete(key);
      // Behind a view it was found by others, which nobody knows.
      if (!this.#known.delete(reading.attributes)) this.#forgotten += 1;
    }
    if (this.#forgotten < FORGOTTEN_MAX) return;
    // A weak map gives back no memory by itself.
    this.#known = new WeakMap();
    this.#forgotten = 0;
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
  // Taken now: the same readings are used again at the next collection.
  const points = readings.map(
    ({ attributes, value }): DataPoint<number> => ({ attributes, startTime: NO_TIME, endTime, value }),
  );
  return {
    points: points.length,
    bytesOf: (point) => pointBytes(readings[point]?.bytes ?? 0, 0),
    slice: (from, to) => ({
      descriptor,
      // A gauge has none; the field must be there.
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPointType: DataPointType.GAUGE,
      dataPoints: points.slice(from, to),
    }),
    // What a gauge was is of no interest once it is something else.
    exported: () => {},
  };
}
