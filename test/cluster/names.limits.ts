/** How much memory the longest names take. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Names } from '../../src/cluster/names.ts';
import { bound } from '../bound.ts';
import { heapBytes } from '../otlp/collect/memory.ts';

const TAKEN_BYTES_MAX = 6_000_000;

/** One collection leaves what only the next one finds. */
function heldBytes(): number {
  return Array.from({ length: 3 }, heapBytes).at(-1) ?? Number.NaN;
}

test('the longest names are bounded in memory too', (t) => {
  const names = new Names();
  const before = heldBytes();
  for (let index = 0; index < 19_900; index += 1) {
    names.intern(Buffer.from(`${index}`.padEnd(255, '\u4e00'), 'utf16le').toString('utf16le'));
  }
  const taken = heldBytes() - before;
  assert.equal(names.intern('shop.pay'), 'shop.pay');
  bound(t, 'heap for 19,900 of the longest names', taken / 1e6, TAKEN_BYTES_MAX / 1e6, 'MB');
});
