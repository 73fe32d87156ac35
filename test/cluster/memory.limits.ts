/** How much memory a hostile sender can fill: with workers, their events, and held events. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Cluster, createCluster } from '../../src/cluster/cluster.ts';
import { Task } from '../../src/cluster/tasks/task.ts';
import { ReorderingWindow } from '../../src/cluster/window/reordering-window.ts';
import { WorkerTable } from '../../src/cluster/workers/worker-table.ts';
import { bound } from '../bound.ts';
import { heapBytes } from '../otlp/collect/memory.ts';
import { failed, received, SETTINGS, sent, signal, started, T0_MS, watch } from './events.ts';

/** The default values of the options. */
const DEFAULTS = { ...SETTINGS, tasksMax: 100_000, workersMax: 10_000, windowMs: 1_000, heldMax: 100_000 };
const MB = 1e6;
/** The longest that decoding accepts. */
const CHARS = 255;
const VERSION_CHARS = 64;

/** A text with its own memory, as in each message. */
function long(beginning: string, chars = CHARS): string {
  return Buffer.from(beginning.padEnd(chars, '一'), 'utf16le').toString('utf16le');
}

/** The growth of the heap by that. */
function heldMb(work: () => void): number {
  const before = heapBytes();
  work();
  return (heapBytes() - before) / MB;
}

function newCluster(): Cluster {
  return createCluster(DEFAULTS, () => {});
}

/** The number of processes that fit under one name. */
function sayMuch(cluster: Cluster, workers: number, words: number): void {
  for (let worker = 0; worker < workers; worker += 1) {
    for (let pid = 1; pid <= 8; pid += 1) {
      for (let clock = 0; clock < words; clock += 1) {
        const texts = {
          softwareVersion: long(`v ${clock} ${pid} ${worker}`, VERSION_CHARS),
          softwareSystem: long(`s ${clock} ${pid} ${worker}`, VERSION_CHARS),
        };
        cluster.apply(
          signal('worker-heartbeat', {
            hostname: long(`w${worker}`),
            pid,
            clock,
            ...texts,
            loadavg: [0.5, 1.5, 2.5],
          }),
          T0_MS,
          0,
        );
      }
    }
  }
}

test('many worker events while no time passes fill no memory', (t) => {
  const cluster = newCluster();
  const mb = heldMb(() => sayMuch(cluster, 400, 64));
  bound(t, 'heap for many worker events at one time', mb, 60, 'MB');
  assert.ok(cluster.beyondFixedBounds() > 0);
});

test('the maximum of processes and workers, each with its own texts, fills no memory', (t) => {
  const cluster = newCluster();
  const mb = heldMb(() => sayMuch(cluster, DEFAULTS.workersMax, 1));
  bound(t, 'heap for the most processes and workers', mb, 100, 'MB');
  assert.ok(cluster.tables().workers.evicted > 0);
});

test('tasks that grow as many held events are applied make room at once', (t) => {
  const on = watch({ tasksMax: 2_000, heldMax: 10_000 });
  let clock = 0;
  const begin = (uuid: string, atMs: number) => {
    clock += 1;
    on.cluster.apply(started({ uuid, clock, timestampMs: T0_MS + atMs }), T0_MS + atMs);
  };
  for (let light = 0; light < 1_500; light += 1) begin(`l${light}`, 0);
  for (let heavy = 0; heavy < 280; heavy += 1) {
    const texts = { uuid: `h${heavy}`, name: long(`n${heavy}`), queue: long(`q${heavy}`) };
    on.cluster.apply(sent({ ...texts, clock: heavy, timestampMs: T0_MS }), T0_MS);
    begin(texts.uuid, 0);
  }
  on.cluster.collect(T0_MS + 5_000);
  // Each is a run, since its task seems to have been delivered again; then the oldest tasks have held events too.
  for (let more = 0; more < 1_900; more += 1) begin(`h${more % 280}`, 6_000);
  for (let oldest = 0; oldest < 40; oldest += 1) begin(`l${oldest}`, 6_000);
  on.cluster.collect(T0_MS + 10_000);
  const { bytes, bytesMax, evicted } = on.cluster.tables().tasks;
  assert.ok(evicted > 0);
  bound(t, 'tasks that grow as held events are applied, as counted', bytes / MB, bytesMax / MB, 'MB');
});

test('repeated restarts keep no former process, even if a task ran on the first', (t) => {
  const cluster = newCluster();
  const mb = heldMb(() => {
    cluster.apply(started(), T0_MS, 0);
    for (let index = 0; index < 200_000; index += 1) {
      const atMs = T0_MS + index;
      const of = { clock: 1_000_000 - index, timestampMs: atMs };
      cluster.apply(signal('worker-online', of), atMs, index);
    }
  });
  bound(t, 'heap for 200,000 restarts of a worker', mb, 30, 'MB');
  assert.equal(cluster.tables().workers.size, 1);
});

test('an event that may belong to another process is kept without those after it', (t) => {
  const cluster = newCluster();
  const mb = heldMb(() => {
    for (const processed of [7, 3]) {
      cluster.apply(signal('worker-heartbeat', { processed, timestampMs: T0_MS - processed }), T0_MS, 0);
    }
    for (let index = 0; index < 200_000; index += 1) {
      const of = { hostname: 'w2@shop', clock: index, timestampMs: T0_MS + index };
      cluster.apply(signal('worker-heartbeat', of), T0_MS + index, 20 * index);
    }
  });
  bound(t, 'heap for 200,000 events after one in doubt', mb, 10, 'MB');
});

test('the memory estimate of the worker table is never too low, and returns to zero', (t) => {
  const settings = { ...DEFAULTS, workersMax: 2_000 };
  const table = new WorkerTable(settings, { windowMs: settings.windowMs, observe: () => {} });
  assert.equal(table.bytes, 0);
  const mb = heldMb(() => {
    for (let worker = 0; worker < settings.workersMax; worker += 1) {
      const hostname = long(`w${worker}`);
      for (let pid = 1; pid <= 6; pid += 1) {
        for (let clock = 1; clock <= 3; clock += 1) {
          const texts = {
            softwareVersion: long(`v ${pid} ${worker}`, VERSION_CHARS),
            softwareSystem: long(`s ${pid} ${worker}`, VERSION_CHARS),
          };
          const at = { timestampMs: T0_MS + clock + 0.5, clock };
          table.signal(signal('worker-heartbeat', { hostname, pid, ...at, ...texts }), T0_MS, worker + 0.5);
          table
            .instance(started({ hostname, pid, ...at }), T0_MS, worker + 0.5)
            .started(at.timestampMs, false, clock);
          assert.ok(table.bytes <= table.bytesMax);
        }
      }
    }
  });
  assert.ok(table.evicted > 0 && table.size > settings.workersMax / 2);
  bound(t, 'heap for a full table of workers, as it estimates', mb, table.bytes / MB, 'MB');
  table.flush();
  for (const _ of table.forgetGone(1e9));
  assert.deepEqual([table.size, table.bytes], [0, 0]);
});

test('events with long texts, each of another worker, are held in bounded memory, which is freed', (t) => {
  const table = new WorkerTable(
    { ...DEFAULTS, workersMax: 1 },
    { windowMs: DEFAULTS.windowMs, observe: () => {} },
  );
  const window = new ReorderingWindow(DEFAULTS, () => {});
  const tasks = Array.from({ length: 10_000 }, (_, index) => new Task(index));
  const mb = heldMb(() => {
    for (let index = 0; index < 2 * DEFAULTS.heldMax; index += 1) {
      const of = { hostname: long(`w${index}`), timestampMs: T0_MS + index + 0.5, clock: index };
      const event =
        index % 2 === 0 ? received({ ...of, name: long(`n${index}`) }) : failed(long(`E${index}`, 100), of);
      window.hold(
        event,
        tasks[index % tasks.length] ?? new Task(0),
        table.instance(event, T0_MS, index + 0.5),
        0.5,
      );
      assert.ok(window.bytes <= window.bytesMax);
    }
  });
  assert.ok(window.releasedEarly > 0 && window.size > DEFAULTS.heldMax / 2);
  bound(t, 'heap for held events, as they are estimated', mb, window.bytes / MB + 10, 'MB');
  const leftMb = heldMb(() => window.flush());
  assert.equal(window.bytes, 0);
  bound(t, 'heap for held events once they are applied', mb + leftMb, 30, 'MB');
});

test('the configured numbers of workers and events fit, with names longer than usual', () => {
  const { workersMax, heldMax } = DEFAULTS;
  const on = watch({ ...DEFAULTS, tasksMax: heldMax });
  for (let index = 0; index < workersMax; index += 1) {
    const hostname = `w${index}@`.padEnd(80, 'x');
    for (const pid of [17, 18]) on.cluster.apply(signal('worker-online', { hostname, pid }), T0_MS, 0);
  }
  for (let index = 0; index < heldMax; index += 1) {
    const of = { hostname: `w${index % workersMax}@`.padEnd(80, 'x'), uuid: `u${index}` };
    on.cluster.apply(index % 2 === 0 ? received({ ...of, name: 'n'.repeat(80) }) : started(of), T0_MS, 0);
  }
  const { workers, reordering_window: held } = on.cluster.tables();
  assert.deepEqual([workers.size, workers.evicted], [workersMax, 0]);
  assert.deepEqual([held.size, held.evicted], [heldMax, 0]);
  assert.equal(on.cluster.beyondFixedBounds(), 0);
});
