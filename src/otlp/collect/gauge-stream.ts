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
import { frozen, keptAttributes, keyOf, OVERFLOW, OVERFLOW_KEY } from './series-attributes.ts';
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

interface Reading {
  readonly attributes: Attributes;
  /** Of the attributes in a request. */
  readonly bytes: number;
  value: number;
  /** Observations of that. */
  observations: number;
  /** The collection it is of. */
  round: number;
  /** Of its own: one that is new has none before its first collection. */
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

/** What has been observed since the last collection, and what had a place in it. */
class Readings {
  readonly #options: GaugeStreamOptions;
  readonly #max: number;
  /** What no point could have, by itself or combined with others. */
  refused = 0;
  readonly #byKey = new Map<string, Reading>();
  /** In this round: with a place or, as far as they may have one, without. */
  #observed: Reading[] = [];
  /** Those of them without. */
  #newcomers = 0;
  /** What the others come to. */
  #overflow: number | undefined;
  /** Observations that have no place. */
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

  /** Those with a place keep it for as long as they are observed; the others have what is left, in the order they came. */
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
    // These came after all that were looked at one by one.
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
