import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appended, find, lengthOf, without } from '../../../src/cluster/tasks/chain.ts';

interface Bead {
  readonly name: string;
  next: Bead | undefined;
}

function beads(...names: readonly string[]): { first: Bead | undefined; all: readonly Bead[] } {
  const all = names.map((name): Bead => ({ name, next: undefined }));
  let first: Bead | undefined;
  for (const bead of all) first = appended(first, bead);
  return { first, all };
}

function namesOf(first: Bead | undefined): readonly string[] {
  const names: string[] = [];
  for (let bead = first; bead !== undefined; bead = bead.next) names.push(bead.name);
  return names;
}

test('members are in the order in which they were appended', () => {
  assert.deepEqual(namesOf(beads('a', 'b', 'c').first), ['a', 'b', 'c']);
  assert.equal(lengthOf(beads('a', 'b', 'c').first), 3);
  assert.equal(lengthOf<Bead>(undefined), 0);
});

test('an appended member drops its former link', () => {
  const { all } = beads('a', 'b');
  const [a] = all;
  assert.ok(a?.next !== undefined);
  assert.deepEqual(namesOf(appended(undefined, a)), ['a']);
});

test('any member can be removed: the first, a middle one, the last, and one that is not there', () => {
  for (const [out, left] of [
    [0, ['b', 'c']],
    [1, ['a', 'c']],
    [2, ['a', 'b']],
  ] as const) {
    const { first, all } = beads('a', 'b', 'c');
    const member = all[out];
    assert.ok(first !== undefined && member !== undefined);
    assert.deepEqual(namesOf(without(first, member)), left);
  }
  const { first } = beads('a', 'b');
  assert.ok(first !== undefined);
  assert.deepEqual(namesOf(without(first, { name: 'x', next: undefined })), ['a', 'b']);
  const [only] = beads('a').all;
  assert.ok(only !== undefined);
  assert.equal(without(only, only), undefined);
});

test('find returns the first match or undefined', () => {
  const { first, all } = beads('a', 'b', 'b');
  assert.equal(
    find(first, ({ name }) => name === 'b'),
    all[1],
  );
  assert.equal(
    find(first, ({ name }) => name === 'x'),
    undefined,
  );
});
