/** How long tasks wait in a worker that has received them, by its heartbeats: it may have gone on without them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WorkerSignal } from '../../src/celery/event.ts';
import { received, sent, signal, started, succeeded, T0_MS, watch } from './events.ts';
import { report, type Story } from './stories.ts';

const uuids = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `u${from + index}`);
const take = (all: readonly string[], atS: number, over = {}): Story =>
  all.flatMap((uuid) => [
    [atS, sent({ uuid })],
    [atS, received({ uuid, ...over })],
  ]);
const begin = (all: readonly string[], atS: number): Story => all.map((uuid) => [atS, started({ uuid })]);
const end = (all: readonly string[], atS: number): Story => all.map((uuid) => [atS, succeeded({ uuid })]);
const beat = (atS: number, active: number, processed: number, over: Partial<WorkerSignal> = {}): Story => [
  [atS, signal('worker-heartbeat', { active, processed, clock: -1, ...over })],
];
/** One each two seconds. */
const beats = (fromS: number, toS: number, active: number, processed: number): Story =>
  Array.from({ length: (toS - fromS) / 2 }, (_, index) => beat(fromS + 2 * index, active, processed)).flat();

function held(atS: number, ...stories: readonly Story[]): readonly (number | undefined)[] {
  const on = watch();
  for (const story of stories) report(on, story);
  const { workers, queues } = on.cluster.collect(T0_MS + 1000 * atS);
  return [workers[0]?.prefetched, workers[0]?.scheduled, queues[0]?.waitingAgeS];
}

test('tasks that a worker has begun without a word wait no longer, as a heartbeat shows that runs nothing', () => {
  const before: Story = [
    ...beat(0, 0, 0),
    ...take(uuids(0, 4), 1),
    ...begin(uuids(0, 2), 1),
    ...beat(2, 2, 2),
  ];
  assert.deepEqual(held(3, before), [2, 0, 2]);
  // Its events were switched off.
  assert.deepEqual(held(10.5, before, beat(10, 0, 10)), [2, 0, 9.5], 'events from before may arrive');
  assert.deepEqual(held(12, before, beat(10, 0, 10)), [0, 0, 0]);
  assert.deepEqual(held(12, before, beat(10, 0, 2)), [2, 0, 11], 'they may have a rate limit');
  assert.deepEqual(
    held(12, before, beat(10, 1, 10)),
    [2, 0, 11],
    'others may have begun, which send no events',
  );
});

test('one lost start stands for one task, however many with a rate limit wait in an idle worker', () => {
  const before: Story = [...beat(0, 0, 0), ...take(uuids(0, 10), 1)];
  assert.deepEqual(held(12, before, beat(10, 0, 1)), [9, 0, 11]);
  assert.deepEqual(held(14, before, beat(10, 0, 1), beat(12, 0, 3)), [7, 0, 13]);
  // Its end shows which one it was.
  const ended: Story = [...beat(4, 1, 1), ...end(['u3'], 5), ...beat(6, 0, 1), ...beat(16, 0, 1)];
  assert.deepEqual(held(18, before, ended), [9, 0, 17]);
});

test('a task that was taken after such a heartbeat waits, and so does one that is not due', () => {
  const before: Story = [
    ...beat(0, 0, 0),
    ...take(['u1'], 1),
    ...take(['eta'], 1, { etaMs: T0_MS + 60_000 }),
  ];
  assert.deepEqual(held(12, before, beat(10, 0, 5), take(['u2'], 9.5)), [1, 1, 2.5]);
});

test('starts that were counted when the worker was first seen were those of others', () => {
  assert.deepEqual(held(9, take(uuids(0, 2), 0), beat(2, 0, 5000), beat(4, 0, 5000)), [2, 0, 9]);
});

test('a worker that is never idle has begun what it took before it began more than it takes in advance', () => {
  const busy = (toS: number) =>
    Array.from({ length: toS / 2 }, (_, index) => beat(2 * index, 4, 10 * index)).flat();
  assert.deepEqual(held(202, busy(202), take(['u1'], 1)), [1, 0, 201]);
  assert.deepEqual(held(450, busy(450), take(['u1'], 1), take(['u2'], 440)), [1, 0, 10]);
});

test('a task that a worker does not begin, though it has nothing to do for five minutes, waits no longer', () => {
  const story: Story = [...beat(0, 0, 7), ...take(['u1'], 1)];
  assert.deepEqual(held(290, story, beats(2, 290, 0, 7)), [1, 0, 289], 'it may have a rate limit');
  assert.deepEqual(held(320, story, beats(2, 320, 0, 7)), [0, 0, 0]);
  assert.deepEqual(held(320, story, beats(2, 320, 1, 7)), [1, 0, 319], 'it is busy');
  assert.deepEqual(held(320, story), [0, 0, 319], 'it is down, and the broker has the task again');
  const late = take(['u2'], 300);
  assert.deepEqual(held(320, story, beats(2, 300, 0, 7), late, beats(302, 320, 0, 7)), [1, 0, 20]);
});
