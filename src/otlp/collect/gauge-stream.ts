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
  value: number;
  /** Number of observations in it. */
  observations: number;
}

export function createGaugeStream(options: GaugeStreamOptions): GaugeStream {
  const { descriptor, combination, limit, keeps } = options;
  const max = maxOf(descriptor);
  const isInt = descriptor.valueType === ValueType.INT;
  /** Since the last collection, by key. Their number is bounded by those who observe. */
  let observed = new Map<string, Reading>();
  /** Those that had a point of their own in the last collection. */
  let placed: ReadonlySet<string> = new Set();
  let live = 0;
  let overflowed = 0;
  let refused = 0;

  function fits(value: number): boolean {
    // NaN does not.
    const isWithin = Math.abs(value) <= max;
    if (!isWithin) refused += 1;
    return isWithin;
  }

  function combine(into: Reading, { value, observations }: Omit<Reading, 'attributes'>): void {
    const both = combined(combination, into.value, value);
    if (fits(both)) into.value = both;
    into.observations += observations;
  }

  function takePoints(): readonly Reading[] {
    const { own, others } = place(observed, placed, limit - 1);
    observed = new Map();
    placed = new Set(own.keys());
    const [first, ...more] = others;
    if (first === undefined) return [...own.values()];
    const overflow = { ...first, attributes: OVERFLOW };
    for (const reading of more) combine(overflow, reading);
    overflowed += overflow.observations;
    return [...own.values(), overflow];
  }

  return {
    metric: descriptor.name,
    limit,
    observe(given, attributes) {
      const value = isInt ? Math.trunc(given) : given;
      if (!fits(value)) return;
      const kept = keptAttributes(attributes, keeps);
      const key = keyOf(kept);
      const reading = observed.get(key);
      if (reading === undefined) observed.set(key, { attributes: frozen(kept), value, observations: 1 });
      else combine(reading, { value, observations: 1 });
    },
    collect(collectedAtMs) {
      const points = takePoints();
      live = points.length;
      return points.length === 0 ? undefined : handOver(points, collectedAtMs, descriptor);
    },
    tally: () => ({ live, retired: 0, overflowed, refused }),
  };
}

/** Series with a point keep it while they are observed; the others get the remaining ones, first come, first served. */
function place(observed: ReadonlyMap<string, Reading>, placed: ReadonlySet<string>, most: number) {
  let free = most;
  for (const key of observed.keys()) if (placed.has(key)) free -= 1;
  const own = new Map<string, Reading>();
  const others: Reading[] = [];
  for (const [key, reading] of observed) {
    const isNew = !placed.has(key);
    if (key === OVERFLOW_KEY || (isNew && free <= 0)) others.push(reading);
    else {
      own.set(key, reading);
      if (isNew) free -= 1;
    }
  }
  return { own, others };
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
  const pointOf = ({ attributes, value }: Reading): DataPoint<number> => ({
    attributes,
    startTime: NO_TIME,
    endTime,
    value,
  });
  return {
    points: readings.length,
    bytesOf: (point) => pointBytes(attributesBytes(readings[point]?.attributes ?? {}), 0),
    slice: (from, to) => ({
      descriptor,
      // A gauge has none, but the field is required.
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPointType: DataPointType.GAUGE,
      dataPoints: readings.slice(from, to).map(pointOf),
    }),
    // An old value of a gauge is not worth a retry.
    exported: () => {},
  };
}
