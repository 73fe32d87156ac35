/** A task table full of tasks that never end, by malice or by chance: real tasks are counted as usual. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent, TaskEvent } from '../../src/celery/event.ts';
import {
  failed,
  received,
  rejected,
  retried,
  sent,
  signal,
  started,
  T0_MS,
  type Watched,
  watch,
} from './events.ts';

/** A fifth of the default, as are the rates below: so a table fills in the same time. */
const TASKS_MAX = 20_000;
const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;
const DAY_MS = 24 * HOUR_MS;
const YEAR_9999_MS = Date.parse('9999-12-31T00:00:00Z');
const HONEST = 200;

function report({ cluster }: Watched, event: TaskEvent, atMs: number): void {
  cluster.apply({ ...event, timestampMs: atMs }, atMs);
}

/** Fills the table; these tasks have no further events. */
function flood(on: Watched, from: number, to: number, atMs: number, of: (uuid: string) => TaskEvent): void {
  for (let index = from; index < to; index += 1) report(on, of(`x${index}`), atMs + index / 1_000);
}

function honestBeat(clock: number, timestampMs: number): CeleryEvent {
  return signal('worker-heartbeat', { active: HONEST, processed: HONEST, clock, timestampMs });
}

/** Tasks, 50 a second, each of which fails two seconds after its start and reports that again three seconds later. */
function failTwice(on: Watched, tag: string, fromMs: number): number {
  const events: (readonly [atMs: number, TaskEvent])[] = [];
  for (let index = 0; index < HONEST; index += 1) {
    const of = { uuid: `${tag}${index}` };
    const atMs = fromMs + index * 20;
    events.push(
      [atMs, sent({ ...of, clock: 1 })],
      [atMs + 5, received({ ...of, clock: 2 })],
      [atMs + 10, started({ ...of, clock: 3 })],
      [atMs + 2 * SECOND_MS, failed('TimeLimitExceeded', { ...of, clock: 4 })],
      [atMs + 5 * SECOND_MS, failed('TimeLimitExceeded', { ...of, clock: 5 })],
    );
  }
  for (const [atMs, event] of events.sort(([one], [other]) => one - other)) report(on, event, atMs);
  return fromMs + HONEST * 20 + 10 * SECOND_MS;
}

/** The number of counted failures, and of known waits. */
function failures(on: Watched): { failed: number; waited: number; unknown: number } {
  const news = on.news();
  const ends = news.flatMap((it) => (it.kind === 'task-failed' ? [it] : []));
  return {
    failed: ends.length,
    waited: news.filter((it) => it.kind === 'task-started' && it.waitTimeS !== undefined).length,
    unknown: ends.filter(({ run, runtimeS }) => run.queue !== 'orders' || runtimeS === undefined).length,
  };
}

const ALL_WELL = { failed: HONEST, waited: HONEST, unknown: 0 };

const POISONS: Readonly<Record<string, (uuid: string) => TaskEvent>> = {
  'were sent': (uuid) => sent({ uuid, hostname: 'gen9@x' }),
  'were sent and are due in the year 9999': (uuid) => sent({ uuid, etaMs: YEAR_9999_MS }),
  'were received': (uuid) => received({ uuid, hostname: 'w9@x' }),
  'were received by a client': (uuid) => received({ uuid, hostname: 'gen9@x' }),
  'have started': (uuid) => started({ uuid, hostname: 'w9@x' }),
  'are retried': (uuid) => retried('KeyError', { uuid, hostname: 'w9@x' }),
  'were requeued': (uuid) => rejected(true, { uuid, hostname: 'w9@x' }),
};

for (const [what, poison] of Object.entries(POISONS)) {
  test(`a duplicate end counts once, even in a table full of tasks that ${what}`, () => {
    const on = watch({ tasksMax: TASKS_MAX, heldMax: TASKS_MAX });
    flood(on, 0, TASKS_MAX, T0_MS, poison);
    on.cluster.collect(T0_MS + 10 * 60 * SECOND_MS);
    const { size, bytes, bytesMax } = on.cluster.tables().tasks;
    assert.ok(size === TASKS_MAX || bytes > 0.99 * bytesMax, `${size} tasks, ${bytes} bytes`);
    on.news();
    const thenMs = failTwice(on, 'honest', T0_MS + 10 * 60 * SECOND_MS + 1);
    on.cluster.collect(thenMs);
    assert.deepEqual(failures(on), ALL_WELL);
  });
}

/** Tasks, 200 a second for 20 seconds, each of which fails at once and reports that again ten seconds later. */
function failAgainLate(on: Watched, fromMs: number): number {
  const tasks = 4_000;
  for (let index = 0; index < tasks + 2_000; index += 1) {
    const atMs = fromMs + index * 5;
    if (index < tasks) {
      const of = { uuid: `late${index}` };
      report(on, received({ ...of, clock: 1 }), atMs);
      report(on, started({ ...of, clock: 2 }), atMs + 1);
      report(on, failed('TimeLimitExceeded', { ...of, clock: 3 }), atMs + 2);
    }
    if (index >= 2_000)
      report(on, failed('TimeLimitExceeded', { uuid: `late${index - 2_000}`, clock: 4 }), atMs);
  }
  on.cluster.flush();
  return tasks;
}

for (const [what, of] of Object.entries({ sent, received })) {
  test(`in a table full of ${what} tasks, many ends are each counted once if they are repeated ten seconds later`, () => {
    const on = watch({ tasksMax: TASKS_MAX, heldMax: TASKS_MAX });
    const etaMs = YEAR_9999_MS;
    flood(on, 0, TASKS_MAX, T0_MS, (uuid) => of({ uuid, hostname: 'w9@x', etaMs }));
    on.cluster.collect(T0_MS + 5 * SECOND_MS);
    on.news();
    const tasks = failAgainLate(on, T0_MS + 2 * DAY_MS);
    const ends = on.news().flatMap((it) => (it.kind === 'task-failed' ? [it.runtimeS] : []));
    assert.deepEqual(
      ends,
      Array.from({ length: tasks }, () => 0.001),
    );
  });
}

test('tasks that have just ended take little room from those that run', () => {
  const on = watch({ tasksMax: TASKS_MAX, heldMax: TASKS_MAX });
  flood(on, 0, TASKS_MAX, T0_MS, (uuid) => started({ uuid }));
  on.cluster.collect(T0_MS + 5 * SECOND_MS);
  failAgainLate(on, T0_MS + HOUR_MS);
  const { evicted } = on.cluster.tables().tasks;
  assert.ok(evicted > 0 && evicted <= TASKS_MAX / 7, `${evicted}`);
});

test('tasks that were lost with made-up workers make room, and a duplicate end counts once', () => {
  const on = watch({ tasksMax: TASKS_MAX, heldMax: TASKS_MAX });
  let atMs = T0_MS;
  for (let round = 0; round < 3; round += 1, atMs += 10 * 60 * SECOND_MS) {
    const by = { hostname: 'w9@x', pid: round + 1 };
    flood(on, 0, TASKS_MAX, atMs, (uuid) => started({ uuid: `${round} ${uuid}`, ...by }));
    const beat = signal('worker-heartbeat', { ...by, active: TASKS_MAX, processed: TASKS_MAX });
    on.cluster.apply({ ...beat, timestampMs: atMs + 101 * SECOND_MS }, atMs + 101 * SECOND_MS);
    on.cluster.collect(atMs + 5 * 60 * SECOND_MS);
    assert.ok(on.news().filter(({ kind }) => kind === 'task-lost').length > 0.9 * TASKS_MAX);
    const thenMs = failTwice(on, `honest ${round} `, atMs + 5 * 60 * SECOND_MS);
    on.cluster.collect(thenMs);
    assert.deepEqual(failures(on), ALL_WELL);
    const { size, bytes, bytesMax } = on.cluster.tables().tasks;
    assert.ok(size <= TASKS_MAX && bytes <= bytesMax, `${size} tasks, ${bytes} bytes`);
  }
});

test('running tasks are not evicted by any number of sent tasks', () => {
  const on = watch({ tasksMax: TASKS_MAX });
  for (let index = 0; index < HONEST; index += 1) {
    const of = { uuid: `honest${index}` };
    report(on, sent(of), T0_MS);
    report(on, received(of), T0_MS);
    report(on, started(of), T0_MS + 1);
  }
  on.cluster.collect(T0_MS + 5 * SECOND_MS);
  flood(on, 0, 3 * TASKS_MAX, T0_MS + 10 * SECOND_MS, (uuid) => sent({ uuid, hostname: 'gen9@x' }));
  const endMs = T0_MS + HOUR_MS;
  for (let index = 0; index < HONEST; index += 1)
    report(on, failed('KeyError', { uuid: `honest${index}` }), endMs);
  on.cluster.collect(endMs + 5 * SECOND_MS);
  assert.deepEqual(failures(on), ALL_WELL);
});

test('running tasks are not evicted by tasks with the longest names, few of which fit', () => {
  const on = watch({ tasksMax: TASKS_MAX });
  for (let index = 0; index < HONEST; index += 1) report(on, started({ uuid: `honest${index}` }), T0_MS);
  on.cluster.collect(T0_MS + 5 * SECOND_MS);
  for (let index = 0; index < TASKS_MAX / 4; index += 1) {
    for (let retries = 0; retries < 8; retries += 1) {
      const text = `${index}.${retries}`.padEnd(255, 'x');
      const of = { uuid: `${index}`.padEnd(255, 'u'), name: text, queue: text, hostname: text };
      report(on, sent({ ...of, retries, clock: retries }), T0_MS + 10 * SECOND_MS);
    }
  }
  const { size, bytes, bytesMax, evicted } = on.cluster.tables().tasks;
  assert.ok(size < TASKS_MAX / 8 && evicted > TASKS_MAX / 8, `${size} tasks, ${evicted} evicted`);
  assert.ok(bytes <= bytesMax + 50_000, `${bytes} bytes`);
  on.news();
  const endMs = T0_MS + HOUR_MS;
  for (let index = 0; index < HONEST; index += 1)
    report(on, failed('KeyError', { uuid: `honest${index}` }), endMs);
  on.cluster.collect(endMs + 5 * SECOND_MS);
  const measured = on.news().filter((it) => it.kind === 'task-failed' && it.runtimeS !== undefined);
  assert.equal(measured.length, HONEST);
});

for (const [what, poison] of Object.entries({
  received: (uuid: string) => received({ uuid, hostname: `${uuid}@x` }),
  started: (uuid: string) => started({ uuid, hostname: `${uuid}@x` }),
  'received by as many clients': (uuid: string) => received({ uuid, hostname: `gen${uuid.slice(1)}@x` }),
})) {
  test(`running tasks are not evicted by tasks that were ${what}, each by its own worker`, () => {
    for (const perSecond of [200, 4_000]) {
      const on = watch({ tasksMax: TASKS_MAX, heldMax: TASKS_MAX, workersMax: TASKS_MAX / 10 });
      for (let index = 0; index < HONEST; index += 1) report(on, started({ uuid: `honest${index}` }), T0_MS);
      for (let index = 0; index < 1.2 * TASKS_MAX; index += 1) {
        const atMs = T0_MS + SECOND_MS + (index / perSecond) * SECOND_MS;
        report(on, poison(`x${index}`), atMs);
        if (index % (2 * perSecond) === 0) on.cluster.apply(honestBeat(index, atMs), atMs);
      }
      const endMs = T0_MS + HOUR_MS;
      for (let index = 0; index < HONEST; index += 1)
        report(on, failed('KeyError', { uuid: `honest${index}` }), endMs);
      on.cluster.collect(endMs + 5 * SECOND_MS);
      const measured = on.news().filter((it) => it.kind === 'task-failed' && it.runtimeS !== undefined);
      assert.equal(measured.length, HONEST, `${perSecond} a second`);
    }
  });
}

test('without worker events, sent tasks are expected for a day, and other tasks count as usual', () => {
  const on = watch({ tasksMax: TASKS_MAX });
  const waiting = (atMs: number) =>
    on.cluster.collect(atMs).queues.find(({ queue }) => queue === 'silent')?.waitingAgeS ?? 0;
  let atMs = T0_MS;
  let index = 0;
  for (let hour = 0; hour < 30; hour += 1) {
    for (let second = 0; second < 3_600; second += 5, index += 1, atMs += 5 * SECOND_MS) {
      report(on, sent({ uuid: `x${index}`, queue: 'silent' }), atMs);
    }
    const ageS = waiting(atMs);
    assert.ok(Math.abs(ageS - Math.min(hour + 1, 24) * 3_600) < 3_600, `${ageS} s in hour ${hour}`);
    on.news();
    const thenMs = failTwice(on, `in hour ${hour} `, atMs + 1);
    on.cluster.collect(thenMs);
    assert.deepEqual(failures(on), ALL_WELL, `in hour ${hour}`);
    atMs = thenMs;
  }
  assert.equal(waiting(atMs + DAY_MS), 0);
  flood(on, 0, TASKS_MAX, atMs + DAY_MS, (uuid) => sent({ uuid: `new ${uuid}` }));
  assert.equal(on.cluster.tables().tasks.evicted, 0, 'nothing that was waited for');
});

test('with 200 tasks a second and three fifths of the table waiting, no task-sent is forgotten before its run', () => {
  const on = watch({ tasksMax: TASKS_MAX, heldMax: TASKS_MAX });
  const waiting = 0.6 * TASKS_MAX;
  const tasks = 2 * TASKS_MAX;
  for (let index = 0; index < tasks; index += 1) {
    const atMs = T0_MS + index * 5;
    report(on, sent({ uuid: `u${index}` }), atMs);
    const due = { uuid: `u${index - waiting}` };
    if (index < waiting) continue;
    report(on, received(due), atMs + 0.25);
    report(on, started(due), atMs + 0.5);
    report(on, failed('KeyError', due), atMs + 0.75);
    if (index % 2_000 === 0) on.cluster.collect(atMs + 0.9);
  }
  on.cluster.flush();
  const begun = tasks - waiting;
  assert.deepEqual(failures(on), { failed: begun, waited: begun, unknown: 0 });
  assert.equal(on.cluster.tables().tasks.evicted, 0);
});

/** How long tasks of the queue have waited. */
function waitingS({ cluster }: Watched, wallMs: number, listenedMs = wallMs): number | undefined {
  return cluster.collect(wallMs, listenedMs).queues.find(({ queue }) => queue === 'orders')?.waitingAgeS;
}

/** Keeps the queue known. */
const KEPT = { seriesRetentionMs: 30 * DAY_MS };

test('a task is expected until a day after its ETA, or until it expires', () => {
  const on = watch(KEPT);
  report(on, sent({ uuid: 'due', etaMs: T0_MS + 3 * DAY_MS }), T0_MS);
  assert.equal(waitingS(on, T0_MS + 2 * DAY_MS), 0, 'it is not due');
  assert.equal(waitingS(on, T0_MS + 3 * DAY_MS + HOUR_MS), 3_600);
  assert.equal(waitingS(on, T0_MS + 4 * DAY_MS - 1), 86_400 - 0.001);
  assert.equal(waitingS(on, T0_MS + 4 * DAY_MS + 1), 0);
  const expiring = watch(KEPT);
  report(expiring, sent({ uuid: 'expires', expiresMs: T0_MS + HOUR_MS }), T0_MS);
  assert.equal(waitingS(expiring, T0_MS + HOUR_MS - SECOND_MS), 3_599);
  assert.equal(waitingS(expiring, T0_MS + HOUR_MS), 0);
});

test('time while not listening ends no expectation', () => {
  const on = watch(KEPT);
  report(on, sent(), T0_MS);
  assert.equal(waitingS(on, T0_MS + 3 * DAY_MS, T0_MS + HOUR_MS), 3 * 86_400);
  assert.equal(waitingS(on, T0_MS + 4 * DAY_MS, T0_MS + DAY_MS + SECOND_MS), 0);
});

test('a task that is no longer expected is kept while there is room, so a run still gets its queue and wait', () => {
  const on = watch(KEPT);
  report(on, sent(), T0_MS);
  const laterMs = T0_MS + DAY_MS + HOUR_MS;
  assert.equal(waitingS(on, laterMs), 0);
  on.news();
  report(on, received(), laterMs);
  report(on, started(), laterMs + 1);
  on.cluster.flush();
  assert.deepEqual(
    on.news().map((it) => it.kind === 'task-started' && [it.run.queue, it.waitTimeS]),
    [false, ['orders', 25 * 3_600 + 0.001]],
  );
});

test('a task that is no longer expected is forgotten first, and is no loss', () => {
  const on = watch({ ...KEPT, tasksMax: 10 });
  for (let index = 0; index < 5; index += 1) report(on, sent({ uuid: `x${index}` }), T0_MS);
  const laterMs = T0_MS + DAY_MS + HOUR_MS;
  for (let index = 0; index < 5; index += 1) report(on, failed('KeyError', { uuid: `u${index}` }), laterMs);
  on.cluster.collect(laterMs + 5 * SECOND_MS);
  on.news();
  for (let index = 0; index < 5; index += 1) report(on, sent({ uuid: `y${index}` }), laterMs + 6 * SECOND_MS);
  for (let index = 0; index < 5; index += 1) {
    report(on, failed('KeyError', { uuid: `u${index}`, clock: 2 }), laterMs + 7 * SECOND_MS);
  }
  on.cluster.flush();
  assert.deepEqual(failures(on), { failed: 0, waited: 0, unknown: 0 });
  assert.equal(on.cluster.tables().tasks.evicted, 0);
});

test('a task received by a worker that is gone is expected for a day too', () => {
  const on = watch({ seriesRetentionMs: HOUR_MS });
  report(on, sent(), T0_MS);
  report(on, received(), T0_MS);
  on.cluster.apply(signal('worker-heartbeat'), T0_MS);
  assert.equal(waitingS(on, T0_MS + 2 * HOUR_MS), 7_200);
  assert.equal(waitingS(on, T0_MS + 20 * HOUR_MS), 72_000, 'it waits in the broker');
  waitingS(on, T0_MS + 25 * HOUR_MS);
  assert.equal(waitingS(on, T0_MS + 27 * HOUR_MS), undefined);
});

for (const [what, of] of Object.entries({
  sent: (uuid: string) => sent({ uuid, etaMs: YEAR_9999_MS }),
  'received by a worker that is gone': (uuid: string) =>
    received({ uuid, etaMs: YEAR_9999_MS, hostname: 'w9@x' }),
  'received by a client, which is no worker': (uuid: string) =>
    received({ uuid, etaMs: YEAR_9999_MS, hostname: 'gen9@x' }),
})) {
  test(`a task that was ${what} is expected for thirty days at most, whatever its ETA`, () => {
    const on = watch({ ...KEPT, seriesRetentionMs: HOUR_MS, tasksMax: 10 });
    for (let index = 0; index < 10; index += 1) report(on, of(`x${index}`), T0_MS);
    const replaced = (atMs: number, uuid: string) => {
      on.cluster.collect(atMs);
      report(on, sent({ uuid }), atMs);
      return on.cluster.tables().tasks.evicted;
    };
    on.cluster.collect(T0_MS + SECOND_MS);
    assert.equal(replaced(T0_MS + 30 * DAY_MS - HOUR_MS, 'y1'), 1, 'it was still expected');
    for (let index = 2; index <= 10; index += 1) replaced(T0_MS + 30 * DAY_MS, `y${index}`);
    assert.equal(on.cluster.tables().tasks.evicted, 1);
  });
}

test('a living worker keeps its tasks until their ETA, even if it was cut off for an hour', () => {
  const on = watch({ seriesRetentionMs: 2 * HOUR_MS, tasksMax: 100 });
  const etaMs = T0_MS + 60 * DAY_MS;
  for (let index = 0; index < 50; index += 1) report(on, received({ uuid: `x${index}`, etaMs }), T0_MS);
  const scheduled = (atMs: number) => {
    on.cluster.apply(signal('worker-heartbeat', { timestampMs: atMs, clock: atMs - T0_MS }), atMs);
    return on.cluster.collect(atMs).workers.map((worker) => worker.scheduled);
  };
  for (let hour = 1; hour < 60 * 24; hour += hour % 50 === 0 ? 1 : 0.5) {
    const atMs = T0_MS + hour * HOUR_MS;
    // Others end meanwhile, and fill the table.
    report(on, failed('KeyError', { uuid: `y${hour}` }), atMs);
    assert.deepEqual(scheduled(atMs), [50], `after ${hour} hours`);
  }
  assert.deepEqual(
    on.cluster.collect(etaMs - HOUR_MS / 4).workers.map(({ up }) => up),
    [false],
    'silent',
  );
  assert.deepEqual(scheduled(etaMs - 1), [50]);
  assert.equal(on.cluster.tables().tasks.evicted, 0);
});

test('a task that a living worker does not start within a day is no longer expected, but counts if it starts', () => {
  for (const dueMs of [T0_MS, T0_MS + 3 * DAY_MS]) {
    const on = watch(KEPT);
    report(on, sent({ etaMs: dueMs }), T0_MS);
    report(on, received({ etaMs: dueMs }), T0_MS);
    const at = (hours: number) => {
      const atMs = dueMs + hours * HOUR_MS;
      on.cluster.apply(signal('worker-heartbeat', { timestampMs: atMs, clock: atMs - T0_MS }), atMs);
      const { workers, queues } = on.cluster.collect(atMs);
      const [{ prefetched, scheduled } = {}] = workers;
      const [{ waitingAgeS, runningAgeS } = {}] = queues;
      return { prefetched, scheduled, waitingAgeS, runningAgeS };
    };
    const none = { prefetched: 0, scheduled: 0, waitingAgeS: 0, runningAgeS: 0 };
    assert.deepEqual(at(23), { ...none, prefetched: 1, waitingAgeS: 23 * 3_600 });
    assert.deepEqual(at(25), none);
    on.news();
    report(on, started({ clock: 1 }), dueMs + 30 * HOUR_MS);
    assert.deepEqual(at(31), { ...none, runningAgeS: 3_600 });
    report(on, failed('KeyError', { clock: 2 }), dueMs + 32 * HOUR_MS);
    assert.deepEqual(at(33), none);
    assert.deepEqual(failures(on), { failed: 1, waited: 1, unknown: 0 });
    assert.equal(on.observed.filter(({ kind }) => kind === 'task-lost').length, 0);
    assert.equal(on.cluster.tables().tasks.evicted, 0);
  }
});

test('a table full of tasks that were received in the name of a living worker is free after a day', () => {
  const on = watch({ tasksMax: TASKS_MAX, heldMax: TASKS_MAX });
  flood(on, 0, TASKS_MAX, T0_MS, (uuid) => received({ uuid }));
  for (let hour = 1; hour <= 25; hour += 1) {
    const timestampMs = T0_MS + hour * HOUR_MS;
    for (const atMs of [timestampMs - HOUR_MS / 2, timestampMs])
      on.cluster.apply(honestBeat(hour, atMs), atMs);
    on.cluster.collect(timestampMs);
  }
  on.news();
  const thenMs = failTwice(on, 'honest', T0_MS + 25 * HOUR_MS + 1);
  on.cluster.collect(thenMs);
  assert.deepEqual(failures(on), ALL_WELL);
  assert.equal(on.cluster.tables().tasks.evicted, 0);
});

test('in a table full of scheduled tasks of a made-up worker that lives, ends count once and new tasks get in', () => {
  const on = watch({ tasksMax: TASKS_MAX, heldMax: TASKS_MAX });
  const by = { hostname: 'w9@x', etaMs: YEAR_9999_MS };
  flood(on, 0, TASKS_MAX, T0_MS, (uuid) => received({ uuid, ...by }));
  const beat = (atMs: number) =>
    on.cluster.apply({ ...signal('worker-heartbeat', { hostname: 'w9@x' }), timestampMs: atMs }, atMs);
  let atMs = T0_MS;
  for (let round = 0; round < 3; round += 1) {
    beat(atMs + 60 * SECOND_MS);
    on.cluster.collect(atMs + 60 * SECOND_MS);
    on.news();
    atMs = failTwice(on, `honest ${round} `, atMs + 61 * SECOND_MS);
    beat(atMs);
    on.cluster.collect(atMs);
    assert.deepEqual(failures(on), ALL_WELL);
    assert.equal(on.cluster.tables().tasks.size, TASKS_MAX);
    // They go on arriving.
    flood(on, 0, TASKS_MAX, atMs + SECOND_MS, (uuid) => received({ uuid: `${round} ${uuid}`, ...by }));
  }
});
