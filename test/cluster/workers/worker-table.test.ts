import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent } from '../../../src/celery/event.ts';
import type { WorkerReading } from '../../../src/cluster/observation.ts';
import { WorkerTable } from '../../../src/cluster/workers/worker-table.ts';
import {
  received,
  SETTINGS,
  sent,
  signal,
  succeeded,
  T0_MS,
  type Watched,
  WORKER,
  watch,
} from '../events.ts';

const { windowMs, workerTimeoutMs, seriesRetentionMs } = SETTINGS;
/** After this time no worker-online follows any more. */
const OFFLINE_MS = windowMs + 2_000;
const W2 = 'w2@shop';
const HOUR_MS = 3_600_000;

const online = (hostname = WORKER) => signal('worker-online', { hostname });
const offline = (hostname = WORKER) => signal('worker-offline', { hostname, active: 1 });
const heartbeat = (active: number | undefined, hostname = WORKER) =>
  signal('worker-heartbeat', { hostname, active });
/** The reply to remote control has no figures. */
const answer = () =>
  signal('worker-heartbeat', { active: undefined, processed: undefined, loadavg: undefined });

/** Events by the time at which they happen and arrive. */
type TimedEvents = readonly (readonly [atMs: number, event: CeleryEvent])[];

function applyAll(on: Watched, events: TimedEvents): void {
  for (const [atMs, event] of events) {
    on.cluster.apply({ ...event, timestampMs: T0_MS + atMs }, T0_MS + atMs);
  }
}

function readAt(atMs: number, events: TimedEvents): readonly WorkerReading[] {
  const on = watch();
  applyAll(on, events);
  return on.cluster.collect(T0_MS + atMs).workers;
}

/** The reading of the one worker; undefined if it is to be forgotten. */
type Reading = { readonly up: boolean; readonly active: number | undefined } | undefined;
type Case = readonly [what: string, events: TimedEvents, atMs: number, reading: Reading];

const GONE = { up: false, active: 0 };

const TABLE: readonly Case[] = [
  ['it has come online', [[0, online()]], windowMs, { up: true, active: 0 }],
  ['its heartbeat reports active tasks', [[0, heartbeat(3)]], windowMs, { up: true, active: 3 }],
  [
    'its first heartbeat might still be overtaken by an earlier one',
    [[0, heartbeat(3)]],
    windowMs - 1,
    { up: true, active: undefined },
  ],
  [
    'its last heartbeat counts',
    [
      [0, heartbeat(3)],
      [2_000, heartbeat(1)],
    ],
    2_000 + windowMs,
    { up: true, active: 1 },
  ],
  [
    'a heartbeat without figures keeps the last ones',
    [
      [0, heartbeat(3)],
      [2_000, answer()],
    ],
    2_000 + windowMs,
    { up: true, active: 3 },
  ],
  ['it has reported no figures', [[0, answer()]], windowMs, { up: true, active: undefined }],
  ['it sent a task event and no heartbeat', [[0, received()]], 0, { up: true, active: undefined }],
  [
    'it is silent for longer than the timeout, and a client with its name sends a task',
    [
      [0, heartbeat(3)],
      [workerTimeoutMs, sent({ hostname: WORKER })],
    ],
    workerTimeoutMs + 1,
    GONE,
  ],
  [
    'it sends task events and no heartbeat, as in a long solo task',
    [
      [0, heartbeat(1)],
      [workerTimeoutMs, succeeded()],
    ],
    workerTimeoutMs + 1,
    { up: true, active: 1 },
  ],
  [
    'its worker-online announced slow heartbeats, and it answers remote control as every worker does',
    [
      [0, signal('worker-online', { freqS: 60 })],
      [1_000, { ...answer(), freqS: 5 }],
    ],
    151_000,
    { up: true, active: 0 },
  ],
  [
    'its heartbeats became as fast as those of others',
    [
      [0, signal('worker-heartbeat', { freqS: 60 })],
      [1_000, signal('worker-heartbeat', { freqS: 2 })],
    ],
    1_000 + workerTimeoutMs + 1,
    GONE,
  ],
  [
    'it announced a heartbeat in eleven days, and an hour counts',
    [[0, signal('worker-heartbeat', { freqS: 1_000_000 })]],
    2.5 * HOUR_MS + 1,
    GONE,
  ],
  [
    'it announced a heartbeat in eleven days, and is remembered no longer than the retention after that hour',
    [[0, signal('worker-heartbeat', { freqS: 1_000_000 })]],
    2.5 * HOUR_MS + seriesRetentionMs + 1,
    undefined,
  ],
  ['it only sent a worker-offline', [[0, offline()]], OFFLINE_MS, GONE],
  [
    'it is silent for just the timeout and the retention',
    [[0, heartbeat(3)]],
    workerTimeoutMs + seriesRetentionMs,
    GONE,
  ],
  [
    'it is silent for longer than the timeout and the retention',
    [[0, heartbeat(3)]],
    workerTimeoutMs + seriesRetentionMs + 1,
    undefined,
  ],
  ['its worker-offline is exactly as old as the retention', [[0, offline()]], seriesRetentionMs, GONE],
  ['its worker-offline is older than the retention', [[0, offline()]], seriesRetentionMs + 1, undefined],
];

for (const [what, events, atMs, reading] of TABLE) {
  const says =
    reading === undefined
      ? 'forgotten'
      : `${reading.up ? 'up' : 'down'} with ${reading.active ?? 'unknown'} active`;
  test(`${what}: the worker is ${says}`, () => {
    const expected = reading === undefined ? [] : [{ worker: WORKER, ...reading }];
    assert.deepEqual(
      readAt(atMs, events).map(({ worker, up, active }) => ({ worker, up, active })),
      expected,
    );
  });
}

test('a worker’s own figures are read, and its load only while it is up', () => {
  const load = [0.5, 0.25, 0.125] as const;
  const [up] = readAt(3_000, [[0, signal('worker-heartbeat', { loadavg: load })]]);
  const versions = [{ version: '5.7.0', system: 'Linux' }];
  assert.deepEqual([up?.load, up?.versions, up?.heartbeatAgeS], [load, versions, 3]);
  const [down] = readAt(workerTimeoutMs + 1, [[0, signal('worker-heartbeat', { loadavg: load })]]);
  assert.deepEqual([down?.load, down?.versions], [[0, 0, 0], versions]);
});

test('processes that fill the memory evict the least recently active worker', () => {
  const on = watch({ workersMax: 1_000 });
  for (let index = 0; index < 1_000; index += 1) {
    for (let pid = 1; pid <= 8; pid += 1) {
      applyAll(on, [[index, signal('worker-heartbeat', { hostname: `w${index}`, pid })]]);
    }
  }
  const { size, evicted } = on.cluster.tables().workers;
  assert.ok(size < 700 && size + evicted === 1_000, `${size} workers, ${evicted} evicted`);
  const { workers, forgotten } = on.cluster.collect(T0_MS + 1_000);
  assert.deepEqual([workers.length, forgotten.length], [size, evicted]);
  assert.ok(workers.some(({ worker }) => worker === 'w999'));
});

test('a worker in a crash loop evicts no other from a small table', () => {
  const on = watch({ workersMax: 2 });
  applyAll(on, [[0, online(W2)]]);
  for (let pid = 1; pid <= 100; pid += 1) applyAll(on, [[10 * pid, signal('worker-online', { pid })]]);
  assert.equal(on.cluster.tables().workers.evicted, 0);
});

test('an old process no longer counts once its successor runs, and two live ones add up', () => {
  const of = (pid: number, active: number) => signal('worker-heartbeat', { pid, active });
  const restarted = readAt(7_000, [
    [0, of(17, 3)],
    [3_000, of(18, 1)],
    [5_000, of(18, 2)],
  ]);
  assert.deepEqual(
    restarted.map(({ up, active }) => [up, active]),
    [[true, 2]],
  );
  const shared = readAt(7_000, [
    [0, of(17, 3)],
    [1_000, of(18, 1)],
    [2_000, of(17, 4)],
    [3_000, of(18, 2)],
  ]);
  assert.deepEqual(
    shared.map(({ up, active }) => [up, active]),
    [[true, 6]],
  );
});

test('names that only resemble a client’s are workers', () => {
  const names = ['general@shop', 'gen@shop', 'gen4711', 'gen47x@shop', 'Gen4711@shop', 'agen4711@shop'];
  const readings = readAt(
    0,
    names.map((hostname) => [0, online(hostname)]),
  );
  assert.deepEqual(readings.map(({ worker }) => worker).sort(), [...names].sort());
});

test('beyond its bound the table evicts the least recently active worker, and counts it', () => {
  const on = watch({ workersMax: 2 });
  applyAll(on, [
    [0, online('a@shop')],
    [1, online('b@shop')],
    [2, received({ hostname: 'a@shop' })],
    [3, online('c@shop')],
  ]);
  const { workers, forgotten } = on.cluster.collect(T0_MS + 3);
  assert.deepEqual(workers.map(({ worker }) => worker).sort(), ['a@shop', 'c@shop']);
  assert.deepEqual(forgotten, ['b@shop']);
  const { size, evicted } = on.cluster.tables().workers;
  assert.deepEqual({ size, evicted }, { size: 2, evicted: 1 });
});

test('the bound holds for any number of processes under one name', () => {
  const on = watch();
  for (let pid = 0; pid < 500; pid += 1)
    applyAll(on, [[pid, signal('worker-heartbeat', { pid, active: 1 })]]);
  assert.ok((on.cluster.collect(T0_MS + 2_000).workers[0]?.active ?? 0) <= 8);
});

test('events of a worker that floods with heartbeats are applied early, and those out of order are counted', () => {
  const on = watch();
  for (let at = 0; at < 100; at += 1) {
    on.cluster.apply(signal('worker-heartbeat', { clock: 1_000 - at, timestampMs: T0_MS - at }), T0_MS + at);
  }
  assert.equal(on.cluster.beyondFixedBounds(), 68);
});

test('many heartbeats of a worker in order are not counted: after a suspension, or in a long window', () => {
  for (const [settings, stepMs] of [
    [{}, 1],
    [{ windowMs: 60_000 }, 2_000],
    [{ windowMs: 600_000 }, 2_000],
  ] as const) {
    const on = watch(settings);
    for (let index = 0; index < 300; index += 1) {
      on.cluster.apply(
        signal('worker-heartbeat', { clock: index, timestampMs: T0_MS + index * 2_000 }),
        T0_MS + index * stepMs,
      );
    }
    assert.equal(on.cluster.beyondFixedBounds(), 0);
  }
});

test('a worker forgotten for silence is no eviction, is reported once, and may return', () => {
  const on = watch();
  const goneAtMs = T0_MS + workerTimeoutMs + seriesRetentionMs + 1;
  applyAll(on, [[0, heartbeat(3)]]);
  assert.deepEqual(on.cluster.collect(goneAtMs), {
    ...{ workers: [], forgotten: [WORKER], queues: [], ends: [] },
    running: new Map(),
  });
  assert.deepEqual(on.cluster.collect(goneAtMs).forgotten, []);
  const { size, evicted } = on.cluster.tables().workers;
  assert.deepEqual({ size, evicted }, { size: 0, evicted: 0 });
  applyAll(on, [[goneAtMs - T0_MS, online()]]);
  const back = on.cluster.collect(goneAtMs + windowMs);
  assert.deepEqual(
    back.workers.map(({ worker, up, active }) => [worker, up, active]),
    [[WORKER, true, 0]],
  );
});

test('a name whose oldest process reports falling counts keeps eight processes, with their memory counted', () => {
  const table = new WorkerTable(SETTINGS, { windowMs, observe: () => {} });
  let nowMs = T0_MS;
  let pid = 0;
  const report = (ofPid: number, processed: number) =>
    table.signal(
      signal('worker-heartbeat', { pid: ofPid, processed, clock: -1, timestampMs: nowMs }),
      nowMs,
      nowMs,
    );
  for (let restarts = 0; restarts < 48; restarts += 1) {
    const oldest = [...table.all()][0]?.instances[0];
    for (let nth = 0; restarts >= 8 && oldest !== undefined && nth < 62; nth += 1) report(oldest.pid, 10);
    pid += 1;
    report(pid, 100);
    nowMs += 1000;
    table.release(nowMs, Number.POSITIVE_INFINITY);
    assert.ok(([...table.all()][0]?.instances.length ?? 0) <= 8);
  }
  for (const _ of table.forgetGone(nowMs + SETTINGS.seriesRetentionMs * 2)) assert.ok(table.bytes >= 0);
  assert.deepEqual([table.size, table.bytes], [0, 0]);
});

test('repeatedly deployed workers are not evicted by their own former processes', () => {
  const on = watch({ workersMax: 1_000 });
  let atMs = 0;
  for (let deploy = 1; deploy <= 4; deploy += 1) {
    for (const type of ['worker-online', 'worker-heartbeat', 'worker-offline'] as const) {
      for (let index = 0; index < 900; index += 1) {
        const hostname = `celery@worker-${index}.shop.internal`;
        atMs += 1;
        applyAll(on, [[atMs, signal(type, { hostname, pid: 1_000 * deploy + index })]]);
      }
      atMs += 5_000;
      on.cluster.collect(T0_MS + atMs);
    }
  }
  assert.equal(on.cluster.tables().workers.evicted, 0);
});
