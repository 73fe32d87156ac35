import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attributes } from '@opentelemetry/api';
import { ValueType } from '@opentelemetry/api';
import { AggregationTemporality, type DataPoint } from '@opentelemetry/sdk-metrics';
import type { Aggregation } from '../../../src/otlp/aggregate/aggregation.ts';
import { explicitBuckets } from '../../../src/otlp/aggregate/explicit-buckets.ts';
import { exponentialBuckets } from '../../../src/otlp/aggregate/exponential-buckets.ts';
import { MONOTONIC_SUM } from '../../../src/otlp/aggregate/sum.ts';
import { createSeriesStream } from '../../../src/otlp/collect/series-stream.ts';
import { fc } from '../../seed.ts';
import { ofWorker, STREAMS } from './collected-stream.ts';

const { CUMULATIVE, DELTA } = AggregationTemporality;

const LIMIT = 5;
const WORKERS = Array.from({ length: 10 }, (_, index) => Object.freeze({ worker: `w${index}` }));

const added = fc.record({ worker: fc.nat(9), amount: fc.nat(9), isShared: fc.boolean() });

function attributesOf({ worker, isShared }: { worker: number; isShared: boolean }): Attributes {
  return isShared ? (WORKERS[worker] ?? {}) : { worker: `w${worker}` };
}

test('without retirement, the first series of a cumulative counter keep their points', () => {
  fc.assert(
    fc.property(fc.array(added), (chosen) => {
      const counter = STREAMS.counter({ limit: LIMIT });
      const counted = new Map<string, number>();
      for (const each of chosen) {
        counter.measure(1, attributesOf(each));
        counted.set(`w${each.worker}`, (counted.get(`w${each.worker}`) ?? 0) + 1);
        const own = [...counted].slice(0, LIMIT - 1);
        const rest = [...counted.values()].slice(LIMIT - 1).reduce((sum, count) => sum + count, 0);
        assert.deepEqual(
          counter.read().map(([{ worker = 'overflow' }, total]) => [worker, total]),
          rest === 0 ? own : [...own, ['overflow', rest]],
        );
      }
    }),
  );
});

test('a delta counter does not depend on retirement', () => {
  const steps = fc.array(
    fc.oneof(
      { weight: 6, arbitrary: added },
      { weight: 2, arbitrary: fc.record({ retired: fc.uniqueArray(fc.nat(9), { maxLength: 4 }) }) },
    ),
    { minLength: 20 },
  );
  fc.assert(
    fc.property(steps, (chosen) => {
      const [one, other] = [STREAMS.counter, STREAMS.counter].map((make) =>
        make({ temporality: DELTA, limit: LIMIT }),
      );
      for (const step of chosen) {
        if ('retired' in step) {
          const retired = ofWorker(...step.retired.map((worker) => `w${worker}`));
          assert.deepEqual(one?.read(retired), other?.read());
        } else for (const counter of [one, other]) counter?.measure(step.amount, attributesOf(step));
      }
    }),
  );
});

const KEYS = ['task', 'queue', 'worker'] as const;
const measurement = fc.record({
  attributes: fc.record(
    { task: fc.constantFrom('a', 'b', 'c'), queue: fc.constantFrom('q', 'r'), worker: fc.nat(3) },
    { requiredKeys: [] },
  ),
  isFrozen: fc.boolean(),
  value: fc.nat(100).map((eighths) => eighths / 8),
});
const intervals = fc.array(fc.array(measurement, { maxLength: 15 }), { minLength: 1, maxLength: 5 });

/** Each point by what is left of its attributes. */
type Points<V> = ReadonlyMap<string, V>;

function byDefinition<V>(
  measured: readonly { readonly attributes: Attributes; readonly value: number }[],
  kept: readonly string[],
  aggregation: Aggregation<V>,
): Points<V> {
  const groups = Map.groupBy(measured, ({ attributes }) => nameOf(attributes, kept));
  return new Map(
    Array.from(groups, ([name, group]) => {
      const accumulation = aggregation.begin();
      for (const { value } of group) accumulation.measure(value);
      return [name, accumulation.value()] as const;
    }),
  );
}

function nameOf(attributes: Attributes, kept: readonly string[]): string {
  return JSON.stringify(kept.map((key) => attributes[key] ?? null));
}

/** What a stream makes of it that leaves out all other keys. */
function reaggregating<V>(
  aggregation: Aggregation<V>,
  temporality: AggregationTemporality,
  kept: readonly string[],
) {
  let points: readonly DataPoint<V>[] = [];
  const stream = createSeriesStream<V>({
    descriptor: { name: 'm', description: '', unit: '', valueType: ValueType.DOUBLE },
    aggregation: {
      ...aggregation,
      metric(identity, dataPoints) {
        points = dataPoints;
        return aggregation.metric(identity, dataPoints);
      },
    },
    temporality,
    limit: 2000,
    keeps: (key) => kept.includes(key),
    nowMs: () => 0,
  });
  return {
    measure: stream.measure,
    read(): Points<V> {
      points = [];
      const metric = stream.collect(0, () => false);
      metric?.slice(0, metric.pointCount);
      metric?.acknowledge(0, metric.pointCount);
      for (const { attributes } of points)
        assert.ok(Object.keys(attributes).every((key) => kept.includes(key)));
      const found = points.map(({ attributes, value }) => [nameOf(attributes, kept), value] as const);
      assert.equal(new Map(found).size, found.length);
      return new Map(found);
    },
  };
}

function assertReaggregated<V>(aggregation: Aggregation<V>, temporality: AggregationTemporality): void {
  fc.assert(
    fc.property(intervals, fc.subarray([...KEYS]), (chosen, kept) => {
      const stream = reaggregating(aggregation, temporality, kept);
      for (const [index, interval] of chosen.entries()) {
        for (const { attributes, isFrozen, value } of interval)
          stream.measure(value, isFrozen ? Object.freeze({ ...attributes }) : attributes);
        const counted = temporality === DELTA ? interval : chosen.slice(0, index + 1).flat();
        assert.deepEqual(stream.read(), byDefinition(counted, kept, aggregation));
      }
    }),
  );
}

for (const [under, temporality] of [
  ['cumulative', CUMULATIVE],
  ['delta', DELTA],
] as const) {
  test(`whatever attributes are removed, sums include all measurements (${under})`, () => {
    assertReaggregated(MONOTONIC_SUM, temporality);
  });

  test(`whatever attributes are removed, histograms include all measurements (${under})`, () => {
    assertReaggregated(explicitBuckets([0, 1, 2, 8]), temporality);
  });

  test(`whatever attributes are removed, exponential histograms include all measurements (${under})`, () => {
    assertReaggregated(exponentialBuckets({ maxSize: 4 }), temporality);
  });
}
