import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pool } from '../../src/cluster/pool.ts';

test('returned objects are taken again, the last one first', () => {
  const pool = new Pool<number>();
  for (const item of [1, 2, 3]) pool.give(item);
  assert.deepEqual([pool.take(), pool.take(), pool.take(), pool.take()], [3, 2, 1, undefined]);
});

test('after a flood only a limited number of objects is kept', () => {
  const pool = new Pool<number>();
  for (let item = 0; item < 100_000; item += 1) pool.give(item);
  let kept = 0;
  while (pool.take() !== undefined) kept += 1;
  assert.equal(kept, 2_000);
});
