/** What is kept for the status costs per observation, and in memory when it is full of hostile names. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Observation } from '../../../src/cluster/observation.ts';
import { Activity, TASKS_MAX } from '../../../src/service/activity/activity.ts';
import { RememberedRuns } from '../../../src/service/activity/remembered-runs.ts';
import { bound } from '../../bound.ts';
import { normalMs } from '../../processor-time.ts';
import { finishedRun } from './finished-run.ts';

const ROUNDS = 1_000_000;
const NAMES = 200;
/** An event takes some microseconds. */
const NANOSECONDS_MAX = 300;
const MEGABYTES_MAX = 40;
const RUNS = 1_000_000;
/** As the option states, and a tenth. */
const RUN_BYTES_MAX = 165;
const STEP_MS_MAX = 50;
const START_MS = 1_790_000_000_000;

function observationOf(name: number): Observation {
  const run = { task: `shop.task_${name}`, queue: `queue ${name % 20}`, worker: 'w1@a' };
  return { kind: 'task-succeeded', run, runtimeS: 0.01 * (1 + (name % 100)) };
}

test('an observation costs a fraction of an event', (t) => {
  const activity = new Activity();
  const observations = Array.from({ length: NAMES }, (_, name) => observationOf(name));
  const work = (): void => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const it = observations[round % NAMES];
      if (it !== undefined) activity.observe(it, START_MS + round);
    }
  };
  work();
  const nanoseconds = (normalMs(work) * 1e6) / ROUNDS;
  bound(t, 'what the status page costs of an observation', nanoseconds, NANOSECONDS_MAX, 'ns');
});

test('the memory of all names is bounded', (t) => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  collect();
  const before = process.memoryUsage();
  const activity = new Activity();
  for (let index = 0; index < 2 * TASKS_MAX; index += 1) {
    const task = `a task with a rather long name ${index}`;
    const run = { task, queue: `queue ${index}`, worker: 'w1@a' };
    for (const atMs of [START_MS, START_MS + 300_000]) {
      activity.observe({ kind: 'task-started', run, waitTimeS: 1, prefetchTimeS: 1 }, atMs);
      for (let error = 0; error < 20; error += 1)
        activity.observe({ kind: 'task-failed', run, errorType: `Error ${error}`, runtimeS: 1 }, atMs);
    }
  }
  collect();
  const megabytes = heldBytes(before) / 1e6;
  assert.equal(activity.read(START_MS, { workers: [], queues: [], ends: [] }).taskNames, TASKS_MAX);
  bound(t, 'what the status page keeps of a service', megabytes, MEGABYTES_MAX, 'MB');
});

test('a million remembered runs, each with an id and a parent of its own, take what the option states', (t) => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  collect();
  const before = process.memoryUsage();
  const runs = new RememberedRuns(RUNS);
  for (let index = 0; index < 1.5 * RUNS; index += 1) {
    // As ids are read from events: one that is put together from parts takes more.
    const uuid = () => Buffer.from(randomUUID()).toString('latin1');
    runs.add(finishedRun(uuid(), { rootId: uuid(), parentId: uuid() }));
  }
  collect();
  const bytes = heldBytes(before) / RUNS;
  assert.equal(runs.size, RUNS);
  bound(t, 'a remembered run', bytes, RUN_BYTES_MAX, 'B');
  const begun = performance.now();
  let found = 0;
  let longestMs = 0;
  let stepMs = begun;
  const steps = runs.each('task', 'shop.pay', () => {
    found += 1;
  });
  for (const _ of steps) {
    longestMs = Math.max(longestMs, performance.now() - stepMs);
    stepMs = performance.now();
  }
  assert.equal(found, RUNS);
  bound(t, 'one step of a walk over a million runs', longestMs, STEP_MS_MAX, 'ms');
});

function heldBytes(before: NodeJS.MemoryUsage): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers;
}
