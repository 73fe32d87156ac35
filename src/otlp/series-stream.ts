/**
 * The series of one instrument: finds them, begins and ends them, and collects their points. It makes what the SDK makes
 * of the same measurements, in a fraction of the time and within a limit that holds for as long as the process lives. It
 * does not know what is aggregated of a series, never exports and never reads a clock of its own.
 */
import { type Attributes, diag, type HrTime, ValueType } from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import {
  AggregationTemporality,
  type DataPoint,
  type MetricData,
  type MetricDescriptor,
} from '@opentelemetry/sdk-metrics';
import type { Accumulation, Aggregation } from './aggregation.ts';

export interface SeriesStreamOptions<V> {
  readonly descriptor: MetricDescriptor;
  readonly aggregation: Aggregation<V>;
  readonly temporality: AggregationTemporality;
  /** Points at most, the one of the overflow included. */
  readonly limit: number;
  /** Asked once for each new series. */
  readonly nowMs: () => number;
}

export interface SeriesStream {
  measure(value: number, attributes?: Attributes): void;
  /**
   * What there is to export: since each series began if cumulative, since the last collection otherwise.
   * @param isRetired which series are to end: of those it has only what has not been exported yet. The one of the overflow
   * never ends.
   */
  collect(collectedAtMs: number, isRetired: (attributes: Attributes) => boolean): MetricData | undefined;
  /** What was collected last has been exported: what of it was to end is over, unless more was measured since. */
  exported(): void;
}

interface Series<V> {
  readonly attributes: Attributes;
  readonly startMs: number;
  readonly accumulation: Accumulation<V>;
  /** Whether anything was measured since the last collection. */
  hasNews: boolean;
  /** Whether anything was measured that has been collected and not exported yet. */
  isOwed: boolean;
}

const NO_ATTRIBUTES: Attributes = Object.freeze({});
const OVERFLOW: Attributes = Object.freeze({ 'otel.metric.overflow': true });
const OVERFLOW_KEY = keyOf(OVERFLOW);

export function createSeriesStream<V>(options: SeriesStreamOptions<V>): SeriesStream {
  const { descriptor, aggregation, temporality } = options;
  const ledger = new Ledger(options);
  const identity = { descriptor, aggregationTemporality: temporality };
  return {
    measure(value, attributes = NO_ATTRIBUTES) {
      const measured = measurementOf(value, aggregation.instrument, descriptor);
      if (measured === undefined) return;
      const series = ledger.of(attributes);
      series.accumulation.measure(measured);
      series.hasNews = true;
    },
    collect(collectedAtMs, isRetired) {
      const due =
        temporality === AggregationTemporality.DELTA
          ? ledger.startOver(collectedAtMs)
          : ledger.settle(isRetired);
      if (due.length === 0) return undefined;
      const endTime = millisToHrTime(collectedAtMs);
      return aggregation.metric(
        identity,
        due.map((series) => pointOf(series, endTime)),
      );
    },
    exported: () => ledger.exported(),
  };
}

/** Which series there are. */
class Ledger<V> {
  readonly #options: SeriesStreamOptions<V>;
  #series = new Map<string, Series<V>>();
  /** By the objects that were used before: sorting and serialising attributes is what costs most in a measurement. */
  #known = new WeakMap<Attributes, Series<V>>();
  /** To end once what they owe has been exported. */
  readonly #leaving = new Map<string, Series<V>>();
  /** Whether there is a point of the overflow beside those that have a place each. */
  #hasOverflow = false;
  #last: { readonly series: ReadonlyMap<string, Series<V>>; readonly atMs: number } | undefined;

  constructor(options: SeriesStreamOptions<V>) {
    this.#options = options;
  }

  of(attributes: Attributes): Series<V> {
    return this.#known.get(attributes) ?? this.#find(attributes);
  }

  /** Lets go of all; those of the next interval go on from here. */
  startOver(atMs: number): readonly Series<V>[] {
    this.#last = { series: this.#series, atMs };
    this.#series = new Map();
    this.#known = new WeakMap();
    this.#hasOverflow = false;
    return [...this.#last.series.values()];
  }

  /** Lets go of those that are retired and owe nothing; returns which are to be exported. */
  settle(isRetired: (attributes: Attributes) => boolean): readonly Series<V>[] {
    const due: Series<V>[] = [];
    this.#leaving.clear();
    for (const [key, series] of this.#series) {
      const retired = key !== OVERFLOW_KEY && isRetired(series.attributes);
      series.isOwed ||= series.hasNews;
      series.hasNews = false;
      if (retired) this.#leaving.set(key, series);
      if (!retired || series.isOwed) due.push(series);
    }
    this.#end(({ isOwed }) => !isOwed);
    return due;
  }

  exported(): void {
    for (const series of this.#series.values()) series.isOwed = false;
    this.#end(({ hasNews }) => !hasNews);
    this.#leaving.clear();
  }

  /** Lets go of those that are leaving, where they may. */
  #end(may: (series: Series<V>) => boolean): void {
    const before = this.#series.size;
    for (const [key, series] of this.#leaving) if (may(series)) this.#series.delete(key);
    // What was known may be gone, and what overflowed has a place of its own now.
    if (this.#series.size < before) this.#known = new WeakMap();
  }

  #find(attributes: Attributes): Series<V> {
    const key = keyOf(attributes);
    const found = this.#series.get(key) ?? this.#admit(key, attributes);
    // One that can still change may be another series at the next measurement.
    if (Object.isFrozen(attributes)) this.#known.set(attributes, found);
    return found;
  }

  #admit(key: string, attributes: Attributes): Series<V> {
    const { limit, nowMs, aggregation } = this.#options;
    // One place is the overflow's. No series gives way to a new one: a cumulative stream must not start over.
    const fits = this.#series.size - (this.#hasOverflow ? 1 : 0) < limit - 1;
    const found = fits ? undefined : this.#series.get(OVERFLOW_KEY);
    if (found !== undefined) return found;
    if (!fits) this.#hasOverflow = true;
    const [ownKey, own] = fits ? [key, attributes] : [OVERFLOW_KEY, OVERFLOW];
    // Under delta, one that was exported last time goes on from there, so that a receiver sees that nothing is missing.
    const startMs = this.#last?.series.has(ownKey) === true ? this.#last.atMs : nowMs();
    const made: Series<V> = {
      attributes: Object.isFrozen(own) ? own : { ...own },
      startMs,
      accumulation: aggregation.begin(),
      hasNews: false,
      isOwed: false,
    };
    this.#series.set(ownKey, made);
    return made;
  }
}

/**
 * What counts of a value: nothing of a negative one, as in the SDK, and nothing of NaN or Infinity, of which the SDK makes
 * sums that stay so for ever.
 */
function measurementOf(
  value: number,
  instrument: string,
  { name, valueType }: MetricDescriptor,
): number | undefined {
  if (value < 0) {
    diag.warn(`negative value provided to ${instrument} ${name}: ${value}`);
    return undefined;
  }
  if (!Number.isFinite(value)) return undefined;
  if (valueType !== ValueType.INT || Number.isInteger(value)) return value;
  diag.warn(
    `INT value type cannot accept a floating-point value for ${name}, ignoring the fractional digits.`,
  );
  return Math.trunc(value);
}

function pointOf<V>({ attributes, startMs, accumulation }: Series<V>, endTime: HrTime): DataPoint<V> {
  return { attributes, startTime: millisToHrTime(startMs), endTime, value: accumulation.value() };
}

/** Equal for attributes that are equal, in whatever order they were set. */
function keyOf(attributes: Attributes): string {
  return JSON.stringify(
    Object.keys(attributes)
      .sort()
      .map((key) => [key, attributes[key]]),
  );
}
