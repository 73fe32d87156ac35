import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashOf, TaskKey } from '../../../src/cluster/tasks/task-key.ts';
import { fingerprint, TaskNumbers } from '../../../src/cluster/tasks/task-numbers.ts';

const REMEMBERED = 12;
const UUID = '0f8fad5b-d9cb-469f-a165-70867728950e';

function keyOf(id: string): TaskKey {
  const key = new TaskKey().of(id);
  return key;
}

function numbersOf(tasksMax: number, ...places: readonly number[]): TaskNumbers {
  const numbers = new TaskNumbers(tasksMax);
  for (const place of places) numbers.begin(place, keyOf(`task ${place}`));
  return numbers;
}

test('an event is a duplicate if it is among the last twelve of its task, and of no other task', () => {
  const prints = numbersOf(1_000, 7, 8, 999);
  for (let print = 1; print <= REMEMBERED; print += 1) assert.ok(!prints.isRepeat(7, print));
  for (let print = 1; print <= REMEMBERED; print += 1) assert.ok(prints.isRepeat(7, print));
  assert.ok(!prints.isRepeat(8, 1));
  assert.ok(!prints.isRepeat(7, 99));
  assert.ok(!prints.isRepeat(7, 1), 'the oldest made room');
  assert.ok(prints.isRepeat(7, 3));
});

test('another task at the same place has no events', () => {
  const prints = numbersOf(1_000, 7);
  assert.ok(!prints.isRepeat(7, 1));
  const key = keyOf(UUID);
  prints.begin(7, key);
  assert.equal(prints.hash(7, key), key.hash);
  assert.equal(prints.uuid(7), UUID);
  prints.begin(999, keyOf('another'));
  assert.ok(prints.hasWords(7, key) && !prints.hasWords(999, key));
  assert.ok(!prints.isRepeat(7, 1));
});

test('it grows with the places in use and keeps its content', () => {
  const prints = numbersOf(100_000, 0, 1_023, 1_024, 50_000, 99_999);
  for (const place of [0, 1_023, 1_024, 50_000, 99_999]) assert.ok(!prints.isRepeat(place, 5), String(place));
  for (const place of [0, 1_023, 1_024, 50_000, 99_999]) assert.ok(prints.isRepeat(place, 5), String(place));
});

test('any difference between two events gives different fingerprints', () => {
  type Parts = Parameters<typeof fingerprint>;
  const base: Parts = [1, hashOf('w1@shop') ^ 17, 40, 1_795_260_275_000.25];
  const others: readonly Parts[] = [
    [2, base[1], base[2], base[3]],
    [base[0], hashOf('w2@shop') ^ 17, base[2], base[3]],
    [base[0], hashOf('w1@shop') ^ 18, base[2], base[3]],
    [base[0], base[1], 41, base[3]],
    [base[0], base[1], -1, base[3]],
    [base[0], base[1], base[2], base[3] + 0.25],
    [base[0], base[1], base[2], base[3] + 1],
  ];
  const prints = new Set([base, ...others].map((parts) => fingerprint(...parts)));
  assert.equal(prints.size, others.length + 1);
  assert.equal(fingerprint(...base), fingerprint(...base));
  assert.notEqual(fingerprint(0, 0, 0, 0), 0);
});

test('the fingerprints of a hundred thousand usual events hardly ever collide', () => {
  const prints = new Set<number>();
  const sender = hashOf('celery@worker-7f9c') ^ 31;
  for (let index = 0; index < 100_000; index += 1) {
    prints.add(fingerprint((index % 8) + 1, sender, index, 1_795_260_275_000 + index * 0.731));
  }
  // By chance about one pair would among so many of 32 bits.
  assert.ok(prints.size >= 99_990, String(prints.size));
});

test('it knows in seconds when the last event of each task arrived, in the time of a recording too', () => {
  const events = numbersOf(100_000, 7, 99_999);
  for (const ms of [1_000, 1_790_000_000_000, 2_200_000_000_000, 2 ** 32 * 1000 - 6_000]) {
    events.noteEvent(7, ms + 999);
    events.noteEvent(99_999, ms + 5_999);
    assert.deepEqual([events.lastEventMs(7), events.lastEventMs(99_999)], [ms, ms + 5_000]);
  }
});
