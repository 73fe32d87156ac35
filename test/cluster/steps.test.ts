import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inSteps } from '../../src/cluster/steps.ts';

test('work on many items pauses after a fixed number, and not at the end', () => {
  const seen: number[] = [];
  const steps = inSteps([1, 2, 3, 4], 2, (thing) => seen.push(thing));
  assert.deepEqual([steps.next().done, [...seen]], [false, [1, 2]]);
  assert.deepEqual([steps.next().done, [...seen]], [true, [1, 2, 3, 4]]);
});

test('without items there is no pause', () => {
  assert.equal(inSteps([], 1, () => assert.fail()).next().done, true);
});

test('items added or removed meanwhile change nothing', () => {
  const things = new Set(['a', 'b', 'c']);
  const seen: string[] = [];
  for (const _ of inSteps(things, 1, (thing) => seen.push(thing))) {
    things.delete('b');
    things.add('d');
  }
  assert.deepEqual(seen, ['a', 'b', 'c']);
});
