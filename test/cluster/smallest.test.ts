import assert from 'node:assert/strict';
import { test } from 'node:test';
import { largestOfSmallest } from '../../src/cluster/smallest.ts';
import { fc } from '../seed.ts';
import { againstMedians } from './against-medians.ts';
import { atOnce } from './at-once.ts';

/** Time of this thread, which some machines report in steps of 4 ms. */
const STEP_CPU_MS_MAX = 12;

test('the result is the same as by sorting', () => {
  const numbers = fc.array(
    fc.oneof(fc.integer({ min: 0, max: 9 }), fc.double({ noNaN: true, noDefaultInfinity: true })),
    {
      minLength: 1,
      maxLength: 60,
    },
  );
  fc.assert(
    fc.property(numbers, fc.nat(), (given, any) => {
      const count = 1 + (any % given.length);
      const expected = Float64Array.from(given).sort()[count - 1];
      const found = atOnce(largestOfSmallest(Float64Array.from(given), count));
      // 0 and -0 are equal.
      assert.equal(found + 0, (expected ?? Number.NaN) + 0);
    }),
    { numRuns: 3_000 },
  );
});

test('sorted, reversed and equal numbers take few steps', () => {
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

test('each step reads a limited number of them', () => {
  const numbers = Float64Array.from({ length: 8_000_000 }, (_, at) => (at * 2_654_435_761) % 2 ** 32);
  const steps = largestOfSmallest(numbers, 4_000_000);
  let longestMs = 0;
  for (let isOver = false; !isOver; ) {
    const before = process.threadCpuUsage();
    isOver = steps.next().done === true;
    const { user, system } = process.threadCpuUsage(before);
    longestMs = Math.max(longestMs, (user + system) / 1000);
  }
  assert.ok(longestMs < STEP_CPU_MS_MAX, `${longestMs} ms`);
});

test('no choice of numbers takes many steps', () => {
  const count = 20_000;
  const halves = Float64Array.from({ length: count }, (_, at) => 2 ** -(at % 100));
  for (const numbers of [againstMedians(count), halves]) {
    const expected = numbers.toSorted()[count - 1];
    const steps = largestOfSmallest(numbers, count);
    let taken = 1;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) taken += 1;
    assert.equal(step.value, expected);
    assert.ok(taken < 250, `${taken} steps`);
  }
});
