import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { largestOfSmallest } from '../../src/cluster/smallest.ts';
import { atOnce } from './at-once.ts';

const SEED = 20_261_122;

test('it is what sorting finds', () => {
  const numbers = fc.array(fc.oneof(fc.integer({ min: 0, max: 9 }), fc.double({ noNaN: true })), {
    minLength: 1,
    maxLength: 60,
  });
  fc.assert(
    fc.property(numbers, fc.nat(), (given, any) => {
      const count = 1 + (any % given.length);
      const expected = Float64Array.from(given).sort()[count - 1];
      const found = atOnce(largestOfSmallest(Float64Array.from(given), count));
      // 0 and -0 are as old as each other.
      assert.equal(found + 0, (expected ?? Number.NaN) + 0);
    }),
    { numRuns: 3_000, seed: SEED },
  );
});

test('numbers in order, in the opposite order and all the same take few steps', () => {
  const count = 100_000;
  for (const nth of [(at: number) => at, (at: number) => -at, () => 7]) {
    let steps = 0;
    for (const _ of largestOfSmallest(
      Float64Array.from({ length: count }, (_, at) => nth(at)),
      10,
    ))
      steps += 1;
    assert.ok(steps < 100, `${steps}`);
  }
});
