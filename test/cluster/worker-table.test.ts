import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent } from '../../src/celery/event.ts';
import type { WorkerReading } from '../../src/cluster/observation.ts';
import { cluster, received, SETTINGS, sent, signal, started, succeeded, T0_MS, WORKER } from './events.ts';

const { workerTimeoutMs, seriesRetentionMs } = SETTINGS;
const W2 = 'w2@shop';

const online = (hostname = WORKER) => signal('worker-online', { hostname });
const offline = (hostname = WORKER) => signal('worker-offline', { hostname, active: 1 });
const heartbeat = (active: number | undefined, hostname = WORKER) =>
  signal('worker-heartbeat', { hostname, active });
/** The answer to remote control tells no figures. */
const answer = () =>
  signal('worker-heartbeat', { active: undefined, processed: undefined, loadavg: undefined });

/** Events by the time, since the beginning, at which they reach us. */
type Heard = readonly (readonly [atMs: number, event: CeleryEvent])[];

function readAt(atMs: number, heard: Heard): readonly WorkerReading[] {
  const on = cluster();
  for (const [eventAtMs, event] of heard) on.apply(event, T0_MS + eventAtMs);
  return on.workers(T0_MS + atMs);
}

interface Case {
  readonly what: string;
  readonly heard: Heard;
  readonly atMs: number;
  /** Of the one worker; undefined if it is to be forgotten. */
  readonly reading: { readonly up: boolean; readonly active: number | undefined } | undefined;
}

const GONE = { up: false, active: 0 };

const TABLE: readonly Case[] = [
  { what: 'it has come online', heard: [[0, online()]], atMs: 0, reading: { up: true, active: 0 } },
  {
    what: 'its heartbeat tells of tasks',
    heard: [[0, heartbeat(3)]],
    atMs: 0,
    reading: { up: true, active: 3 },
  },
  {
    what: 'its last heartbeat counts',
    heard: [
      [0, heartbeat(3)],
      [2_000, heartbeat(1)],
    ],
    atMs: 2_000,
    reading: { up: true, active: 1 },
  },
  {
    what: 'a heartbeat without figures leaves what was told',
    heard: [
      [0, heartbeat(3)],
      [2_000, answer()],
    ],
    atMs: 2_000,
    reading: { up: true, active: 3 },
  },
  {
    what: 'it has told no figures at all',
    heard: [[0, answer()]],
    atMs: 0,
    reading: { up: true, active: undefined },
  },
  {
    what: 'a task of it was heard of, and no heartbeat',
    heard: [[0, received()]],
    atMs: 0,
    reading: { up: true, active: undefined },
  },
  {
    what: 'it is silent for just the timeout',
    heard: [[0, heartbeat(3)]],
    atMs: workerTimeoutMs,
    reading: { up: true, active: 3 },
  },
  { what: 'it is silent for longer', heard: [[0, heartbeat(3)]], atMs: workerTimeoutMs + 1, reading: GONE },
  {
    what: 'it tells of tasks and sends no heartbeat, as in a long solo task',
    heard: [
      [0, heartbeat(1)],
      [workerTimeoutMs, succeeded()],
    ],
    atMs: workerTimeoutMs + 1,
    reading: { up: true, active: 1 },
  },
  {
    what: 'it is heard of again after the timeout',
    heard: [
      [0, heartbeat(3)],
      [workerTimeoutMs * 2, heartbeat(2)],
    ],
    atMs: workerTimeoutMs * 2,
    reading: { up: true, active: 2 },
  },
  {
    what: 'it has said goodbye, with a task still running',
    heard: [
      [0, heartbeat(1)],
      [1_000, offline()],
    ],
    atMs: 1_000,
    reading: GONE,
  },
  {
    what: 'it ends its last task after its goodbye, as in a warm shutdown',
    heard: [
      [0, heartbeat(1)],
      [1_000, offline()],
      [3_000, succeeded()],
    ],
    atMs: 3_000,
    reading: GONE,
  },
  {
    what: 'it was never heard of but for its goodbye',
    heard: [[0, offline()]],
    atMs: 0,
    reading: GONE,
  },
  {
    what: 'it has lost the broker for a moment',
    heard: [
      [0, heartbeat(2)],
      [1_000, offline()],
      [1_020, online()],
    ],
    atMs: 1_020,
    reading: { up: true, active: 0 },
  },
  {
    what: 'it sends a heartbeat after its goodbye',
    heard: [
      [0, offline()],
      [2_000, heartbeat(2)],
    ],
    atMs: 2_000,
    reading: { up: true, active: 2 },
  },
  {
    what: 'it is silent for just the timeout and the retention',
    heard: [[0, heartbeat(3)]],
    atMs: workerTimeoutMs + seriesRetentionMs,
    reading: GONE,
  },
  {
    what: 'it is silent for longer than the timeout and the retention',
    heard: [[0, heartbeat(3)]],
    atMs: workerTimeoutMs + seriesRetentionMs + 1,
    reading: undefined,
  },
  {
    what: 'it has said goodbye for just the retention',
    heard: [[0, offline()]],
    atMs: seriesRetentionMs,
    reading: GONE,
  },
  {
    what: 'it has said goodbye for longer than the retention',
    heard: [[0, offline()]],
    atMs: seriesRetentionMs + 1,
    reading: undefined,
  },
  {
    what: 'the clock was set back',
    heard: [[0, heartbeat(3)]],
    atMs: -3_600_000,
    reading: { up: true, active: 3 },
  },
];

for (const { what, heard, atMs, reading } of TABLE) {
  const says =
    reading === undefined
      ? 'forgotten'
      : `${reading.up ? 'up' : 'down'} with ${reading.active ?? 'unknown'} active`;
  test(`${what}: the worker is ${says}`, () => {
    const expected = reading === undefined ? [] : [{ worker: WORKER, ...reading }];
    assert.deepEqual(readAt(atMs, heard), expected);
  });
}

test('worker events are no observations', () => {
  const on = cluster();
  for (const event of [online(), heartbeat(3), offline()]) assert.deepEqual(on.apply(event, T0_MS), []);
});

test('two workers on one host are two workers', () => {
  const heard: Heard = [
    [0, heartbeat(1)],
    [0, heartbeat(2, W2)],
    [10, offline()],
  ];
  assert.deepEqual(
    new Map(readAt(10, heard).map(({ worker, up, active }) => [worker, { up, active }])),
    new Map([
      [WORKER, GONE],
      [W2, { up: true, active: 2 }],
    ]),
  );
});

test('clients are no workers, whatever they send', () => {
  const client = 'gen4711@shop';
  const events: readonly CeleryEvent[] = [
    sent({ hostname: client }),
    started({ hostname: client }),
    succeeded({ hostname: client }),
    heartbeat(1, client),
    offline(client),
  ];
  assert.deepEqual(
    readAt(
      0,
      events.map((event) => [0, event]),
    ),
    [],
  );
});

test('names that only begin like a client’s are workers', () => {
  const names = ['general@shop', 'gen@shop', 'gen4711', 'gen47x@shop', 'Gen4711@shop', 'agen4711@shop'];
  const readings = readAt(
    0,
    names.map((hostname) => [0, online(hostname)]),
  );
  assert.deepEqual(readings.map(({ worker }) => worker).sort(), [...names].sort());
});

test('a task-sent is no sign of life, even from a host where a worker is', () => {
  const heard: Heard = [
    [0, heartbeat(1)],
    [workerTimeoutMs, sent({ hostname: WORKER })],
  ];
  assert.deepEqual(readAt(workerTimeoutMs + 1, heard), [{ worker: WORKER, ...GONE }]);
});

test('beyond its bound the table forgets the worker that was heard of longest ago, and counts it', () => {
  const on = cluster({ workersMax: 2 });
  on.apply(online('a@shop'), T0_MS);
  on.apply(online('b@shop'), T0_MS + 1);
  on.apply(received({ hostname: 'a@shop' }), T0_MS + 2);
  on.apply(online('c@shop'), T0_MS + 3);
  assert.deepEqual(
    on
      .workers(T0_MS + 3)
      .map(({ worker }) => worker)
      .sort(),
    ['a@shop', 'c@shop'],
  );
  assert.equal(on.sizes().workersEvicted, 1);
  assert.equal(on.sizes().workers, 2);
});

test('the bound holds for any number of workers', () => {
  const on = cluster({ workersMax: 5 });
  for (let index = 0; index < 500; index += 1) {
    on.apply(online(`w${index}@shop`), T0_MS + index);
    assert.ok(on.sizes().workers <= 5);
  }
  assert.equal(on.sizes().workersEvicted, 495);
  assert.equal(on.workers(T0_MS + 500).length, 5);
});

test('to forget a worker for its silence is no eviction, and it may come back', () => {
  const on = cluster();
  const goneAtMs = T0_MS + workerTimeoutMs + seriesRetentionMs + 1;
  on.apply(heartbeat(3), T0_MS);
  assert.deepEqual(on.workers(goneAtMs), []);
  assert.deepEqual(on.sizes(), { tasks: 0, workers: 0, tasksEvicted: 0, workersEvicted: 0 });
  on.apply(online(), goneAtMs);
  assert.deepEqual(on.workers(goneAtMs), [{ worker: WORKER, up: true, active: 0 }]);
});
