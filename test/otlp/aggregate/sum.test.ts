import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MONOTONIC_SUM, UP_DOWN_SUM } from '../../../src/otlp/aggregate/sum.ts';
import { fc } from '../../seed.ts';
import { bothWays, stepsWith } from './absorption.ts';

test('a merge of an unsent point is as if its values had been measured here', () => {
  // Eighths add up exactly in whatever order.
  const value = fc.nat(1000).map((eighths) => eighths / 8);
  fc.assert(
    fc.property(stepsWith(value), (steps) => {
      const { alone, together } = bothWays(MONOTONIC_SUM, steps);
      assert.equal(together, alone);
    }),
  );
});

test('a value that would overflow is refused, and a merge is clamped', () => {
  for (const [aggregation, sign] of [
    [MONOTONIC_SUM, 1],
    [UP_DOWN_SUM, 1],
    [UP_DOWN_SUM, -1],
  ] as const) {
    const sum = aggregation.begin(100);
    assert.deepEqual(
      [60, 60, 40, 1].map((value) => sum.measure(sign * value)),
      [true, false, true, false],
    );
    assert.equal(sum.value(), sign * 100);
    assert.equal(sum.absorb(sign), false);
    assert.equal(sum.value(), sign * 100);
    assert.equal(aggregation.begin().measure(sign * Number.MAX_VALUE), true);
  }
});
