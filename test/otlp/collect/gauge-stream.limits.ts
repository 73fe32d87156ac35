/** How much memory gauges take for series that have no place. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bound } from '../../bound.ts';
import { gaugeOf } from './collected-gauge.ts';

/** Kept, they take 120 MB. */
const GROWN_BYTES_MAX = 60e6;

test('series beyond those that can have a place take no memory', (t) => {
  const before = process.memoryUsage().heapUsed;
  const { observe, collect } = gaugeOf({ limit: 10 });
  for (let worker = 0; worker < 100_000; worker += 1) {
    observe(1, { worker: `${worker}-${'x'.repeat(500)}` });
  }
  assert.equal(collect()?.pointCount, 10);
  const grown = process.memoryUsage().heapUsed - before;
  bound(t, 'heap for 100,000 gauge series without a place', grown / 1e6, GROWN_BYTES_MAX / 1e6, 'MB');
});
