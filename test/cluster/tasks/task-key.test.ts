/** Keys tell all ids apart, and spread ids that were chosen to collide. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TaskKey, uuidOf } from '../../../src/cluster/tasks/task-key.ts';
import { fc } from '../../seed.ts';

const UUID = fc.uuid().map((uuid) => uuid.toLowerCase());
const SEED = fc.integer({ min: 0, max: 2 ** 32 - 1 });

function partsOf(id: string, seed?: number): string {
  const key = new TaskKey(seed).of(id);
  assert.equal(key.hash, key.hashOf(key.words, 0));
  assert.ok(key.hash >= 0 && key.hash < 2 ** 32);
  return `${key.words} ${key.text}`;
}

test('a uuid is kept in its words alone, and any other id as a text', () => {
  fc.assert(
    fc.property(UUID, SEED, (uuid, seed) => {
      const key = new TaskKey(seed).of(uuid);
      assert.equal(key.text, '');
      assert.equal(uuidOf(key.words, 0), uuid);
    }),
  );
  const uuid = '0f8fad5b-d9cb-469f-a165-70867728950e';
  const others = [
    uuid.toUpperCase(),
    uuid.replaceAll('-', ''),
    uuid.replace('-', '0'),
    uuid.replace('f', 'g'),
    uuid.replace('e', '\u0665'),
    uuid.slice(1),
    `${uuid}0`,
    `${uuid.slice(0, -1)}\u0130`,
    `${uuid.slice(0, -1)}-`,
    ...Array.from(uuid, (_, at) => `${uuid.slice(0, at)}x${uuid.slice(at + 1)}`),
    'order-17',
    '',
  ];
  for (const id of others) {
    const key = new TaskKey().of(uuid);
    key.of(id);
    assert.equal(key.text, id);
    assert.notDeepEqual(partsOf(id), partsOf(uuid));
  }
});

test('different ids have different keys, whatever was read before', () => {
  const id = fc.oneof(
    UUID,
    fc.string(),
    UUID.map((uuid) => uuid.toUpperCase()),
  );
  fc.assert(
    fc.property(id, id, SEED, (one, other, seed) => {
      assert.equal(partsOf(one, seed) === partsOf(other, seed), one === other);
    }),
  );
});

/** The most ids that begin in one slot of a table for twice as many. */
function mostInOneSlot(ids: readonly string[], seed: number): number {
  const key = new TaskKey(seed);
  const shift = 31 - Math.ceil(Math.log2(ids.length));
  const slots = new Map<number, number>();
  for (const id of ids) {
    key.of(id);
    const slot = key.hash >>> shift;
    slots.set(slot, (slots.get(slot) ?? 0) + 1);
  }
  return Math.max(...slots.values());
}

const PATTERNS: Readonly<Record<string, (number: number) => string>> = {
  'the first digits': (number) => `${number.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`,
  'the last digits': (number) => `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`,
  'the high bits of all words': (number) => {
    const digit = (shift: number) => ((number >> shift) & 15).toString(16);
    return `${digit(0)}0000000-${digit(4)}000-4000-${digit(8)}000-0000${digit(12)}0000000`;
  },
  'a decimal number': (number) => `${number * 2 ** 20}`,
};

for (const [what, idOf] of Object.entries(PATTERNS)) {
  test(`ids that differ in ${what} are spread over the table, by any seed`, () => {
    const ids = Array.from({ length: 65_536 }, (_, number) => idOf(number));
    for (const seed of [0, 1, 0x811c9dc5, 2 ** 31, 0xdeadbeef, 4711]) {
      const most = mostInOneSlot(ids, seed);
      assert.ok(most <= 64, `${most} in one slot, seed ${seed}`);
    }
  });
}

test('another seed spreads the same ids otherwise', () => {
  const hashes = (seed: number) =>
    Array.from({ length: 100 }, (_, number) => {
      const key = new TaskKey(seed).of(`${number.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`);
      return key.hash;
    });
  assert.equal(new Set([...hashes(1), ...hashes(2)]).size, 200);
});
