import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explicitBuckets } from '../../src/otlp/explicit-buckets.ts';

test('a value on a bound is in the bucket below it', () => {
  const buckets = explicitBuckets([1, 2]).begin();
  for (const value of [0, 1, 1.5, 2, 2.5]) buckets.measure(value);
  assert.deepEqual(buckets.value(), {
    buckets: { boundaries: [1, 2], counts: [2, 2, 1] },
    count: 5,
    sum: 7,
    min: 0,
    max: 2.5,
  });
});

test('bounds are put in order, and infinite ones are those that every histogram has', () => {
  const buckets = explicitBuckets([Infinity, 3, 1, -Infinity]).begin();
  buckets.measure(2);
  assert.deepEqual(buckets.value().buckets, { boundaries: [1, 3], counts: [0, 1, 0] });
});

test('what was taken is not changed by what is measured afterwards', () => {
  const buckets = explicitBuckets([1]).begin();
  buckets.measure(1);
  const before = buckets.value();
  buckets.measure(5);
  assert.deepEqual(before.buckets.counts, [1, 0]);
  assert.equal(before.sum, 1);
});
