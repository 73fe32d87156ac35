/** The n-th smallest of many numbers, found in steps that are few and short for any of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { largestOfSmallest } from '../../src/cluster/select-nth.ts';
import { fc } from '../seed.ts';
import { atOnce } from './at-once.ts';

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

test('each step reads a limited number of them', () => {
  const count = 200_000;
  const numbers = Float64Array.from({ length: count }, (_, at) => (at * 2_654_435_761) % 2 ** 32);
  let reads = 0;
  const counted = new Proxy(numbers, {
    get(target, key) {
      reads += 1;
      return Reflect.get(target, key, target);
    },
  });
  const steps = largestOfSmallest(counted, count / 2);
  let most = 0;
  let step: ReturnType<typeof steps.next>;
  do {
    reads = 0;
    step = steps.next();
    most = Math.max(most, reads);
  } while (step.done !== true);
  assert.equal(step.value, numbers.toSorted()[count / 2 - 1]);
  // Each one is compared with a limit, and may be exchanged for another one.
  assert.ok(most < 2.1 * 50_000, `${most}`);
});

/**
 * The numbers from 0 on, each once, at their worst for quickselect with the median of the first, the middle and the last one as
 * pivot: each pass excludes only two of them.
 */
function againstMedians(count: number): Float64Array {
  const chosen = new Float64Array(count).fill(Number.NaN);
  const places = Uint32Array.from(chosen, (_, place) => place);
  let next = 0;
  const numberAt = (at: number): number => chosen[places[at] ?? 0] ?? Number.NaN;
  const choose = (at: number): void => {
    if (!Number.isNaN(numberAt(at))) return;
    chosen[places[at] ?? 0] = next;
    next += 1;
  };
  // What it looks at first and in the middle are the two smallest there are, so the second of them is the median.
  for (let from = 0; from < count; from += 2) {
    const middle = (from + count - 1) >>> 1;
    choose(from);
    choose(middle);
    // It then has the smaller of them to the left, and the other one behind it.
    const [second = 0, half = 0] = [places[from + 1], places[middle]];
    places[from + 1] = half;
    places[middle] = second;
  }
  for (let at = 0; at < count; at += 1) choose(at);
  return chosen;
}

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
