/** The memory of texts that are cut. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { name } from '../../src/celery/fields.ts';
import { bound } from '../bound.ts';
import { heapBytes } from '../otlp/collect/memory.ts';

test('the removed part of a cut text is not kept in memory', (t) => {
  const before = heapBytes();
  const kept = Array.from({ length: 100 }, (_, index) => name(`${index} `.padEnd(100_000, '一'), 64));
  const grown = heapBytes() - before;
  assert.ok(kept.every((text) => text.length === 64));
  bound(t, 'heap of a hundred names that were cut', grown / 1e6, 1, 'MB');
});
