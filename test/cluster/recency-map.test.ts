import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RecencyMap } from '../../src/cluster/recency-map.ts';

test('an empty map has nothing to take, use or delete', () => {
  const map = new RecencyMap<number>();
  assert.equal(map.takeOldest(), undefined);
  assert.equal(map.use('a'), undefined);
  map.delete('a');
  assert.deepEqual([...map.values()], []);
  assert.equal(map.size, 0);
});

test('a used entry becomes the most recent', () => {
  const map = new RecencyMap<number>();
  for (const [index, key] of ['a', 'b', 'c'].entries()) map.add(key, index);
  assert.equal(map.use('a'), 0);
  assert.deepEqual([...map.values()], [1, 2, 0]);
});

test('an entry may be deleted during iteration', () => {
  const map = new RecencyMap<number>();
  for (const [index, key] of ['a', 'b', 'c', 'd'].entries()) map.add(key, index);
  for (const value of map.values()) if (value % 2 === 0) map.delete('abcd'.charAt(value));
  assert.deepEqual([...map.values()], [1, 3]);
});

type Step = readonly ['add' | 'use' | 'delete' | 'take', string];

/** A Map re-inserted into keeps the same order, only slower. */
function model(steps: readonly Step[]): { told: readonly unknown[]; left: readonly unknown[] } {
  const map = new Map<string, number>();
  const told = steps.map(([what, key], index) => {
    const value = map.get(key);
    if (what === 'take') {
      const [first] = map;
      if (first !== undefined) map.delete(first[0]);
      return first?.[1];
    }
    if (what === 'delete') return map.delete(key) && undefined;
    if (value !== undefined || what === 'add') {
      map.delete(key);
      map.set(key, value ?? index);
    }
    return value;
  });
  return { told: told.map((value) => (value === false ? undefined : value)), left: [...map.values()] };
}

test('any operations give the same result as a Map with re-insertion', () => {
  const step = fc.tuple(
    fc.constantFrom('add', 'use', 'delete', 'take'),
    fc.constantFrom('a', 'b', 'c', 'd', 'e', '__proto__', 'constructor'),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const map = new RecencyMap<number>();
      const told = steps.map(([what, key], index) => {
        if (what === 'take') return map.takeOldest();
        if (what === 'delete') {
          map.delete(key);
          return undefined;
        }
        const value = map.use(key);
        if (value === undefined && what === 'add') map.add(key, index);
        return value;
      });
      const expected = model(steps);
      assert.deepEqual(told, expected.told);
      assert.deepEqual([...map.values()], expected.left);
      assert.equal(map.size, expected.left.length);
    }),
    { numRuns: 2_000, seed: 20_261_121 },
  );
});
