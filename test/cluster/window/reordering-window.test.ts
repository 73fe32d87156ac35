import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type HeldEvent, Task, type WorkerTaskEvent } from '../../../src/cluster/tasks/task.ts';
import { ReorderingWindow } from '../../../src/cluster/window/reordering-window.ts';
import { WorkerInstance } from '../../../src/cluster/workers/worker-instance.ts';
import { failed, received, retried, revoked, SETTINGS, started, succeeded, T0_MS } from '../events.ts';

const { windowMs } = SETTINGS;
/** Events are held a little longer than the window, because the timestamp of task-sent is late. */
const HELD_MS = windowMs + 100;

const instance = (nodename: string, pid = 17) =>
  new WorkerInstance(
    nodename,
    pid,
    { windowMs, lostTimeoutMs: 0, observe: () => {}, onDisorder: () => {}, onRestart: () => {} },
    { seenMs: T0_MS, clock: 1, reportedMs: T0_MS, place: 1, session: 0 },
  );
const W1 = instance('w1@shop');

interface Watched {
  readonly window: ReorderingWindow;
  hold(event: WorkerTaskEvent, task: Task, nowMs: number, by?: WorkerInstance): void;
  /** The events released since the last call: type and clock. */
  out(): readonly string[];
}

function watched(heldMax = 1_000): Watched {
  let out: string[] = [];
  const window = new ReorderingWindow({ windowMs, heldMax }, ({ type, clock }: HeldEvent) =>
    out.push(`${type.slice('task-'.length)} ${clock}`),
  );
  return {
    window,
    hold: (event, task, nowMs, by = W1) => window.hold(event, task, by, nowMs),
    out() {
      const news = out;
      out = [];
      return news;
    },
  };
}

test('an event is released once no earlier one can arrive, and not before', () => {
  const { window, hold, out } = watched();
  hold(received({ clock: 1 }), new Task(0), 0);
  window.release(HELD_MS - 1);
  assert.deepEqual(out(), []);
  assert.equal(window.size, 1);
  window.release(HELD_MS);
  assert.deepEqual(out(), ['received 1']);
  assert.equal(window.size, 0);
});

test('an earlier event is released first, however late it arrived', () => {
  const { window, hold, out } = watched();
  const task = new Task(0);
  hold(succeeded({ clock: 3, timestampMs: T0_MS + 20 }), task, 0);
  hold(received({ clock: 1, timestampMs: T0_MS }), task, windowMs);
  hold(started({ clock: 2, timestampMs: T0_MS + 10 }), task, windowMs);
  hold(failed('KeyError', { clock: 4, timestampMs: T0_MS + 30 }), task, windowMs);
  window.release(HELD_MS);
  assert.deepEqual(out(), ['received 1', 'started 2', 'succeeded 3']);
  window.release(windowMs + HELD_MS);
  assert.deepEqual(out(), ['failed 4']);
  assert.equal(window.size, 0);
});

test('events with the same time are ordered by logical clock, then type, then sender', () => {
  const at = { timestampMs: T0_MS };
  const orders: readonly (readonly [WorkerTaskEvent, WorkerInstance])[][] = [
    [
      [started({ ...at, clock: 1 }), W1],
      [received({ ...at, clock: 2 }), W1],
    ],
    [
      [received({ ...at, clock: 3 }), W1],
      [started({ ...at, clock: 3 }), W1],
      [retried('KeyError', { ...at, clock: 3 }), W1],
      [succeeded({ ...at, clock: 3 }), W1],
    ],
    [
      [revoked({ ...at, clock: 4 }), instance('w0@shop')],
      [revoked({ ...at, clock: 4 }), W1],
      [revoked({ ...at, clock: 4 }), instance('w1@shop', 18)],
      [revoked({ ...at, clock: 4 }), instance('w2@shop')],
    ],
  ];
  for (const order of orders) {
    const outOf = (sequence: typeof order): readonly string[] => {
      const out: string[] = [];
      const window = new ReorderingWindow({ windowMs, heldMax: 10 }, ({ type, clock, instance: by }) =>
        out.push(`${type} ${clock} ${by.nodename} ${by.pid}`),
      );
      const task = new Task(0);
      for (const [event, by] of sequence) window.hold(event, task, by, 0);
      window.flush();
      return out;
    };
    assert.deepEqual(outOf(order.toReversed()), outOf(order));
    assert.deepEqual(
      outOf(order.toReversed()),
      order.map(([{ type, clock }, by]) => `${type} ${clock} ${by.nodename} ${by.pid}`),
    );
  }
});

test('beyond its bound one event is released early and counted: the earliest of the task whose event arrived first', () => {
  const { window, hold, out } = watched(3);
  const task = new Task(0);
  hold(started({ clock: 2, timestampMs: T0_MS + 10 }), task, 0);
  hold(received({ clock: 1, timestampMs: T0_MS }), task, 1);
  hold(received({ clock: 1 }), new Task(1), 2);
  assert.equal(window.releasedEarly, 0);
  hold(received({ clock: 1 }), new Task(2), 3);
  assert.deepEqual(out(), ['received 1']);
  assert.equal(window.releasedEarly, 1);
  assert.equal(window.size, 3);
  hold(received({ clock: 5 }), new Task(3), 4);
  assert.deepEqual(out(), ['started 2']);
  assert.equal(window.releasedEarly, 2);
  window.flush();
  assert.deepEqual(out(), ['received 1', 'received 1', 'received 5']);
});

test('a limited number of events is released at a time, in order, and the result says whether more are due', () => {
  const { window, hold, out } = watched();
  const task = new Task(0);
  for (const clock of [3, 1, 2]) hold(started({ clock, timestampMs: T0_MS + clock }), task, 0);
  hold(received({ clock: 9 }), new Task(1), 1);
  assert.equal(window.release(HELD_MS + 1, 2), true);
  assert.deepEqual(out(), ['started 1', 'started 2']);
  assert.equal(window.size, 2);
  assert.equal(window.release(HELD_MS + 1, 2), false);
  assert.deepEqual(out(), ['started 3', 'received 9']);
  assert.equal(window.size, 0);
});

test('the earliest of too many events of one task is released early, and counted if it arrives last', () => {
  const upwards = Array.from({ length: 17 }, (_, clock) => clock);
  for (const clocks of [upwards, upwards.toReversed()]) {
    const { window, hold, out } = watched();
    const task = new Task(0);
    for (const clock of clocks) hold(started({ clock, timestampMs: T0_MS + clock }), task, 0);
    assert.deepEqual(out(), ['started 0']);
    assert.equal(window.releasedEarlyPerTask, clocks === upwards ? 0 : 1);
    assert.equal(window.releasedEarly, 0);
    window.flush();
    assert.equal(out().length, 16);
    assert.equal(window.size, 0);
  }
});

test('the events of one task can be released at once, and all at the end', () => {
  const { window, hold, out } = watched();
  const [one, other] = [new Task(0), new Task(1)];
  hold(received({ clock: 1 }), one, 0);
  hold(received({ clock: 2 }), other, 0);
  window.flush(one);
  assert.deepEqual(out(), ['received 1']);
  window.flush();
  assert.deepEqual(out(), ['received 2']);
  window.release(HELD_MS);
  assert.deepEqual(out(), []);
  assert.equal(window.size, 0);
});

test('a reused event has only its own data', () => {
  const seen: unknown[] = [];
  const window = new ReorderingWindow({ windowMs, heldMax: 10 }, (event) =>
    seen.push([event.type, event.etaMs, event.type === 'task-received' ? event.hasNoParent : event.runtimeS]),
  );
  window.hold(received({ etaMs: T0_MS, hasNoParent: true }), new Task(0), W1, 0);
  window.flush();
  window.hold(received(), new Task(1), W1, 0);
  window.flush();
  window.hold(succeeded({ runtimeS: 1 }), new Task(2), W1, 0);
  window.flush();
  window.hold(succeeded({ runtimeS: undefined }), new Task(3), W1, 0);
  window.flush();
  assert.deepEqual(seen, [
    ['task-received', T0_MS, true],
    ['task-received', undefined, false],
    ['task-succeeded', undefined, 1],
    ['task-succeeded', undefined, undefined],
  ]);
});

test('events that were released keep no worker in memory', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const { window, hold } = watched();
  hold(received(), new Task(0), T0_MS);
  const workers = Array.from({ length: 100 }, (_, index) => {
    const worker = instance(`w${index}@shop`);
    hold(started(), new Task(index + 1), T0_MS, worker);
    return new WeakRef(worker);
  });
  window.flush();
  await setImmediate();
  collectGarbage();
  assert.equal(workers.filter((worker) => worker.deref() !== undefined).length, 0);
});
