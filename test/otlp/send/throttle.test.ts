import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createThrottle } from '../../../src/otlp/send/throttle.ts';

const NOW_MS = 1_000_000;
const FIVE_MINUTES_MS = 300_000;

test('without a retry delay there is no throttle', () => {
  assert.equal(createThrottle().left(NOW_MS), undefined);
});

test('a throttle lasts as long as requested, and keeps its reason', () => {
  const throttle = createThrottle();
  throttle.begin('overloaded', 1500, NOW_MS);
  assert.deepEqual(throttle.left(NOW_MS), { reason: 'overloaded', ms: 1500 });
  assert.deepEqual(throttle.left(NOW_MS + 1499), { reason: 'overloaded', ms: 1 });
  assert.equal(throttle.left(NOW_MS + 1500), undefined);
});

for (const askedMs of [FIVE_MINUTES_MS, FIVE_MINUTES_MS + 1, 86_400_000, Number.MAX_VALUE, Infinity]) {
  test(`a backend that requests ${askedMs} ms is retried after five minutes`, () => {
    const throttle = createThrottle();
    throttle.begin('for ever', askedMs, NOW_MS);
    assert.deepEqual(throttle.left(NOW_MS + FIVE_MINUTES_MS - 1), { reason: 'for ever', ms: 1 });
    assert.equal(throttle.left(NOW_MS + FIVE_MINUTES_MS), undefined);
  });
}

test('the latest throttle counts', () => {
  const throttle = createThrottle();
  throttle.begin('first', 5000, NOW_MS);
  throttle.begin('second', 2000, NOW_MS + 1000);
  assert.deepEqual(throttle.left(NOW_MS + 1000), { reason: 'second', ms: 2000 });
});
