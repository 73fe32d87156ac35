/** The index of tasks behaves as a Map, whatever collides. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Task } from '../../../src/cluster/tasks/task.ts';
import { TaskIndex } from '../../../src/cluster/tasks/task-index.ts';
import { TaskKey } from '../../../src/cluster/tasks/task-key.ts';
import { TaskNumbers } from '../../../src/cluster/tasks/task-numbers.ts';
import { fc } from '../../seed.ts';

/** A key of which the hashes are what `change` makes of them. */
class ChangedKey extends TaskKey {
  readonly #change: (hash: number) => number;

  constructor(change: (hash: number) => number) {
    super(4711);
    this.#change = change;
  }

  override hashOf(words: Uint32Array, from: number): number {
    return this.#change(super.hashOf(words, from)) >>> 0;
  }
}

/** Adds and deletes, with places that are used again as those of the task table. */
function follow(ids: readonly string[], change = (hash: number) => hash): void {
  const numbers = new TaskNumbers(ids.length);
  const key = new ChangedKey(change);
  const index = new TaskIndex(numbers, key);
  const known = new Map<string, Task>();
  const free: number[] = [];
  for (const id of ids) {
    const entry = known.get(id);
    key.of(id);
    assert.equal(index.find(key), entry);
    if (entry === undefined) {
      const added = new Task(free.pop() ?? known.size);
      added.begin(key.text);
      numbers.begin(added.place, key);
      known.set(id, added);
      index.add(added);
    } else {
      known.delete(id);
      index.delete(entry);
      free.push(entry.place);
    }
    assert.equal(index.size, known.size);
  }
  for (const id of new Set(ids)) {
    key.of(id);
    assert.equal(index.find(key), known.get(id));
  }
}

function uuid(number: number): string {
  return `${number.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
}

const FEW = fc.array(
  fc.nat(60).map((number) => (number % 3 === 0 ? `task-${number}` : uuid(number))),
  { maxLength: 400 },
);

test('it finds what was added and not deleted, if the hashes differ', () => {
  fc.assert(fc.property(FEW, (ids) => follow(ids)));
});

test('it does so if all hashes are equal, or few, or at the end of the table', () => {
  fc.assert(fc.property(FEW, (ids) => follow(ids, () => 2 ** 32 - 1)));
  fc.assert(fc.property(FEW, (ids) => follow(ids, (hash) => (hash % 3) << 21)));
  fc.assert(fc.property(FEW, (ids) => follow(ids, (hash) => 2 ** 32 - 1 - (hash & 7) * 2 ** 20)));
});

test('it grows with a hundred thousand tasks, and stays right as they come and go', () => {
  const ids = Array.from({ length: 100_000 }, (_, number) => uuid(number));
  follow([...ids, ...ids.slice(0, 60_000), ...ids.slice(30_000, 90_000)]);
});
