/**
 * Collections of thousands of tasks and workers with events applied between their steps: they must give the same result
 * as at once, whatever happens meanwhile to the tasks and workers that they have not read yet.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent, EventBase } from '../../src/celery/event.ts';
import type { ClusterView, Observation } from '../../src/cluster/observation.ts';
import type { Steps } from '../../src/cluster/steps.ts';
import type { Collected } from './collection.ts';
import {
  line,
  received,
  SETTINGS,
  sent,
  signal,
  started,
  succeeded,
  T0_MS,
  type Watched,
  WORKER,
  watch,
} from './events.ts';

const TASKS = 8_000;
const WORKERS = 300;
const TASKS_A_SECOND = 500;
/** One in this many never ends. */
const ENDLESS = 2;
const EVENTS_PER_STEP = 40;
const EVENTS_A_SURVEY = 500;
/** After this silence a worker is forgotten, and its running tasks are lost. */
const FORGOTTEN_AFTER_MS = SETTINGS.workerTimeoutMs + SETTINGS.seriesRetentionMs + 1;
const LARGE = { tasksMax: 10_000, workersMax: 1_000 };

/** Events of tasks that take two seconds, except those that never end, and of their workers; in order of time. */
function manyEvents(): readonly CeleryEvent[] {
  const events: CeleryEvent[] = [];
  for (let index = 0; index < TASKS; index += 1) {
    const uuid = `u${index}`;
    const sentMs = T0_MS + (index / TASKS_A_SECOND) * 1_000;
    const by = (ms: number): Partial<EventBase> => ({
      hostname: `w${index % WORKERS}@shop`,
      timestampMs: sentMs + ms,
    });
    events.push(
      sent({ uuid, timestampMs: sentMs }),
      received({ uuid, ...by(1) }),
      started({ uuid, ...by(500) }),
      signal('worker-heartbeat', { ...by(700), active: undefined, processed: Math.floor(index / WORKERS) }),
    );
    if (index % ENDLESS !== 0) events.push(succeeded({ uuid, runtimeS: 1.5, ...by(2_000) }));
  }
  return events.toSorted((one, other) => one.timestampMs - other.timestampMs);
}

/** Applies the events with collections among them, made by `collect`, which may apply some of the next events. */
function play(on: Watched, collect: (nowMs: number, applyNext: () => void) => void): { lastMs: number } {
  const waiting = [...manyEvents()].reverse();
  let nowMs = T0_MS;
  function apply(count: number): void {
    for (const event of waiting.splice(-count).reverse()) {
      nowMs = event.timestampMs;
      on.cluster.apply(event, nowMs);
    }
  }
  while (waiting.length > 0) {
    apply(EVENTS_A_SURVEY);
    collect(nowMs, () => apply(EVENTS_PER_STEP));
  }
  return { lastMs: nowMs };
}

/** @returns the result, and the number of steps */
function between(steps: Steps<Collected>, act: () => void): { collected: Collected; steps: number } {
  for (let count = 1; ; count += 1) {
    const step = steps.next();
    if (step.done === true) return { collected: step.value, steps: count };
    act();
  }
}

/** All observations, and the view at the end. */
function outcome(on: Watched, lastMs: number) {
  const atRest = on.cluster.collect(lastMs + 2 * SETTINGS.windowMs);
  const deadMs = lastMs + FORGOTTEN_AFTER_MS;
  const { queues } = on.cluster.collect(deadMs);
  on.cluster.flush();
  return { lines: on.observed.map(line).sort(), queues, atRest, tables: on.cluster.tables() };
}

test('a collection with events between its steps gives the same observations and the same view', () => {
  const [plain, stepwise] = [watch(LARGE), watch(LARGE)];
  const { lastMs } = play(plain, (nowMs) => plain.cluster.collect(nowMs));
  let stepsMost = 0;
  play(stepwise, (nowMs, applyNext) => {
    const { steps } = between(stepwise.cluster.collectInSteps(nowMs), applyNext);
    stepsMost = Math.max(stepsMost, steps);
  });
  assert.ok(stepsMost > 10, `${stepsMost} steps`);
  const expected = outcome(plain, lastMs);
  assert.equal(expected.lines.filter((each) => each.startsWith('lost')).length, TASKS / ENDLESS);
  assert.deepEqual(outcome(stepwise, lastMs), expected);
});

test('concurrent views, some abandoned, do not change what is settled and applied meanwhile', () => {
  const [plain, viewed] = [watch(LARGE), watch(LARGE)];
  const { lastMs } = play(plain, (nowMs) => plain.cluster.collect(nowMs));
  const underWay: Steps<ClusterView>[] = [];
  let [turns, ended, left] = [0, 0, 0];
  play(viewed, (nowMs) => {
    between(viewed.cluster.collectInSteps(nowMs), () => {
      turns += 1;
      if (turns % 5 === 0) underWay.push(viewed.cluster.viewInSteps(nowMs));
      const steps = underWay[turns % 7];
      if (steps === undefined) return;
      const isLeft = turns % 50 === 0;
      const step = isLeft ? steps.return({ workers: [], queues: [], ends: [] }) : steps.next();
      if (step.done !== true) return;
      underWay.splice(underWay.indexOf(steps), 1);
      if (isLeft) left += 1;
      else ended += 1;
    });
  });
  assert.ok(ended > 50 && left > 10, `${ended} ended, ${left} left`);
  assert.deepEqual(outcome(viewed, lastMs), outcome(plain, lastMs));
});

test('tasks that end, are forgotten or replaced between the steps are neither lost nor counted twice', () => {
  // So few are remembered that most of those a collection has not read yet are replaced by then.
  const on = watch({ tasksMax: 1_500, workersMax: 1_000 });
  const { lastMs } = play(on, (nowMs, applyNext) => {
    const { collected } = between(on.cluster.collectInSteps(nowMs), applyNext);
    for (const { prefetched, scheduled, heartbeatAgeS } of collected.workers) {
      assert.ok(prefetched >= 0 && scheduled === 0 && heartbeatAgeS >= 0);
    }
    assert.ok(on.cluster.tables().tasks.size <= 1_500);
  });
  for (const _ of on.cluster.drain());
  const count = (kind: string): number => on.observed.filter((each) => each.kind === kind).length;
  assert.equal(count('task-lost'), 0, 'every worker is alive');
  assert.equal(count('task-sent'), TASKS);
  assert.equal(count('task-received'), TASKS);
  assert.equal(count('task-started'), TASKS);
  assert.equal(count('task-succeeded'), TASKS - TASKS / ENDLESS);
  const { queues } = on.cluster.collect(lastMs + FORGOTTEN_AFTER_MS);
  assert.ok(queues.every(({ runningAgeS }) => runningAgeS === 0));
});

test('the bound on tasks holds if a collection meets tasks that were forgotten meanwhile', () => {
  const tasksMax = 3_000;
  const on = watch({ tasksMax });
  // Has ended, except for a second delivery.
  for (let index = 0; index < tasksMax; index += 1) {
    const of = { uuid: `u${index}`, hostname: 'w1@shop' };
    on.cluster.apply(received(of), T0_MS);
    on.cluster.apply(received({ ...of, hostname: 'w2@shop' }), T0_MS);
    on.cluster.apply(succeeded(of), T0_MS);
  }
  for (const _ of on.cluster.drain());
  let more = tasksMax;
  between(on.cluster.collectInSteps(T0_MS + 1), () => {
    for (const upTo = more + 2_000; more < upTo; more += 1) {
      on.cluster.apply(received({ uuid: `u${more}` }), T0_MS + 1);
    }
  });
  for (const upTo = more + tasksMax; more < upTo; more += 1) {
    on.cluster.apply(received({ uuid: `u${more}` }), T0_MS + 1);
    assert.ok(on.cluster.tables().tasks.size <= tasksMax);
  }
  for (const _ of on.cluster.drain());
  const { workers } = on.cluster.collect(T0_MS + 1);
  assert.equal(workers.find(({ worker }) => worker === WORKER)?.prefetched, tasksMax);
});

test('a run that ends during the collection is not lost with its worker', () => {
  const on = watch(LARGE);
  const tasks = new Set(Array.from({ length: 3_000 }, (_, index) => `t${index}`));
  const of = (name: string): { uuid: string; hostname: string } => ({
    uuid: name,
    hostname: `w${Number(name.slice(1)) % WORKERS}@shop`,
  });
  for (const name of tasks) {
    on.cluster.apply(received({ ...of(name), name }), T0_MS);
    on.cluster.apply(started(of(name)), T0_MS);
  }
  const open = new Set(tasks);
  const endOf = (observation: Observation): string | undefined =>
    observation.kind === 'task-lost' || observation.kind === 'task-succeeded'
      ? observation.run.task
      : undefined;
  let ended = 0;
  between(on.cluster.collectInSteps(T0_MS + FORGOTTEN_AFTER_MS), () => {
    for (const observation of on.news()) open.delete(endOf(observation) ?? '');
    // As if its end had been queued for all that time.
    for (const name of [...open].slice(0, 30)) {
      on.cluster.apply(succeeded(of(name)), T0_MS);
      open.delete(name);
      ended += 1;
    }
    for (const _ of on.cluster.drain());
  });
  const ends = on.observed.map(endOf).filter((name) => name !== undefined);
  assert.ok(ended > 1_000, `${ended} ended meanwhile`);
  assert.equal(ends.length, tasks.size);
  assert.deepEqual(new Set(ends), tasks);
});

test('a worker that is forgotten and returns between the steps is a new one', () => {
  const workersMax = 700;
  const old = Array.from({ length: workersMax }, (_, index) => `w${index}@shop`);
  const others = Array.from({ length: workersMax }, (_, index) => `other${index}@shop`);
  const laterMs = T0_MS + SETTINGS.workerTimeoutMs + SETTINGS.seriesRetentionMs + 1;
  /** In the pause after this many steps, each worker is evicted by another one, and returns. */
  function comeBackAfter(pause: number): { readonly up: number; readonly steps: number } {
    const on = watch({ workersMax });
    const greet = (nodenames: readonly string[], nowMs: number): void => {
      for (const hostname of nodenames) {
        on.cluster.apply(signal('worker-online', { hostname, timestampMs: nowMs }), nowMs);
      }
    };
    greet(old, T0_MS);
    let pauses = 0;
    const { steps } = between(on.cluster.collectInSteps(laterMs), () => {
      if (pauses === pause) {
        greet(others, laterMs);
        greet(old, laterMs);
      }
      pauses += 1;
    });
    return { up: on.cluster.collect(laterMs).workers.filter(({ up }) => up).length, steps };
  }
  const { steps } = comeBackAfter(-1);
  assert.ok(steps > 10);
  for (let pause = 0; pause < steps - 1; pause += 1) assert.equal(comeBackAfter(pause).up, workersMax);
});

test('after a burst no step and no event observes much at once', () => {
  const on = watch({ tasksMax: 20_000, heldMax: 20_000, workersMax: 10_000 });
  for (let index = 0; index < 10_000; index += 1) {
    const of = { uuid: `u${index}`, hostname: `w${index % 5_000}@shop` };
    on.cluster.apply(received(of), T0_MS);
    if (index < 5_000) on.cluster.apply(signal('worker-heartbeat', { ...of, processed: 1 }), T0_MS);
    if (index < 5_000) on.cluster.apply(signal('worker-heartbeat', { ...of, clock: 2, processed: 2 }), T0_MS);
  }
  assert.equal(on.news().length, 0);
  const laterMs = T0_MS + 10 * SETTINGS.windowMs;
  on.cluster.apply(received({ uuid: 'later', timestampMs: laterMs }), laterMs);
  assert.ok(on.news().length <= 5, 'with the next event');
  const most = { observed: 0 };
  const { steps } = between(on.cluster.collectInSteps(laterMs), () => {
    most.observed = Math.max(most.observed, on.news().length);
  });
  assert.ok(most.observed <= 150, `${most.observed} in one step`);
  assert.ok(steps > 150, `${steps} steps`);
  const { length } = on.observed;
  assert.ok(length > 14_000, `${length} in all`);
});

test('held events are drained in steps too', () => {
  const on = watch({ tasksMax: 20_000, heldMax: 20_000 });
  for (let index = 0; index < 1_000; index += 1) on.cluster.apply(received({ uuid: `u${index}` }), T0_MS);
  const perStep: number[] = [];
  for (const _ of on.cluster.drain()) perStep.push(on.news().length);
  perStep.push(on.news().length);
  assert.ok(Math.max(...perStep) <= 100);
  assert.equal(
    perStep.reduce((sum, each) => sum + each, 0),
    1_000,
  );
  assert.equal(on.cluster.tables().reordering_window.size, 0);
});

test('a worker evicted between two steps is not in the view', () => {
  const workersMax = 60;
  const on = watch({ workersMax });
  const beat = (hostname: string, pid: number, atMs: number): void =>
    on.cluster.apply(signal('worker-heartbeat', { hostname, pid, timestampMs: atMs }), atMs);
  beat('a@shop', 1, T0_MS);
  for (let index = 0; index < workersMax - 5; index += 1) beat(`w${index}@shop`, 1, T0_MS + 1_000);
  beat('a@shop', 2, T0_MS + 2_000);
  const atMs = T0_MS + 40_000;
  const steps = on.cluster.collectInSteps(atMs);
  while (!on.observed.some(({ kind }) => kind === 'worker-appeared'))
    assert.notEqual(steps.next().done, true);
  for (let index = 0; index < workersMax; index += 1) beat(`x${index}@shop`, 1, atMs);
  while (steps.next().done !== true);
  assert.deepEqual(
    on.observed.filter((each) => each.kind === 'worker-exited' && each.worker === 'a@shop'),
    [],
  );
});
