import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cut } from '../../src/cluster/cut.ts';
import { heapBytes } from '../otlp/collect/memory.ts';

test('a text is cut where it is too long, and never through a character', () => {
  assert.equal(cut('5.7.0', 5), '5.7.0');
  assert.equal(cut('5.7.0', 3), '5.7');
  assert.equal(cut('ab😀', 3), 'ab\ufffd');
  assert.equal(cut('', 3), '');
});

test('what is cut off is not kept in memory', () => {
  const before = heapBytes();
  const kept = Array.from({ length: 100 }, (_, index) => cut(`${index} `.padEnd(100_000, '一'), 64));
  const grown = heapBytes() - before;
  assert.equal(kept.length, 100);
  assert.ok(grown < 1e6, `${grown} bytes`);
});
