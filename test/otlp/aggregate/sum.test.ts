import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MONOTONIC_SUM } from '../../../src/otlp/aggregate/sum.ts';
import { bothWays, stepsWith } from './absorption.ts';

test('a sum is of all that was measured', () => {
  const sum = MONOTONIC_SUM.begin();
  assert.equal(sum.value(), 0);
  for (const value of [1, 0, 2.5]) sum.measure(value);
  assert.equal(sum.value(), 3.5);
});

test('what a sum takes back is as if it had been measured there', () => {
  // Eighths add up exactly in whatever order.
  const value = fc.nat(1000).map((eighths) => eighths / 8);
  fc.assert(
    fc.property(stepsWith(value), (steps) => {
      const { alone, together } = bothWays(MONOTONIC_SUM, steps);
      assert.equal(together, alone);
    }),
  );
});
