/** What may be wrong with tasks and workers lately: named, counted, bounded, and over after its time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Observation } from '../../../src/cluster/observation.ts';
import { Activity } from '../../../src/service/activity/activity.ts';

const MINUTE_MS = 60_000;
/** Any time of a clock. */
const START_MS = 1_700_000_000_000;

function run(task: string) {
  return { run: { task, queue: 'celery', worker: 'w1@a' } } as const;
}

const ended = (task: string, kind: 'task-succeeded' | 'task-failed'): Observation =>
  kind === 'task-failed'
    ? { kind, ...run(task), errorType: 'ValueError', runtimeS: 1 }
    : { kind, ...run(task), runtimeS: 1 };

function activityWith(...observations: readonly (readonly [atMs: number, observation: Observation])[]) {
  const activity = new Activity();
  for (const [atMs, observation] of observations) activity.observe(observation, START_MS + atMs);
  return { at: (atMs: number) => activity.troubles(START_MS + atMs) };
}

test('failures and losses of the last minutes are counted, a refuted loss is none, and a first failure lasts an hour', () => {
  const { at } = activityWith(
    [0, ended('shop.pay', 'task-succeeded')],
    [1000, ended('shop.pay', 'task-failed')],
    [1000, { kind: 'task-lost', ...run('shop.mail') }],
    [1000, { kind: 'task-lost', ...run('shop.ship') }],
    [2000, { kind: 'loss-refuted', ...run('shop.ship') }],
    [2000, ended('shop.fine', 'task-succeeded')],
  );
  assert.deepEqual(
    at(3000).tasks.map(({ task, failed, ended: runs, lost, isFirstFailure, errors }) => [
      ...[task, failed, runs, lost, isFirstFailure, errors],
    ]),
    [
      ['shop.pay', 1, 2, 0, true, [['ValueError', 1]]],
      ['shop.mail', 0, 0, 1, false, []],
    ],
  );
  const later = at(20 * MINUTE_MS).tasks.map(({ task, failed, isFirstFailure }) => [
    task,
    failed,
    isFirstFailure,
  ]);
  assert.deepEqual(later, [['shop.pay', 0, true]]);
  assert.deepEqual(at(62 * MINUTE_MS).tasks, []);
});

test('a worker that is restarted without a goodbye again and again is named for half an hour; a goodbye is none', () => {
  const exit = (worker: string, reason: 'goodbye' | 'silence' | 'replaced' | 'restarted'): Observation => ({
    kind: 'worker-exited',
    worker,
    reason,
  });
  const { at } = activityWith(
    [0, exit('w1@a', 'replaced')],
    [MINUTE_MS, exit('w1@a', 'restarted')],
    [2 * MINUTE_MS, exit('w1@a', 'restarted')],
    [2 * MINUTE_MS, exit('w2@a', 'goodbye')],
    [2 * MINUTE_MS, exit('w3@a', 'silence')],
  );
  assert.deepEqual(at(3 * MINUTE_MS).crashes, [{ worker: 'w1@a', count: 3 }]);
  assert.deepEqual(at(31 * MINUTE_MS).crashes, [{ worker: 'w1@a', count: 2 }]);
  assert.deepEqual(at(40 * MINUTE_MS).crashes, []);
});

test('events that did not arrive are counted by worker for ten minutes', () => {
  const progressed = (eventsLost: number): Observation => ({
    ...{ kind: 'worker-progressed', worker: 'w1@a', processed: 9, eventsLost },
  });
  const { at } = activityWith([0, progressed(0)], [1000, progressed(2)], [2000, progressed(3)]);
  assert.deepEqual(at(3000).eventsLost, [{ worker: 'w1@a', count: 5 }]);
  assert.deepEqual(at(11 * MINUTE_MS).eventsLost, []);
});

test('names are bounded, and the worst ones are named', () => {
  const many = Array.from({ length: 2000 }, (_, index): [number, Observation] => [
    index,
    index % 2 === 0
      ? { kind: 'worker-exited', worker: `w${index}@a`, reason: 'restarted' }
      : ended(`shop.task${index}`, 'task-failed'),
  ]);
  const { at } = activityWith(...many, [3000, ended('shop.task1', 'task-failed')]);
  const { tasks, failed, lost, crashes } = at(4000);
  assert.deepEqual([tasks.length, tasks[0]?.task, crashes.length], [20, 'shop.task1', 20]);
  assert.deepEqual([failed, lost], [1001, 0], 'of all');
});

test('after the last observation a reading contains all of them, although the clock stands still', () => {
  const activity = new Activity();
  const failed = () => activity.troubles(START_MS).failed;
  activity.observe(ended('shop.pay', 'task-failed'), START_MS);
  assert.equal(failed(), 1);
  activity.observe(ended('shop.pay', 'task-failed'), START_MS);
  assert.equal(failed(), 1, 'is cached for some seconds');
  activity.end();
  assert.equal(failed(), 2);
});
