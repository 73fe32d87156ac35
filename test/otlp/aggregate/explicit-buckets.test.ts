import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explicitBuckets } from '../../../src/otlp/aggregate/explicit-buckets.ts';
import { fc } from '../../seed.ts';
import { bothWays, stepsWith } from './absorption.ts';

test('a collected point does not change with later measurements', () => {
  const buckets = explicitBuckets([1]).begin();
  buckets.measure(1);
  const before = buckets.value();
  buckets.measure(5);
  assert.deepEqual(before.buckets.counts, [1, 0]);
  assert.equal(before.sum, 1);
});

test('a merge of an unsent point is as if its values had been measured here', () => {
  // Eighths add up exactly in whatever order, and are often on a bound.
  const value = fc.nat(100).map((eighths) => eighths / 8);
  for (const recordMinMax of [true, false])
    fc.assert(
      fc.property(stepsWith(value), (steps) => {
        const { alone, together } = bothWays(explicitBuckets([0, 0.5, 1, 2, 8], { recordMinMax }), steps);
        assert.deepEqual(together, alone);
      }),
    );
});

test('a value that would overflow the sum is refused, and a merge is clamped', () => {
  const aggregation = explicitBuckets([1]);
  const [buckets, other] = [aggregation.begin(), aggregation.begin()];
  for (const each of [buckets, other]) {
    assert.equal(each.measure(Number.MAX_VALUE), true);
    assert.equal(each.measure(Number.MAX_VALUE), false);
    assert.equal(each.measure(1), true);
  }
  assert.equal(buckets.absorb(other.value()), false);
  assert.equal(buckets.absorb(aggregation.begin().value()), true);
  const { count, sum } = buckets.value();
  assert.deepEqual([count, sum], [4, Number.MAX_VALUE]);
});
