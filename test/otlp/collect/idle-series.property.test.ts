/**
 * Whatever is measured, retired, exported and refused, at any times: there are never more series than the limit, and
 * the ended series that arrived, the other series and the overflow add up to what was measured.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attributes, ValueType } from '@opentelemetry/api';
import { hrTimeToMilliseconds } from '@opentelemetry/core';
import { AggregationTemporality, type DataPoint } from '@opentelemetry/sdk-metrics';
import type { Accumulation, Aggregation } from '../../../src/otlp/aggregate/aggregation.ts';
import { explicitBuckets } from '../../../src/otlp/aggregate/explicit-buckets.ts';
import { exponentialBuckets } from '../../../src/otlp/aggregate/exponential-buckets.ts';
import { MONOTONIC_SUM, UP_DOWN_SUM } from '../../../src/otlp/aggregate/sum.ts';
import type { CollectedMetric } from '../../../src/otlp/collect/collected-metric.ts';
import {
  createSeriesStream,
  type MeasureSeries,
  type SeriesStream,
} from '../../../src/otlp/collect/series-stream.ts';
import { fc } from '../../seed.ts';
import { ofWorker } from './collected-stream.ts';

const RETENTION_MS = 50;
const WORKERS = Array.from({ length: 9 }, (_, index) => Object.freeze({ worker: `w${index}` }));
const OVERFLOW = 'overflow';

/** One point, in a request or at the backend. */
interface Seen<V> {
  readonly worker: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly value: V;
}

interface Measurement {
  readonly worker: number;
  readonly value: number;
  readonly how: 'shared' | 'new' | 'bound';
}

class CheckedStream<V> {
  readonly #aggregation: Aggregation<V>;
  readonly #isDelta: boolean;
  readonly #limit: number;
  readonly #stream: SeriesStream;
  readonly #bound: readonly MeasureSeries[];
  /** What was measured, by where it was counted. */
  readonly #measured = new Map<string, Accumulation<V>>();
  readonly #measuredMs = new Map<string, number>();
  /** The last point that arrived of each life of a series; under delta each point is one. */
  readonly #arrived = new Map<string, Seen<V>>();
  #due: readonly Seen<V>[] = [];
  #points: readonly DataPoint<V>[] = [];
  readonly #everRetired = new Set<string>();
  #retired: readonly string[] = [];
  #clockMs = 1000;

  constructor(aggregation: Aggregation<V>, temporality: AggregationTemporality, limit: number) {
    this.#aggregation = aggregation;
    this.#isDelta = temporality === AggregationTemporality.DELTA;
    this.#limit = limit;
    this.#stream = createSeriesStream<V>({
      descriptor: { name: 'm', description: '', unit: '', valueType: ValueType.DOUBLE },
      aggregation: {
        ...aggregation,
        metric: (stream, points) => {
          this.#points = points;
          return aggregation.metric(stream, points);
        },
      },
      ...{ temporality, limit, retentionMs: RETENTION_MS },
      nowMs: () => this.#clockMs,
      steadyMs: () => this.#clockMs,
    });
    this.#bound = WORKERS.map((attributes) => this.#stream.bind(attributes));
  }

  wait(ms: number): void {
    this.#clockMs += ms;
  }

  /** @returns whether it has a place of its own */
  measure({ worker, value, how }: Measurement): boolean {
    this.#clockMs += 1;
    const name = `w${worker}`;
    const before = this.#stream.tally().overflowed;
    if (how === 'bound') this.#bound[worker]?.(value);
    else this.#stream.measure(value, how === 'shared' ? WORKERS[worker] : { worker: name });
    const hasPlace = this.#stream.tally().overflowed === before;
    const counted = hasPlace ? name : OVERFLOW;
    const accumulation = this.#measured.get(counted) ?? this.#aggregation.begin();
    accumulation.measure(value);
    this.#measured.set(counted, accumulation);
    this.#measuredMs.set(counted, this.#clockMs);
    return hasPlace;
  }

  retire(workers: readonly number[]): void {
    this.#retired = workers.map((worker) => `w${worker}`);
    for (const worker of this.#retired) this.#everRetired.add(worker);
  }

  /** @param arrives of each piece in turn; its length is that of the pieces */
  collect(arrives: readonly boolean[], meanwhile: () => void): void {
    this.#clockMs += 1;
    const collected = this.#stream.collect(this.#clockMs, ofWorker(...this.#retired));
    this.#retired = [];
    const due = this.#read(collected);
    this.#check(due);
    this.#due = due;
    meanwhile();
    for (const [piece, does] of arrives.entries()) {
      const [from = 0, to = 0] = [piece, piece + 1].map((part) =>
        Math.floor((due.length * part) / arrives.length),
      );
      if (!does) continue;
      collected?.acknowledge(from, to);
      for (const seen of due.slice(from, to)) this.#arrived.set(this.#lifeOf(seen), seen);
    }
    this.#clockMs += 1;
  }

  #read(metric: CollectedMetric | undefined): readonly Seen<V>[] {
    this.#points = [];
    metric?.slice(0, metric.pointCount);
    return this.#points.map(({ attributes, startTime, endTime, value }) => ({
      worker: nameOf(attributes),
      startMs: hrTimeToMilliseconds(startTime),
      endMs: hrTimeToMilliseconds(endTime),
      value,
    }));
  }

  #check(due: readonly Seen<V>[]): void {
    const byWorker = new Map(due.map((seen) => [seen.worker, seen]));
    assert.equal(byWorker.size, due.length, 'each has one point');
    assert.ok(due.filter(({ worker }) => worker !== OVERFLOW).length < this.#limit, 'more than the limit');
    for (const [worker, measured] of this.#measured)
      assert.deepEqual(this.#sumOf(worker, due), measured.value(), `what was counted of ${worker}`);
    for (const seen of due) this.#checkStart(seen);
    if (this.#isDelta) return;
    for (const { worker } of this.#due) if (!byWorker.has(worker)) this.#checkEnd(worker);
  }

  /** Of what is to be exported, and of what arrived and is not in that. */
  #sumOf(worker: string, due: readonly Seen<V>[]): V {
    const sum = this.#aggregation.begin();
    const dueNow = due.filter((seen) => seen.worker === worker);
    const lives = new Set(dueNow.map((seen) => this.#lifeOf(seen)));
    const over = [...this.#arrived].filter(([life, seen]) => seen.worker === worker && !lives.has(life));
    for (const { value } of [...over.map(([, seen]) => seen), ...dueNow]) sum.absorb(value);
    return sum.value();
  }

  #checkStart(seen: Seen<V>): void {
    const isAnew = !this.#arrived.has(this.#lifeOf(seen));
    const ends = [...this.#arrived.values()].filter(({ worker }) => worker === seen.worker);
    if (isAnew) for (const { endMs } of ends) assert.ok(seen.startMs >= endMs, 'it begins after it ended');
  }

  /** That it has arrived is seen by the sums. */
  #checkEnd(worker: string): void {
    assert.notEqual(worker, OVERFLOW, 'the overflow never ends');
    if (this.#everRetired.has(worker)) return;
    const [measuredMs = 0, refusedMs = 0] = [worker, OVERFLOW].map((key) => this.#measuredMs.get(key));
    assert.ok(this.#clockMs - measuredMs >= RETENTION_MS, `${worker} was measured at ${measuredMs}`);
    assert.ok(refusedMs > measuredMs, 'nobody needs its place');
  }

  #lifeOf({ worker, startMs, endMs }: Seen<V>): string {
    return this.#isDelta ? `${worker} ${startMs}–${endMs}` : `${worker} since ${startMs}`;
  }
}

function nameOf(attributes: Attributes): string {
  return String(attributes['worker'] ?? OVERFLOW);
}

const worker = fc.nat(WORKERS.length - 2);
const measurement = fc.record({
  worker,
  // Eighths add up exactly in whatever order.
  value: fc.nat(100).map((eighths) => eighths / 8),
  how: fc.constantFrom('shared' as const, 'new' as const, 'bound' as const),
});
const arrives = fc.oneof(
  { weight: 3, arbitrary: fc.constant([true]) },
  fc.constant([false]),
  fc.array(fc.boolean(), { minLength: 2, maxLength: 4 }),
);
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: measurement },
    { weight: 2, arbitrary: fc.record({ waitMs: fc.nat(2 * RETENTION_MS) }) },
    { weight: 1, arbitrary: fc.record({ retired: fc.uniqueArray(worker, { maxLength: 2 }) }) },
    { weight: 4, arbitrary: fc.record({ arrives, meanwhile: fc.array(measurement, { maxLength: 2 }) }) },
  ),
  { minLength: 30, maxLength: 100 },
);

function assertHolds<V>(
  aggregation: Aggregation<V>,
  temporality: AggregationTemporality,
  limit: number,
): void {
  fc.assert(
    fc.property(steps, (chosen) => {
      const stream = new CheckedStream(aggregation, temporality, limit);
      for (const step of chosen) {
        if ('waitMs' in step) stream.wait(step.waitMs);
        else if ('retired' in step) stream.retire(step.retired);
        else if ('arrives' in step)
          stream.collect(step.arrives, () => {
            for (const each of step.meanwhile) stream.measure(each);
          });
        else stream.measure(step);
      }
      const arrive = (): void => stream.collect([true], () => {});
      const newcomer = { worker: WORKERS.length - 1, value: 1, how: 'bound' } as const;
      arrive();
      stream.wait(RETENTION_MS);
      stream.measure(newcomer);
      arrive();
      const mayHavePlace = limit > 1 && aggregation.isMonotonic;
      if (mayHavePlace) assert.ok(stream.measure(newcomer), 'nobody is kept out for good');
      arrive();
      arrive();
    }),
    { numRuns: 200 },
  );
}

const TEMPORALITIES = {
  'under cumulative': AggregationTemporality.CUMULATIVE,
  'under delta': AggregationTemporality.DELTA,
} as const;

for (const [under, temporality] of Object.entries(TEMPORALITIES)) {
  for (const limit of [1, 2, 4]) {
    test(`${under} and a limit of ${limit}, idle counters make room for new ones, within the limit and exactly`, () => {
      assertHolds(MONOTONIC_SUM, temporality, limit);
    });
    test(`${under} and a limit of ${limit}, so do histograms, with count, sum and each bucket`, () => {
      assertHolds(explicitBuckets([0, 0.5, 2, 8]), temporality, limit);
    });
    test(`${under} and a limit of ${limit}, so do exponential histograms`, () => {
      assertHolds(exponentialBuckets({ maxSize: 4 }), temporality, limit);
    });
  }
}

test('up-down counters never make room, and stay within the limit and exact', () => {
  assertHolds(UP_DOWN_SUM, AggregationTemporality.CUMULATIVE, 4);
});
