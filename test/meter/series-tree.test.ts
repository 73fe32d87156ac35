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

test('of too many series those are let go of that were not used for longest', () => {
  const tree = createSeriesTree(['a'], (attributes) => attributes);
  const [first, used] = [tree.of(['0']), tree.of(['used'])];
  const others = (from: number): void => {
    for (let index = from; index < from + 10_000; index += 1) tree.of([`${index}`]);
  };
  others(0);
  assert.equal(tree.of(['used']), used);
  others(10_000);
  assert.equal(tree.of(['used']), used);
  others(20_000);
  assert.equal(tree.of(['used']), used);
  const again = tree.of(['0']);
  assert.notEqual(again, first);
  assert.deepEqual(again, first);
});

test('of long values fewer are kept: they are bounded in characters too', () => {
  let made = 0;
  const tree = createSeriesTree(['a'], () => (made += 1));
  const of = (index: number) => tree.of([`${index} `.padEnd(1000, 'x')]);
  for (let index = 0; index < 2_500; index += 1) of(index);
  assert.equal(of(1_800), 1_801, 'it was used lately');
  assert.equal(of(0), 2_501, 'it was let go of');
});
