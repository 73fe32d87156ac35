/** Which tasks the table remembers, for how long, and what is counted where it forgets them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TaskEvent } from '../../../src/celery/event.ts';
import { lengthOf } from '../../../src/cluster/tasks/chain.ts';
import { HeldEvent } from '../../../src/cluster/tasks/task.ts';
import { TaskTable } from '../../../src/cluster/tasks/task-table.ts';
import { HeldNumbers } from '../../../src/cluster/window/held-numbers.ts';
import { WorkerInstance } from '../../../src/cluster/workers/worker-instance.ts';
import { atOnce } from '../at-once.ts';
import {
  failed,
  observe,
  received,
  retried,
  revoked,
  sent,
  spaced,
  started,
  succeeded,
  T0_MS,
  watch,
} from '../events.ts';

const INSTANCE = new WorkerInstance(
  'w1@shop',
  17,
  { windowMs: 1_000, lostTimeoutMs: 0, observe: () => {}, onDisorder: () => {}, onRestart: () => {} },
  { seenMs: T0_MS, clock: 1, reportedMs: T0_MS, place: 1, session: 0 },
);

const PAY = { task: 'shop.pay', queue: 'orders', worker: 'w1@shop' };
const SHIP = { ...PAY, task: 'shop.ship' };

/** The uuids, the one without a new run for longest first. */
function unfinished(table: TaskTable): readonly string[] {
  const uuids: string[] = [];
  atOnce(table.walkUnfinished(1, ({ text }) => uuids.push(text)));
  return uuids;
}

test('an unknown task is new, and the same object the next time', () => {
  const table = new TaskTable(2);
  const task = table.task('u1', T0_MS);
  const { name, queue, runs, sendings, over, lost, forgettable } = task;
  assert.deepEqual(
    { name, queue, runs, sendings, over, lost, forgettable },
    {
      ...{ name: '', queue: '', runs: undefined, sendings: undefined },
      ...{ over: false, lost: false, forgettable: false },
    },
  );
  assert.equal(table.task('u1', T0_MS), task);
  assert.equal(table.size, 1);
});

test('beyond its bound the table evicts the task without a new run for longest', () => {
  const forgotten: string[] = [];
  const table = new TaskTable(3, ({ text }) => forgotten.push(text));
  for (const uuid of ['u1', 'u2', 'u3', 'u2']) table.task(uuid, T0_MS);
  table.openRun(table.task('u1', T0_MS), INSTANCE, PAY);
  table.task('u4', T0_MS);
  assert.equal(table.size, 3);
  assert.deepEqual(forgotten, ['u2']);
  assert.deepEqual(unfinished(table), ['u3', 'u1', 'u4']);
  assert.equal(table.evicted, 1);
});

test('ended tasks are forgotten first, which is no loss', () => {
  const forgotten: string[] = [];
  const table = new TaskTable(3, ({ text }) => forgotten.push(text));
  for (const uuid of ['old', 'over first', 'over second']) table.task(uuid, T0_MS);
  table.expectMore(table.task('over first', T0_MS), false);
  table.expectMore(table.task('over second', T0_MS), false);
  for (const uuid of ['a', 'b', 'c']) table.task(uuid, T0_MS);
  assert.deepEqual(forgotten, ['over first', 'over second', 'old']);
  assert.equal(table.evicted, 1);
});

test('a reused entry has no data of the former task', () => {
  const table = new TaskTable(1);
  const first = table.task('u1', T0_MS);
  table.openRun(first, INSTANCE, PAY);
  table.addSending(first).queue = 'orders';
  Object.assign(first, { over: true, revoked: true, lost: true, name: 'shop.pay', queue: 'orders' });
  assert.ok(!table.isRepeat(first, 7));
  const second = table.task('u2', T0_MS);
  assert.equal(second, first, 'it is the same entry');
  assert.deepEqual(
    [second.text, second.name, second.queue, second.runs, second.sendings],
    ['u2', '', '', undefined, undefined],
  );
  assert.deepEqual([second.over, second.lost], [false, false]);
  assert.ok(!table.isRepeat(second, 7));
  assert.equal(table.openRun(second, INSTANCE, SHIP).identity, SHIP);
});

test('a task has at most eight open runs and eight sendings, beyond which the oldest is dropped and counted', () => {
  const table = new TaskTable(10);
  const task = table.task('u1', T0_MS);
  for (let index = 0; index < 9; index += 1) {
    assert.equal(table.partsEvicted, 0);
    table.openRun(task, INSTANCE, { ...PAY, task: `run ${index}` });
  }
  assert.deepEqual([lengthOf(task.runs), task.runs?.identity.task, table.partsEvicted], [8, 'run 1', 1]);
  for (let index = 0; index < 9; index += 1) table.addSending(task).name = `sending ${index}`;
  assert.deepEqual([lengthOf(task.sendings), task.sendings?.name, table.partsEvicted], [8, 'sending 1', 2]);
});

const [S, R, B, OK] = [sent(), received(), started(), succeeded()];
/** The events of a task before it was forgotten, and whether that is a loss. */
const FORGOTTEN: readonly { what: string; events: readonly TaskEvent[]; lost: number }[] = [
  { what: 'it was sent and not received', events: [S], lost: 1 },
  { what: 'it waits in a worker', events: [S, R], lost: 1 },
  { what: 'it runs', events: [S, R, B], lost: 1 },
  { what: 'it waits for its retry', events: [R, B, retried('KeyError')], lost: 1 },
  { what: 'it runs a second time', events: [R, B, OK, R], lost: 1 },
  { what: 'it has succeeded', events: [S, R, B, OK], lost: 0 },
  { what: 'it has failed', events: [R, B, failed('KeyError'), failed('KeyError')], lost: 0 },
  { what: 'its retry has succeeded', events: [S, R, B, retried('KeyError'), R, B, OK], lost: 0 },
  {
    what: 'it was replaced, and what replaced it has succeeded',
    events: [S, R, B, received({ name: 'shop.ship' }), B, OK],
    lost: 0,
  },
];

for (const { what, events, lost } of FORGOTTEN) {
  test(`forgetting a task is ${lost === 0 ? 'no' : 'a'} loss if ${what}`, () => {
    const on = watch({ tasksMax: 1 });
    observe(spaced(events), on);
    assert.equal(on.cluster.tables().tasks.evicted, 0);
    on.cluster.apply(sent({ uuid: 'another' }), 0);
    const { size, evicted } = on.cluster.tables().tasks;
    assert.deepEqual({ size, evicted }, { size: 1, evicted: lost });
  });
}

test('the held events of a task are counted before it is forgotten', () => {
  const on = watch({ tasksMax: 1 });
  for (const event of [S, R, B]) on.cluster.apply(event, T0_MS);
  assert.equal(on.news().length, 1);
  on.cluster.apply(sent({ uuid: 'another' }), T0_MS);
  assert.deepEqual(
    on.news().map(({ kind }) => kind),
    ['task-received', 'task-started', 'task-sent'],
  );
});

test('whatever the events, no bytes are left when all tasks are forgotten', () => {
  const [busy, fresh] = [watch({ tasksMax: 50 }), watch({ tasksMax: 50 })];
  const kinds = [sent, received, started, succeeded, () => retried('KeyError'), revoked] as const;
  for (let index = 0; index < 5_000; index += 1) {
    const event = kinds[(index * 7 + (index >> 3)) % kinds.length]?.() ?? S;
    const of = { uuid: `u${(index * 31) % 80}`, hostname: `w${index % 9}@shop`, pid: 1 + (index % 3) };
    busy.cluster.apply({ ...event, ...of, clock: index, timestampMs: T0_MS + index }, T0_MS + index);
    if (index % 500 === 0) busy.cluster.collect(T0_MS + index);
  }
  // First some are lost. A day later no events are expected of any of them.
  const dayMs = 24 * 3_600_000;
  const laterMs = T0_MS + 5 * dayMs;
  for (const { cluster } of [busy, fresh]) {
    cluster.flush();
    for (let round = 3; round > 0; round -= 1) cluster.collect(laterMs - round * dayMs);
    for (let index = 0; index < 200; index += 1) cluster.apply(sent({ uuid: `z${index}` }), laterMs);
  }
  assert.equal(busy.cluster.tables().tasks.bytes, fresh.cluster.tables().tasks.bytes);
});

test('a table that is full by its bytes forgets fifty tasks at a time, but only one that has held events', () => {
  const forgotten: string[] = [];
  const table = new TaskTable(1_000, (task) => {
    forgotten.push(task.text);
    task.held = undefined;
  });
  for (let index = 0; index < 500; index += 1) {
    const task = table.task(`u${index}`, T0_MS);
    if (index < 3) task.held = new HeldEvent(task, INSTANCE, new HeldNumbers());
  }
  const heavy = table.task('heavy', T0_MS);
  heavy.name = 'x'.repeat(table.bytesMax);
  table.weigh(heavy);
  for (const uuid of ['u0', 'u1', 'u2']) {
    assert.equal(table.makeRoom(T0_MS), false);
    assert.equal(forgotten.at(-1), uuid);
  }
  assert.equal(forgotten.length, 3);
  for (let left = 498; left > 50; left -= 50) {
    assert.equal(table.makeRoom(T0_MS), false);
    assert.equal(table.size, left - 50);
  }
  assert.equal(table.makeRoom(T0_MS), true);
  assert.equal(table.size, 0);
});
