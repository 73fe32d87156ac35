import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSeriesTree } from '../../src/meter/series-tree.ts';

test('equal values find the same object, frozen, and other values another', () => {
  const tree = createSeriesTree(['a', 'b'], (attributes) => attributes);
  const found = tree.of(['x', 'yz']);
  assert.deepEqual(found, { a: 'x', b: 'yz' });
  assert.ok(Object.isFrozen(found));
  assert.equal(tree.of(['x', 'yz']), found);
  for (const others of [['xy', 'z'], ['x'], ['x', true], ['x', 'true']] as const)
    assert.notEqual(tree.of(others), found, others.join());
  assert.equal(tree.of(['x', 'yz']), found);
});

test('values that not every point has are left out where they are undefined', () => {
  const tree = createSeriesTree(['a', 'b'], (attributes) => attributes);
  const found = tree.of(['x', undefined]);
  assert.deepEqual(found, { a: 'x' });
  assert.equal(tree.of(['x', undefined]), found);
});

test('a value without a key is on no series and makes none', () => {
  const tree = createSeriesTree(['a', undefined, 'c'], (attributes) => attributes);
  const found = tree.of(['x', 'one', 'z']);
  assert.deepEqual(found, { a: 'x', c: 'z' });
  assert.equal(tree.of(['x', 'another', 'z']), found);
  assert.notEqual(tree.of(['x', 'one', 'other']), found);
});

test('names of object members are values like any other', () => {
  const tree = createSeriesTree(['a'], (attributes) => attributes);
  for (const value of ['__proto__', 'constructor', '']) assert.deepEqual(tree.of([value]), { a: value });
});

test('one series too many lets go of all before it', () => {
  const tree = createSeriesTree(['a'], (attributes) => attributes);
  const first = tree.of(['0']);
  for (let index = 0; index < 10_000; index += 1) tree.of([`${index}`]);
  assert.equal(tree.of(['0']), first);
  tree.of(['one too many']);
  const again = tree.of(['0']);
  assert.notEqual(again, first);
  assert.deepEqual(again, first);
});
