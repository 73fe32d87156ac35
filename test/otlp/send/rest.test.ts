import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRest } from '../../../src/otlp/send/rest.ts';

const NOW_MS = 1_000_000;
const FIVE_MINUTES_MS = 300_000;

test('a backend that has not asked for a rest gets none', () => {
  assert.equal(createRest().left(NOW_MS), undefined);
});

test('a rest lasts for as long as was asked for, and its reason is kept', () => {
  const rest = createRest();
  rest.begin('overloaded', 1500, NOW_MS);
  assert.deepEqual(rest.left(NOW_MS), { reason: 'overloaded', ms: 1500 });
  assert.deepEqual(rest.left(NOW_MS + 1499), { reason: 'overloaded', ms: 1 });
  assert.equal(rest.left(NOW_MS + 1500), undefined);
});

for (const askedMs of [FIVE_MINUTES_MS, FIVE_MINUTES_MS + 1, 86_400_000, Number.MAX_VALUE, Infinity]) {
  test(`whoever asks for ${askedMs} ms is asked again after five minutes`, () => {
    const rest = createRest();
    rest.begin('for ever', askedMs, NOW_MS);
    assert.deepEqual(rest.left(NOW_MS + FIVE_MINUTES_MS - 1), { reason: 'for ever', ms: 1 });
    assert.equal(rest.left(NOW_MS + FIVE_MINUTES_MS), undefined);
  });
}

test('the newest rest counts', () => {
  const rest = createRest();
  rest.begin('first', 5000, NOW_MS);
  rest.begin('second', 2000, NOW_MS + 1000);
  assert.deepEqual(rest.left(NOW_MS + 1000), { reason: 'second', ms: 2000 });
});
