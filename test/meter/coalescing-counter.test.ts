import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attributes, Counter } from '@opentelemetry/api';
import { createCoalescingCounter } from '../../src/meter/coalescing-counter.ts';
import { fc } from '../seed.ts';

function spyCounter(): { counter: Counter; adds: { amount: number; attributes: Attributes | undefined }[] } {
  const adds: { amount: number; attributes: Attributes | undefined }[] = [];
  return { counter: { add: (amount, attributes) => adds.push({ amount, attributes }) }, adds };
}

test('additions to a bound series are handed over as one sum, others at once', () => {
  const { counter, adds } = spyCounter();
  const coalescing = createCoalescingCounter(counter);
  const series = coalescing.bind({ a: 'x' });
  for (const amount of [1, 2, 3]) series.add(amount);
  coalescing.add(4, { a: 'y' });
  assert.deepEqual(adds, [{ amount: 4, attributes: { a: 'y' } }]);
  coalescing.flush();
  assert.deepEqual(adds.slice(1), [{ amount: 6, attributes: { a: 'x' } }]);
});

test('the sum handed over equals the sum added, whenever it is flushed', () => {
  const step = fc.oneof(
    fc.record({
      amount: fc.nat(100),
      series: fc.nat(2),
    }),
    fc.constant('flush' as const),
  );
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const { counter, adds } = spyCounter();
      const coalescing = createCoalescingCounter(counter);
      const bound = ['r', 's', '__proto__'].map((k) => coalescing.bind({ k }));
      let added = 0;
      for (const each of steps) {
        if (each === 'flush') coalescing.flush();
        else {
          bound[each.series]?.add(each.amount);
          added += each.amount;
        }
      }
      coalescing.flush();
      const handedOver = adds.length;
      coalescing.flush();
      assert.equal(adds.length, handedOver, 'nothing is handed over twice');
      assert.equal(
        adds.reduce((sum, { amount }) => sum + amount, 0),
        added,
      );
    }),
  );
});

test('a flood of distinct series is handed over early in small parts, and loses nothing', () => {
  const { counter, adds } = spyCounter();
  const coalescing = createCoalescingCounter(counter);
  let mostAtOnce = 0;
  for (let index = 0; index < 25_000; index += 1) {
    const before = adds.length;
    coalescing.bind({ k: `series ${index}` }).add(1);
    mostAtOnce = Math.max(mostAtOnce, adds.length - before);
    assert.ok(coalescing.waiting <= 10_000);
  }
  assert.equal(coalescing.waiting + adds.length, 25_000);
  assert.equal(mostAtOnce, 500);
  coalescing.flush(1000);
  assert.equal(coalescing.waiting, 9000, 'as many as were asked for');
  assert.equal(adds.at(-1)?.attributes?.['k'], 'series 15999', 'those that have waited for longest');
  coalescing.flush();
  assert.equal(new Set(adds.map(({ attributes }) => attributes?.['k'])).size, 25_000);
});

test('a kept series goes on after a hand-over with the same attributes, and is handed over only if it changed', () => {
  const { counter, adds } = spyCounter();
  const coalescing = createCoalescingCounter(counter);
  const series = coalescing.bind({ k: 'a' });
  series.add(2);
  coalescing.flush();
  coalescing.flush();
  series.add(3);
  series.add(0);
  coalescing.bind({ k: 'b' }).add(0);
  coalescing.flush();
  assert.deepEqual(
    adds.map(({ amount, attributes }) => [amount, attributes?.['k']]),
    [
      [2, 'a'],
      [3, 'a'],
      [0, 'b'],
    ],
  );
  assert.equal(adds[0]?.attributes, adds[1]?.attributes);
});
