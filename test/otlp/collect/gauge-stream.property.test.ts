import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attributes } from '@opentelemetry/api';
import type { GaugeStreamOptions } from '../../../src/otlp/collect/gauge-stream.ts';
import { fc } from '../../seed.ts';
import { gaugeOf } from './collected-gauge.ts';

const observation = fc.record({
  attributes: fc.record(
    { task: fc.constantFrom('a', 'b', 'c'), queue: fc.constantFrom('q', 'r'), worker: fc.nat(9) },
    { requiredKeys: [] },
  ),
  value: fc.integer({ min: -9, max: 9 }),
  isFrozen: fc.boolean(),
});
const rounds = fc.array(fc.array(observation, { maxLength: 20 }), { maxLength: 8 });
const keptKeys = fc.subarray(['task', 'queue', 'worker']);

/** All observations of each series in order, by the definition. */
function combinedByDefinition(
  round: readonly { readonly attributes: Attributes; readonly value: number }[],
  kept: readonly string[],
  combination: GaugeStreamOptions['combination'],
): ReadonlyMap<string, number> {
  const all = Map.groupBy(round, ({ attributes }) =>
    JSON.stringify(kept.map((key) => attributes[key] ?? null)),
  );
  return new Map(
    Array.from(
      all,
      ([key, said]) =>
        [
          key,
          combineAll(
            said.map(({ value }) => value),
            combination,
          ),
        ] as const,
    ),
  );
}

function combineAll(values: readonly number[], combination: GaugeStreamOptions['combination']): number {
  switch (combination) {
    case 'sum':
      return values.reduce((sum, value) => sum + value, 0);
    case 'min':
      return Math.min(...values);
    case 'max':
    case 'max in order':
      return Math.max(...values);
  }
}

for (const combination of ['sum', 'min', 'max', 'max in order'] as const) {
  test(`for any observations, points follow the definition: ${combination}`, () => {
    fc.assert(
      fc.property(rounds, keptKeys, (chosen, kept) => {
        const { observe, read } = gaugeOf({ combination, keeps: (key) => kept.includes(key) });
        for (const round of chosen) {
          for (const { attributes, value, isFrozen } of round)
            observe(value, isFrozen ? Object.freeze({ ...attributes }) : attributes);
          const found = read().map(
            ([attributes, value]) =>
              [JSON.stringify(kept.map((key) => attributes[key] ?? null)), value] as const,
          );
          assert.deepEqual(new Map(found), combinedByDefinition(round, kept, combination));
          assert.equal(found.length, new Map(found).size);
        }
      }),
    );
  });
}

const KEPT = Array.from({ length: 10 }, (_, worker) => Object.freeze({ worker }));
const ofWorkers = fc.array(
  fc.array(fc.record({ worker: fc.nat(9), value: fc.integer({ min: -9, max: 9 }), isKept: fc.boolean() })),
  { maxLength: 10 },
);
const sum = (values: Iterable<number>): number => [...values].reduce((total, each) => total + each, 0);

test('there are never more points than the limit, and each admitted series has its own values', () => {
  fc.assert(
    fc.property(ofWorkers, fc.integer({ min: 1, max: 5 }), (chosen, limit) => {
      const { observe, read } = gaugeOf({ combination: 'sum', limit });
      let placed: ReadonlySet<unknown> = new Set();
      for (const round of chosen) {
        for (const { worker, value, isKept } of round) observe(value, (isKept && KEPT[worker]) || { worker });
        const groups = Map.groupBy(round, ({ worker }) => worker);
        const expected = new Map(
          Array.from(groups, ([worker, said]) => [worker, sum(said.map(({ value }) => value))]),
        );
        const points = read();
        const found = new Map(points.map(([{ worker = 'overflow' }, value]) => [worker, value]));
        assert.ok(points.length <= limit);
        assert.equal(found.size, points.length);
        assert.equal(found.has('overflow'), expected.size > limit - 1);
        const own = [...expected].filter(([worker]) => found.has(worker));
        for (const [worker, value] of own) assert.equal(found.get(worker), value);
        for (const worker of expected.keys())
          assert.ok(!placed.has(worker) || found.has(worker), 'its place was kept');
        assert.equal(sum(found.values()), sum(expected.values()));
        placed = new Set(own.map(([worker]) => worker));
      }
    }),
    { numRuns: 300 },
  );
});
