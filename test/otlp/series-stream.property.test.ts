import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Attributes, type Meter, ValueType } from '@opentelemetry/api';
import { hrTimeToMilliseconds } from '@opentelemetry/core';
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  type MetricData,
  type ScopeMetrics,
} from '@opentelemetry/sdk-metrics';
import fc from 'fast-check';
import { MONOTONIC_SUM } from '../../src/otlp/monotonic-sum.ts';
import { temporalityOf } from '../../src/otlp/observed-exporter.ts';
import { createSeriesStream } from '../../src/otlp/series-stream.ts';
import { createStreamProducer } from '../../src/otlp/stream-producer.ts';
import { histogramPoints, ManualReader, sumPoints } from './reading.ts';

const COUNTERS = [
  { name: 'sent', unit: '{task}', description: 'Sent.', valueType: ValueType.INT },
  { name: 'cpu', unit: 's' },
] as const;
const HISTOGRAMS = [
  { name: 'runtime', unit: 's', description: 'Runtime.', boundaries: [0.5, 1, 2, 8] },
  { name: 'tries', valueType: ValueType.INT, boundaries: [Infinity, 3, 1, -Infinity] },
  { name: 'bare', boundaries: [] },
] as const;

/** Some equal, some only alike; one object is used again and again, the others are made anew for each measurement. */
const USED_AGAIN: Attributes = Object.freeze({ task: 'a', queue: 'q' });
const attributes = fc.oneof(
  fc.constant(USED_AGAIN),
  fc.constant(undefined),
  fc.constantFrom<Attributes>(
    { task: 'a', queue: 'q' },
    { queue: 'q', task: 'a' },
    { task: 'q', queue: 'a' },
    { task: 'a' },
    { task: 'true' },
    { task: true },
    { 'otel.metric.overflow': true },
  ),
  fc.record(
    { task: fc.constantFrom('a', 'b', 'c'), queue: fc.constantFrom('q', 'r') },
    { noNullPrototype: true },
  ),
);

/** Eighths add up exactly in whatever order, and are often on a bound. */
const value = fc.oneof(
  fc.nat(100).map((eighths) => eighths / 8),
  fc.integer({ min: -8, max: -1 }),
);

const measurement = fc.record({
  name: fc.constantFrom(...[...COUNTERS, ...HISTOGRAMS].map(({ name }) => name)),
  value,
  attributes,
});
const steps = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: measurement },
    { weight: 2, arbitrary: fc.constant('collect' as const) },
    { weight: 2, arbitrary: fc.nat(5000).map((waitMs) => ({ waitMs })) },
  ),
  { minLength: 30, maxLength: 90 },
);

/** The same instruments twice: those of the SDK alone, and ours. */
function bothMeters(t: TestContext, preference: 'cumulative' | 'delta' | 'lowmemory', limit: number) {
  const selectTemporality = (kind: Parameters<typeof temporalityOf>[0]) => temporalityOf(kind, preference);
  const producer = createStreamProducer({ selectTemporality, limit });
  const reader = new ManualReader({ selectTemporality, limit });
  const ownReader = new ManualReader({ selectTemporality, limit, producers: [producer] });
  const provider = new MeterProvider({ readers: [reader] });
  const ownProvider = new MeterProvider({ readers: [ownReader] });
  t.after(() => Promise.all([provider.shutdown(), ownProvider.shutdown()]));
  const meters = [
    provider.getMeter('shop', '1'),
    producer.meter(ownProvider.getMeter('shop', '1'), { name: 'shop', version: '1' }),
  ] as const;
  return { meters, readers: [reader, ownReader] as const };
}

type Measure = (value: number, attributes: Attributes | undefined) => void;

function createAll(meter: Meter): ReadonlyMap<string, Measure> {
  const measures = new Map<string, Measure>();
  for (const { name, ...options } of COUNTERS) {
    const counter = meter.createCounter(name, options);
    measures.set(name, (amount, of) => counter.add(amount, of));
  }
  for (const { name, boundaries, ...options } of HISTOGRAMS) {
    const advice = { explicitBucketBoundaries: [...boundaries] };
    const histogram = meter.createHistogram(name, { ...options, advice });
    measures.set(name, (measured, of) => histogram.record(measured, of));
  }
  return measures;
}

/** What an exporter reads of it: the SDK's descriptors have more. */
function exported(scopes: readonly ScopeMetrics[]): unknown {
  return scopes.flatMap(({ scope, metrics }) =>
    metrics.map((metric) => {
      const { name, description, unit, valueType } = metric.descriptor;
      return {
        scope: `${scope.name} ${scope.version}`,
        descriptor: { name, description, unit, valueType },
        temporality: metric.aggregationTemporality,
        ...pointsOf(metric),
      };
    }),
  );
}

function pointsOf(metric: MetricData): object {
  return metric.dataPointType === DataPointType.SUM
    ? { monotonic: metric.isMonotonic, points: sumPoints(metric) }
    : { points: histogramPoints(metric) };
}

for (const { preference, limit } of [
  // Of the SDK under cumulative no limit is reached: there it holds for one interval only.
  { preference: 'cumulative', limit: 2000 },
  { preference: 'delta', limit: 2000 },
  { preference: 'delta', limit: 4 },
  { preference: 'lowmemory', limit: 2 },
] as const) {
  test(`whatever is measured and whenever it is collected, points are the SDK’s (${preference}, limit ${limit})`, async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: 1_700_000_000_000 });
    await fc.assert(
      fc.asyncProperty(steps, async (chosen) => {
        const { meters, readers } = bothMeters(t, preference, limit);
        const instruments = meters.map(createAll);
        for (const step of [...chosen, 'collect' as const]) {
          if (step === 'collect') {
            const [expected, found] = await Promise.all(readers.map((reader) => reader.read()));
            // A scope lists its metrics in the order in which they were made, in both.
            assert.deepEqual(exported(found ?? []), exported(expected ?? []));
          } else if ('waitMs' in step) t.mock.timers.tick(step.waitMs);
          else for (const measures of instruments) measures.get(step.name)?.(step.value, step.attributes);
        }
      }),
      { numRuns: 200 },
    );
  });
}

const LIMIT = 5;
const stepsOfWorkers = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ worker: fc.nat(9), amount: fc.nat(9), isShared: fc.boolean() }),
    },
    { weight: 2, arbitrary: fc.constant('collect' as const) },
    { weight: 2, arbitrary: fc.record({ retired: fc.uniqueArray(fc.nat(9), { maxLength: 4 }) }) },
  ),
  { minLength: 40, maxLength: 120 },
);

/** A counter with few places, whose clock moves on with each step, and what was exported of it so far. */
function watchedCounter(temporality: AggregationTemporality) {
  let clockMs = 0;
  const shared = Array.from({ length: 10 }, (_, index) => Object.freeze({ worker: `w${index}` }));
  const stream = createSeriesStream({
    descriptor: { name: 'c', description: '', unit: '', valueType: ValueType.INT },
    aggregation: MONOTONIC_SUM,
    temporality,
    limit: LIMIT,
    nowMs: () => clockMs,
  });
  return {
    add(worker: number, amount: number, isShared: boolean) {
      clockMs += 1;
      stream.measure(amount, isShared ? shared[worker] : { worker: `w${worker}` });
    },
    collect(retired: ReadonlySet<number>) {
      clockMs += 1;
      const isRetired = ({ worker }: Attributes) => retired.has(Number(String(worker).slice(1)));
      const collected = stream.collect(clockMs, isRetired);
      stream.exported();
      return sumPoints(collected).map((point) => ({
        series: point.attributes['otel.metric.overflow'] === true ? 'overflow' : point.attributes['worker'],
        startMs: hrTimeToMilliseconds(point.startTime),
        value: point.value,
      }));
    },
  };
}

test('over any time a cumulative counter keeps its limit, the retired stay away, and all last values add up', () => {
  fc.assert(
    fc.property(stepsOfWorkers, (chosen) => {
      const counter = watchedCounter(AggregationTemporality.CUMULATIVE);
      /** The last value of each series since each of its beginnings. */
      const last = new Map<string, number>();
      let added = 0;
      const news = new Set<number>();
      const retired = new Set<number>();
      /** Those of which no point may be there. */
      const away = new Set<number>();
      for (const step of [...chosen, 'collect' as const]) {
        if (step === 'collect') {
          for (const worker of retired) if (!news.has(worker)) away.add(worker);
          const points = counter.collect(retired);
          assert.ok(points.length <= LIMIT, `${points.length} points`);
          for (const { series, startMs, value: found } of points) {
            assert.ok(![...away].some((worker) => series === `w${worker}`), `${series} is there`);
            const beginning = `${series} since ${startMs}`;
            assert.ok(found >= (last.get(beginning) ?? 0), `${beginning} fell to ${found}`);
            last.set(beginning, found);
          }
          assert.equal(
            [...last.values()].reduce((sum, each) => sum + each, 0),
            added,
          );
          for (const worker of retired) away.add(worker);
          news.clear();
          retired.clear();
        } else if ('retired' in step) for (const worker of step.retired) retired.add(worker);
        else {
          counter.add(step.worker, step.amount, step.isShared);
          added += step.amount;
          news.add(step.worker);
          away.delete(step.worker);
        }
      }
    }),
    { numRuns: 500 },
  );
});

test('without retirement the first series of a cumulative counter keep their points', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ worker: fc.nat(9), isShared: fc.boolean() })), (chosen) => {
      const counter = watchedCounter(AggregationTemporality.CUMULATIVE);
      const counted = new Map<string, number>();
      for (const { worker, isShared } of chosen) {
        counter.add(worker, 1, isShared);
        counted.set(`w${worker}`, (counted.get(`w${worker}`) ?? 0) + 1);
        const own = [...counted].slice(0, LIMIT - 1);
        const rest = [...counted.values()].slice(LIMIT - 1).reduce((sum, each) => sum + each, 0);
        assert.deepEqual(
          counter.collect(new Set()).map(({ series, value: found }) => [series, found]),
          rest === 0 ? own : [...own, ['overflow', rest]],
        );
      }
    }),
  );
});

test('a delta counter is the same with and without retirement', () => {
  fc.assert(
    fc.property(stepsOfWorkers, (chosen) => {
      const counters = [0, 1].map(() => watchedCounter(AggregationTemporality.DELTA));
      const retired = new Set<number>();
      for (const step of [...chosen, 'collect' as const]) {
        if (step === 'collect') {
          assert.deepEqual(counters[0]?.collect(retired), counters[1]?.collect(new Set()));
          retired.clear();
        } else if ('retired' in step) for (const worker of step.retired) retired.add(worker);
        else for (const counter of counters) counter.add(step.worker, step.amount, step.isShared);
      }
    }),
  );
});
