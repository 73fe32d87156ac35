/** A table with a million tasks: whatever is done with all of them gives others their turn again soon. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { received, sent, signal, started, T0_MS, type Watched, watch } from './events.ts';

const TASKS = 1_000_000;
const LATER_MS = T0_MS + 60_000;
/** Of the thread’s own time: what others take of a core is not counted. */
const STEP_CPU_MS_MAX = 50;

function cpuMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

function longestStepMs({ cluster }: Watched): number {
  const steps = cluster.stepwiseSurvey(LATER_MS);
  let longestMs = 0;
  for (let isOver = false; !isOver; ) {
    const ms = cpuMs(() => {
      isOver = steps.next().done === true;
    });
    longestMs = Math.max(longestMs, ms);
  }
  return longestMs;
}

test('a survey of a million tasks, all of which one worker runs and half of which it denies, is made in short steps', () => {
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
  assert.ok(longestMs < STEP_CPU_MS_MAX, `${longestMs} ms`);
  const gapMs = cpuMs(() => on.cluster.gap());
  assert.ok(gapMs < STEP_CPU_MS_MAX, `a new connection: ${gapMs} ms`);
});
