/** A table with a million tasks, or with more runs than that: work on all of them yields often. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bound } from '../bound.ts';
import { normalMs, processorMs, slowness } from '../processor-time.ts';
import { received, sent, signal, started, T0_MS, type Watched, watch } from './events.ts';

const TASKS = 1_000_000;
const DELIVERED_TASKS = 200_000;
/** The most that are remembered of one task. */
const DELIVERIES = 8;
const LATER_MS = T0_MS + 60_000;
/** Of the thread’s own time: what others take of a core is not counted. */
const STEP_CPU_MS_MAX = 50;

/** In ms of a normal machine. */
function longestStepMs({ cluster }: Watched): number {
  const before = slowness();
  const steps = cluster.collectInSteps(LATER_MS);
  let longestMs = 0;
  for (let isOver = false; !isOver; ) {
    const ms = processorMs(() => {
      isOver = steps.next().done === true;
    });
    longestMs = Math.max(longestMs, ms);
  }
  return longestMs / Math.max(before, slowness());
}

test('a collection of a million tasks of one worker, half of which it no longer runs, has short steps', (t) => {
  const on = watch({ tasksMax: TASKS, heldMax: 100 });
  for (let index = 0; index < TASKS; index += 1) {
    const of = { uuid: `u${index}` };
    if (index % 2 === 0) on.cluster.apply(sent(of), T0_MS);
    on.cluster.apply(received(of), T0_MS);
    on.cluster.apply(started({ ...of, timestampMs: T0_MS + (index % 1_000) }), T0_MS);
    on.observed.length = 0;
  }
  for (const _ of on.cluster.drain());
  on.observed.length = 0;
  for (const clock of [2, 3]) {
    on.cluster.apply(
      signal('worker-heartbeat', { clock, active: TASKS / 2, timestampMs: T0_MS + 10_000 }),
      T0_MS + 10_000,
    );
  }
  assert.equal(on.cluster.tables().tasks.size, TASKS);
  const longestMs = Math.max(longestStepMs(on), longestStepMs(on));
  bound(t, 'longest step of a collection of a million tasks', longestMs, STEP_CPU_MS_MAX, 'ms');
  const gapMs = normalMs(() => on.cluster.gap());
  bound(t, 'a new connection with a million tasks', gapMs, STEP_CPU_MS_MAX, 'ms');
});

test('a collection of tasks with many deliveries to one worker, which no longer runs them, has short steps', (t) => {
  const on = watch({ tasksMax: DELIVERED_TASKS, heldMax: 100 });
  for (let delivery = 0; delivery < DELIVERIES; delivery += 1) {
    for (let index = 0; index < DELIVERED_TASKS; index += 1) {
      const timestampMs = T0_MS + ((index * 7919) % 10_000) + delivery / DELIVERIES;
      const of = { uuid: `u${index}`, timestampMs, retries: delivery };
      on.cluster.apply(received({ ...of, clock: 2 * delivery }), T0_MS);
      on.cluster.apply(started({ ...of, clock: 2 * delivery + 1 }), T0_MS);
      on.observed.length = 0;
    }
  }
  for (const _ of on.cluster.drain());
  for (const clock of [2, 3]) {
    on.cluster.apply(
      signal('worker-heartbeat', { clock: DELIVERIES * clock, active: 10, timestampMs: T0_MS + 20_000 }),
      T0_MS + 10_000,
    );
  }
  on.observed.length = 0;
  assert.equal(on.cluster.beyondFixedBounds(), 0);
  const longestMs = longestStepMs(on);
  bound(t, 'longest step of a collection of tasks with eight deliveries', longestMs, STEP_CPU_MS_MAX, 'ms');
  const [reading] = on.cluster.collect(LATER_MS).queues;
  assert.ok((reading?.runningAgeS ?? 0) > 0);
});
