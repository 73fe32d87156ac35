import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TaskEvent } from '../../src/celery/event.ts';
import { createTaskTable } from '../../src/cluster/task-table.ts';
import {
  cluster,
  failed,
  observe,
  received,
  rejected,
  retried,
  revoked,
  sent,
  spaced,
  started,
  succeeded,
} from './events.ts';

test('a task that is not known yet is empty, and is the same one the next time', () => {
  const table = createTaskTable(2);
  const task = table.task('u1');
  const { name, queue, open, over } = task;
  assert.deepEqual({ name, queue, open, over }, { name: '', queue: '', open: [], over: false });
  assert.equal(table.task('u1'), task);
  assert.equal(table.size(), 1);
});

test('beyond its bound the table forgets the task that was heard of longest ago', () => {
  const table = createTaskTable(3);
  const [first, second, third] = [table.task('u1'), table.task('u2'), table.task('u3')];
  assert.equal(table.task('u1'), first);
  table.task('u4');
  assert.equal(table.size(), 3);
  assert.equal(table.task('u3'), third);
  assert.equal(table.task('u1'), first);
  assert.notEqual(table.task('u2'), second);
});

test('the bound holds, whatever comes', () => {
  const table = createTaskTable(10);
  for (let index = 0; index < 1_000; index += 1) {
    table.task(`u${index}`);
    assert.ok(table.size() <= 10);
  }
  assert.equal(table.size(), 10);
  assert.equal(table.evicted(), 990);
});

test('a task has at most eight open runs; the oldest is given up, and counted', () => {
  const table = createTaskTable(10);
  const task = table.task('u1');
  const runs = Array.from({ length: 8 }, () => table.openRun(task, 'shop.pay', 'w1@shop'));
  assert.equal(table.evicted(), 0);
  const last = table.openRun(task, 'shop.pay', 'w1@shop');
  assert.deepEqual(task.open, [...runs.slice(1), last]);
  assert.equal(task.open[0], runs[1]);
  assert.equal(table.evicted(), 1);
});

const [S, R, B, OK] = [sent(), received(), started(), succeeded()];
/** What had been heard of a task when it was forgotten, and whether that is a loss. */
const FORGOTTEN: readonly { what: string; events: readonly TaskEvent[]; lost: number }[] = [
  { what: 'it was sent and nobody has received it', events: [S], lost: 1 },
  { what: 'it waits in a worker', events: [S, R], lost: 1 },
  { what: 'it runs', events: [S, R, B], lost: 1 },
  { what: 'it runs, and nothing was heard before', events: [B], lost: 1 },
  { what: 'it waits for its retry', events: [R, B, retried('KeyError')], lost: 1 },
  { what: 'it was given back to its queue', events: [R, B, rejected(true)], lost: 1 },
  { what: 'it runs a second time', events: [R, B, OK, R], lost: 1 },
  { what: 'it has succeeded', events: [S, R, B, OK], lost: 0 },
  { what: 'it has succeeded, and nothing was heard before', events: [OK], lost: 0 },
  { what: 'it has failed', events: [R, B, failed('KeyError'), failed('KeyError')], lost: 0 },
  { what: 'it was rejected', events: [R, B, rejected(false)], lost: 0 },
  { what: 'it was revoked', events: [S, R, revoked()], lost: 0 },
  { what: 'its retry has succeeded', events: [S, R, B, retried('KeyError'), R, B, OK], lost: 0 },
  {
    what: 'it was replaced, and what replaced it has succeeded',
    events: [S, R, B, received({ name: 'shop.ship' }), B, OK],
    lost: 0,
  },
];

for (const { what, events, lost } of FORGOTTEN) {
  test(`to forget a task is ${lost === 0 ? 'no' : 'a'} loss where ${what}`, () => {
    const on = cluster({ tasksMax: 1 });
    observe(spaced(events), on);
    assert.equal(on.sizes().tasksEvicted, 0);
    on.apply(sent({ uuid: 'another' }), 0);
    assert.deepEqual(on.sizes(), {
      tasks: 1,
      workers: on.sizes().workers,
      tasksEvicted: lost,
      workersEvicted: 0,
    });
  });
}

test('what is told of a forgotten task is counted all the same, under what is known then', () => {
  const on = cluster({ tasksMax: 1 });
  observe([S, R, sent({ uuid: 'another' })], on);
  assert.deepEqual(observe([B, OK], on), [
    'started unknown unknown w1@shop',
    'succeeded unknown unknown w1@shop 0.25s',
  ]);
});
