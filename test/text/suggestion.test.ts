import assert from 'node:assert/strict';
import { test } from 'node:test';
import { editDistance, nearest } from '../../src/text/suggestion.ts';
import { fc } from '../seed.ts';

test('a letter added, dropped, replaced or swapped is one edit', () => {
  const cases: [from: string, to: string, count: number][] = [
    ['run', 'run', 0],
    ['runn', 'run', 1],
    ['rn', 'run', 1],
    ['ran', 'run', 1],
    ['rnu', 'run', 1],
    ['', 'run', 3],
    ['brokre-ulr', 'broker-url', 2],
  ];
  for (const [from, to, count] of cases) assert.equal(editDistance(from, to), count, `${from} → ${to}`);
});

test('editDistance is symmetric, and 0 only for equal texts', () => {
  const word = fc.string({ maxLength: 12, unit: fc.constantFrom('a', 'b', '-') });
  fc.assert(
    fc.property(word, word, (a, b) => {
      assert.equal(editDistance(a, b), editDistance(b, a));
      assert.equal(editDistance(a, b) === 0, a === b);
      assert.ok(editDistance(a, b) <= Math.max(a.length, b.length));
    }),
  );
});

test('the nearest name is found if it is near', () => {
  const words = ['warn', 'info', 'silent'] as const;
  assert.equal(nearest('wran', words), 'warn');
  assert.equal(nearest('silence', words), 'silent');
  assert.equal(nearest('quiet', words), undefined);
});
