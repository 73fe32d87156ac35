import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Observation } from '../../../src/cluster/observation.ts';
import { ENDS_MAX, LastEnds } from '../../../src/cluster/tasks/last-ends.ts';

const run = { task: 'pay', queue: 'orders', worker: 'w1@a' };
function note(ends: LastEnds, observation: Observation, nowMs: number): void {
  const passedOn: Observation[] = [];
  ends.nowMs = nowMs;
  ends.recording((it) => passedOn.push(it))(observation);
  assert.deepEqual(passedOn, [observation]);
}

const read = (ends: LastEnds, nowMs: number) =>
  [...ends.readings(nowMs)].map(({ task, end, ageS }) => [task, end, ageS]);

test('the newest end of each kind has its age, wherever it ran', () => {
  const ends = new LastEnds();
  note(ends, { kind: 'task-succeeded', run, runtimeS: 1 }, 1000);
  note(ends, { kind: 'task-failed', run, errorType: 'KeyError', runtimeS: 1 }, 2000);
  note(ends, { kind: 'task-succeeded', run: { ...run, worker: 'w2@b', queue: 'x' }, runtimeS: 1 }, 4000);
  assert.deepEqual(read(ends, 5000), [
    ['pay', 'succeeded', 1],
    ['pay', 'failed', 3],
  ]);
  // The clock was set back.
  assert.deepEqual(read(ends, 0), [
    ['pay', 'succeeded', 0],
    ['pay', 'failed', 0],
  ]);
});

test('every end of a run has its name, and nothing else is an end', () => {
  const observations: readonly Observation[] = [
    { kind: 'task-retried', run, errorType: 'E', runtimeS: 1 },
    { kind: 'task-rejected', run, requeue: false },
    { kind: 'task-rejected', run, requeue: true },
    { kind: 'task-revoked', run, revocation: 'expired' },
    { kind: 'task-cancelled', run },
    { kind: 'task-lost', run },
    { kind: 'task-sent', run },
    { kind: 'task-received', run, queueTimeS: 1 },
    { kind: 'task-started', run, waitTimeS: 1, prefetchTimeS: 1 },
    { kind: 'loss-refuted', run },
    { kind: 'worker-appeared', worker: 'w1@a' },
  ];
  const ends = new LastEnds();
  for (const observation of observations) note(ends, observation, 0);
  assert.deepEqual(
    read(ends, 0).map(([, end]) => end),
    ['retried', 'rejected', 'requeued', 'expired', 'cancelled', 'lost'],
  );
});

test('in a flood of names the tasks that were there first stay, and the others are counted', () => {
  const ends = new LastEnds();
  for (let index = 0; index < ENDS_MAX + 5; index += 1)
    note(ends, { kind: 'task-succeeded', run: { ...run, task: `t${index}` }, runtimeS: 1 }, index);
  const found = read(ends, ENDS_MAX);
  assert.equal(found.length, ENDS_MAX);
  assert.deepEqual(found[0], ['t0', 'succeeded', ENDS_MAX / 1000]);
  assert.equal(ends.notAdmitted, 5);
  note(ends, { kind: 'task-succeeded', run: { ...run, task: 't0' }, runtimeS: 1 }, ENDS_MAX);
  assert.deepEqual(read(ends, ENDS_MAX)[0], ['t0', 'succeeded', 0]);
});
