/** The index of tasks behaves as a Map, whatever collides. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hashOf, LastEvents } from '../../src/cluster/last-events.ts';
import { TaskIndex } from '../../src/cluster/task-index.ts';

interface Entry {
  readonly uuid: string;
  readonly place: number;
}

/** Adds and deletes, with places that are used again as those of the task table. */
function follow(uuids: readonly string[], hashes: (uuid: string) => number): void {
  const numbers = new LastEvents(uuids.length);
  const index = new TaskIndex<Entry>(numbers);
  const known = new Map<string, Entry>();
  const free: number[] = [];
  for (const uuid of uuids) {
    const entry = known.get(uuid);
    assert.equal(index.find(uuid, hashes(uuid)), entry);
    if (entry === undefined) {
      const added = { uuid, place: free.pop() ?? known.size };
      numbers.begin(added.place, hashes(uuid));
      known.set(uuid, added);
      index.add(added);
    } else {
      known.delete(uuid);
      index.delete(entry);
      free.push(entry.place);
    }
    assert.equal(index.size, known.size);
  }
  for (const uuid of new Set(uuids)) assert.equal(index.find(uuid, hashes(uuid)), known.get(uuid));
}

const FEW = fc.array(
  fc.nat(60).map((number) => `task-${number}`),
  { maxLength: 400 },
);

test('it finds what was added and not deleted, if the hashes differ', () => {
  fc.assert(fc.property(FEW, (uuids) => follow(uuids, (uuid) => hashOf(uuid) >>> 0)));
});

test('it does so if all hashes are equal, or few, or at the end of the table', () => {
  fc.assert(fc.property(FEW, (uuids) => follow(uuids, () => 2 ** 32 - 1)));
  fc.assert(fc.property(FEW, (uuids) => follow(uuids, (uuid) => (hashOf(uuid) >>> 0) % 3)));
  fc.assert(fc.property(FEW, (uuids) => follow(uuids, (uuid) => 2 ** 32 - 1 - (hashOf(uuid) & 7))));
});

test('it grows with a hundred thousand tasks, and stays right as they come and go', () => {
  const uuids = Array.from({ length: 100_000 }, (_, number) => `${number.toString(16)}-0000-4000-8000`);
  follow(
    [...uuids, ...uuids.slice(0, 60_000), ...uuids.slice(30_000, 90_000)],
    (uuid) => hashOf(uuid, 4711) >>> 0,
  );
});

test('another seed spreads the same uuids otherwise', () => {
  const colliding = (seed: number) =>
    new Set(Array.from({ length: 1000 }, (_, number) => hashOf(`${number}`, seed) & 0xffff));
  assert.notDeepEqual(colliding(1), colliding(2));
});
