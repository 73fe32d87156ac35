import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { EVENT_TYPES } from '../../src/celery/event-types.ts';
import { NUMERIC_FIELDS } from '../../src/celery/numeric-fields.ts';
import { REJECTION_REASONS } from '../../src/celery/rejection.ts';
import { ATTRIBUTES, type AttributeKey, type AttributeRow } from '../../src/meter/attributes.ts';
import { SELF_METRICS } from '../../src/meter/catalog.ts';
import type { ProcessReading, SelfReadings } from '../../src/meter/self-readings.ts';
import { createSelfRecorder } from '../../src/meter/self-recorder.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { type Collected, collectingMeter } from './collecting.ts';

const PROCESS: ProcessReading = {
  uptimeS: 7,
  cpuS: { user: 0, system: 0 },
  memoryBytes: { rss: 50, heap_total: 30, heap_used: 20, external: 10 },
  eventLoopDelayS: undefined,
};
const NOTHING: SelfReadings = { process: PROCESS, services: [], series: [] };

/** A recorder whose readings a test can change, and its points, each as a line. */
function recorderOf(t: TestContext, readings: SelfReadings = NOTHING) {
  const { meter, collect } = collectingMeter(t);
  const current = { readings, reads: 0 };
  const recorder = createSelfRecorder(meter, () => {
    current.reads += 1;
    return current.readings;
  });
  const points = async (prefix: string) =>
    (await collect()).filter(({ metric }) => metric.startsWith(prefix)).map(lineOf);
  return { recorder, current, collect, points };
}

function lineOf({ metric, attributes, value }: Collected): string {
  return `${metric} ${Object.values(attributes).join(',')} = ${value}`;
}

const EXPORTED = {
  kind: 'export-finished',
  service: 'shop',
  backend: 'http://collector:4317 (grpc)',
  durationMs: 250,
  points: 40,
  rejectedPoints: 3,
  reason: 'out of order',
} as const;

/** An event, and all points of it. */
const CASES: readonly { event: SelfEvent; points: readonly string[] }[] = [
  {
    event: {
      kind: 'input-dropped',
      service: 'shop',
      reason: 'invalid-json',
      intentional: false,
      detail: '7 characters',
    },
    points: ['celery_otel.input.dropped shop,invalid-json,false = 1'],
  },
  {
    event: { kind: 'field-implausible', service: 'shop', field: 'processed', detail: 'a text' },
    points: ['celery_otel.fields.implausible shop,processed = 1'],
  },
  {
    event: { kind: 'broker-connected', service: 'shop', broker: 'amqp://h', attempts: 3 },
    points: ['celery_otel.broker.connections shop = 1'],
  },
  {
    event: {
      kind: 'broker-session-ended',
      service: 'shop',
      broker: 'amqp://h',
      end: 'lost',
      reason: 'closed',
      retryInMs: 0,
    },
    points: ['celery_otel.broker.sessions shop,lost = 1'],
  },
  {
    event: { kind: 'table-evicted', service: 'shop', table: 'tasks', count: 41 },
    points: ['celery_otel.table.evictions shop,tasks = 41'],
  },
  {
    event: { kind: 'table-evicted', service: 'shop', table: 'reordering_window', count: 2 },
    points: ['celery_otel.table.evictions shop,reordering_window = 2'],
  },
  {
    event: { kind: 'clock-skewed', service: 'shop', senderHost: 'web1', workerHost: 'node7' },
    points: ['celery_otel.clock.skews shop,web1,node7 = 1'],
  },
  {
    event: { kind: 'loss-refuted', service: 'shop', task: 'shop.pay', worker: 'w1@host' },
    points: ['celery_otel.lost.refuted shop = 1'],
  },
  ...(['success', 'partial', 'failure'] as const).map((outcome) => ({
    event: { ...EXPORTED, outcome },
    points: [
      `celery_otel.exports shop,${outcome} = 1`,
      `celery_otel.export.duration shop,${outcome} = 1`,
      'celery_otel.export.points shop = 40',
      'celery_otel.export.points.rejected shop = 3',
    ],
  })),
  {
    event: { kind: 'defect', service: 'shop', where: 'export', reason: 'TypeError' },
    points: ['celery_otel.defects shop,export = 1'],
  },
  { event: { kind: 'series-overflowed', service: 'shop', metric: 'm', limit: 9, isFirst: true }, points: [] },
  {
    event: { kind: 'publish-blocked', service: 'shop', broker: 'amqp://h', reason: 'low on memory' },
    points: [],
  },
  { event: { kind: 'publish-refused', service: 'shop', broker: 'amqp://h', reason: '403' }, points: [] },
  { event: { kind: 'exchange-made', service: 'shop', broker: 'amqp://h', exchange: 'celeryev' }, points: [] },
  {
    event: { kind: 'events-missing', service: 'shop', exchange: 'celeryev', forMs: 60_000, unread: 0 },
    points: [],
  },
  { event: { kind: 'events-resumed', service: 'shop', afterMs: 75_000 }, points: [] },
  { event: { kind: 'task-events-missing', service: 'shop', workers: ['w1@shop'], more: 0 }, points: [] },
  { event: { kind: 'task-events-resumed', service: 'shop' }, points: [] },
  { event: { kind: 'clock-stepped', service: 'celery-otel', byMs: -3000 }, points: [] },
  {
    event: { kind: 'export-late', service: 'shop', durationMs: 2000, waitedMs: 10, intervalMs: 1000 },
    points: [],
  },
  {
    event: { kind: 'exports-recovered', service: 'shop', backend: 'b', failures: 3, afterMs: 7000 },
    points: [],
  },
  { event: { kind: 'service-started', service: 'shop', brokers: [] }, points: [] },
  {
    event: { kind: 'status-served', service: 'celery-otel', url: 'http://127.0.0.1:9909', isOpen: false },
    points: [],
  },
  { event: { kind: 'starter-gone', service: 'celery-otel' }, points: [] },
  { event: { kind: 'service-stopping', service: 'shop' }, points: [] },
  { event: { kind: 'service-stopped', service: 'shop', metrics: 'flushed' }, points: [] },
];

for (const { event, points } of CASES) {
  const outcome = 'outcome' in event ? ` (${event.outcome})` : '';
  test(`a ${event.kind}${outcome} is counted as ${points[0] ?? 'nothing'}`, async (t) => {
    const quiet = await recorderOf(t).points('');
    const { recorder, points: collected } = recorderOf(t);
    recorder.record(event);
    const others = new Set(quiet);
    assert.deepEqual(
      (await collected('')).filter((line) => !others.has(line)),
      points,
    );
  });
}

test('the duration of an export is exported in seconds', async (t) => {
  const { recorder, collect } = recorderOf(t);
  recorder.record({ ...EXPORTED, outcome: 'success' });
  const point = (await collect()).find(({ metric }) => metric === 'celery_otel.export.duration');
  assert.equal(point?.sum, 0.25);
});

test('an export without rejections leaves a sum of 0 rejected points, to which a later one adds', async (t) => {
  const { recorder, points } = recorderOf(t);
  recorder.record({ ...EXPORTED, outcome: 'success', rejectedPoints: 0, reason: '' });
  assert.deepEqual(await points('celery_otel.export.points.rejected'), [
    'celery_otel.export.points.rejected shop = 0',
  ]);
  recorder.record({ ...EXPORTED, outcome: 'partial' });
  assert.deepEqual(await points('celery_otel.export.points.rejected'), [
    'celery_otel.export.points.rejected shop = 3',
  ]);
});

test('decoded events are counted by service and type, and the bridge reports that it is up and its uptime', async (t) => {
  const { recorder, points } = recorderOf(t);
  const ofShop = recorder.eventsOf('shop');
  const ofBilling = recorder.eventsOf('billing');
  for (const type of ['task-sent', 'task-sent', 'worker-heartbeat'])
    ofShop({ type, timestampMs: 0, implausibleMs: undefined }, 0);
  ofBilling({ type: 'task-sent', timestampMs: 0, implausibleMs: undefined }, 0);
  assert.deepEqual(await points('celery_otel.events'), [
    'celery_otel.events shop,task-sent = 2',
    'celery_otel.events shop,worker-heartbeat = 1',
    'celery_otel.events billing,task-sent = 1',
  ]);
  assert.deepEqual(await points('celery_otel.up'), ['celery_otel.up  = 1', 'celery_otel.uptime  = 7']);
});

test('the lag of an event is the time until it arrived, and 0 if its clock is ahead', async (t) => {
  const { recorder, collect } = recorderOf(t);
  const arrivedAtMs = 1_790_000_000_000;
  const count = recorder.eventsOf('shop');
  for (const agoMs of [250, 0, -5000, 90_000]) {
    count({ type: 'task-sent', timestampMs: arrivedAtMs - agoMs, implausibleMs: undefined }, arrivedAtMs);
  }
  // An event without a timestamp has none.
  count({ type: 'task-sent', timestampMs: arrivedAtMs, implausibleMs: 86_400_000 }, arrivedAtMs);
  const point = (await collect()).find(({ metric }) => metric === 'celery_otel.event.lag');
  assert.deepEqual(point?.attributes, { 'celery_otel.service': 'shop' });
  assert.equal(point.value, 4);
  assert.equal(point.sum, 90.25);
});

test('evictions are counted from the start of a service, though they are reported later, in sums', async (t) => {
  const { recorder, points } = recorderOf(t);
  recorder.eventsOf('shop');
  const none = TABLES.map((table) => `celery_otel.table.evictions shop,${table} = 0`);
  assert.deepEqual(await points('celery_otel.table.evictions'), none);
  recorder.record({ kind: 'table-evicted', service: 'shop', table: 'workers', count: 7 });
  assert.deepEqual(
    await points('celery_otel.table.evictions'),
    none.with(1, 'celery_otel.table.evictions shop,workers = 7'),
  );
});

test('each service has its connection state and the sizes of its tables', async (t) => {
  const { points } = recorderOf(t, {
    ...NOTHING,
    services: [
      {
        service: 'shop',
        connected: true,
        reportAgeS: 2.5,
        instances: undefined,
        tables: {
          tasks: { size: 12, limit: 100, bytes: 6_000, bytesMax: 128_000 },
          workers: { size: 3, limit: 10, bytes: 900, bytesMax: 30_000 },
        },
      },
      { service: 'billing', connected: false, reportAgeS: undefined, instances: undefined, tables: {} },
    ],
  });
  assert.deepEqual(await points('celery_otel.broker.connected'), [
    'celery_otel.broker.connected shop = 1',
    'celery_otel.broker.connected billing = 0',
  ]);
  assert.deepEqual(await points('celery_otel.control.age'), ['celery_otel.control.age shop = 2.5']);
  assert.deepEqual(await points('celery_otel.table'), [
    'celery_otel.table.entries shop,tasks = 12',
    'celery_otel.table.entries shop,workers = 3',
    'celery_otel.table.limit shop,tasks = 100',
    'celery_otel.table.limit shop,workers = 10',
    'celery_otel.table.size shop,tasks = 6000',
    'celery_otel.table.size shop,workers = 900',
    'celery_otel.table.size_limit shop,tasks = 128000',
    'celery_otel.table.size_limit shop,workers = 30000',
  ]);
});

type Figures = readonly [
  retired: number,
  unmarked: number,
  overflowed: number,
  refused: number,
  userS: number,
  systemS: number,
];

test('totals counted elsewhere are exported unchanged, however often they are read', async (t) => {
  const { current, points } = recorderOf(t);
  const read = async ([retired, unmarked, overflowed, refused, user, system]: Figures) => {
    const series = [
      { service: 'shop', live: 9, retired, unmarked, overflowed, refused },
      { service: 'celery-otel', live: 4, retired: 0, unmarked: 0, overflowed: 0, refused: 0 },
    ];
    current.readings = { ...NOTHING, process: { ...PROCESS, cpuS: { user, system } }, series };
    return await points('');
  };
  const expected = ([retired, unmarked, overflowed, refused, user, system]: Figures) => [
    'celery_otel.series shop = 9',
    'celery_otel.series celery-otel = 4',
    `celery_otel.series.retired shop = ${retired}`,
    'celery_otel.series.retired celery-otel = 0',
    `celery_otel.series.unmarked shop = ${unmarked}`,
    'celery_otel.series.unmarked celery-otel = 0',
    `celery_otel.series.overflowed shop = ${overflowed}`,
    'celery_otel.series.overflowed celery-otel = 0',
    `celery_otel.measurements.refused shop = ${refused}`,
    'celery_otel.measurements.refused celery-otel = 0',
    `celery_otel.cpu.time user = ${user}`,
    `celery_otel.cpu.time system = ${system}`,
  ];
  for (const figures of [
    [0, 0, 0, 0, 0.5, 0.25],
    [3, 1, 100, 2, 1.5, 0.25],
    [3, 1, 100, 2, 1.5, 0.25],
    [5, 4, 101, 7, 2, 1],
  ] satisfies Figures[]) {
    const lines = new Set(await read(figures));
    for (const line of expected(figures)) assert.ok(lines.has(line), `${line} in ${[...lines].join('\n')}`);
  }
});

test('the process has its memory, and the event loop delay if known', async (t) => {
  const { current, points } = recorderOf(t);
  assert.deepEqual(await points('celery_otel.memory'), [
    'celery_otel.memory.usage rss = 50',
    'celery_otel.memory.usage heap_total = 30',
    'celery_otel.memory.usage heap_used = 20',
    'celery_otel.memory.usage external = 10',
  ]);
  assert.deepEqual(await points('celery_otel.event_loop'), []);
  const eventLoopDelayS = { mean: 0.001, p99: 0.02, max: 0.5 };
  current.readings = { ...NOTHING, process: { ...PROCESS, eventLoopDelayS } };
  assert.deepEqual(await points('celery_otel.event_loop'), [
    'celery_otel.event_loop.delay mean = 0.001',
    'celery_otel.event_loop.delay p99 = 0.02',
    'celery_otel.event_loop.delay max = 0.5',
  ]);
});

test('a question to the workers counts by its command and outcome, its replies by theirs', async (t) => {
  const { recorder, points } = recorderOf(t);
  const asked = { kind: 'workers-asked', service: 'shop', command: 'stats', reason: '' } as const;
  recorder.record({ ...asked, outcome: 'partial', replies: { answer: 3, late: 2 } });
  recorder.record({ ...asked, outcome: 'success', replies: { answer: 4 } });
  assert.deepEqual(await points('celery_otel.control.requests'), [
    'celery_otel.control.requests shop,stats,partial = 1',
    'celery_otel.control.requests shop,stats,success = 1',
  ]);
  assert.deepEqual(await points('celery_otel.control.replies'), [
    'celery_otel.control.replies shop,stats,answer = 7',
    'celery_otel.control.replies shop,stats,late = 2',
  ]);
});

test('readings happen only at a collection, and never after close', async (t) => {
  const { recorder, current, collect } = recorderOf(t);
  recorder.record({ ...EXPORTED, outcome: 'success' });
  recorder.eventsOf('shop')({ type: 'task-sent', timestampMs: 0, implausibleMs: undefined }, 0);
  assert.equal(current.reads, 0);
  await collect();
  assert.equal(current.reads, 1);
  recorder.record({ ...EXPORTED, outcome: 'success' });
  recorder.close();
  const points = await collect();
  assert.equal(current.reads, 1);
  assert.equal(points.find(({ metric }) => metric === 'celery_otel.exports')?.value, 2, 'handed over');
});

const SERVICES = Array.from({ length: 100 }, (_, index) => `service-${index}`);
const TABLES = ['tasks', 'workers', 'reordering_window', 'clock_skews', 'fixed_bounds'] as const;
const PLACES = [
  ...(['transport', 'deliver', 'between', 'look', 'report'] as const),
  ...(['export', 'attached_provider', 'stop'] as const),
];
const REPLIES = { answer: 1, error: 1, unreadable: 1, repeated: 1, late: 1, too_large: 1 } as const;
const ENDS = ['stopped', 'finished', 'unreachable', 'refused', 'unusable', 'lost'] as const;

const SIGNALS = ['traces', 'logs'] as const;
const DROP_REASONS = [
  ...(['queue_full', 'refused', 'stopped', 'unknown_root'] as const),
  ...(['repeated', 'rate_limited'] as const),
];
const BATCH = {
  ...({ kind: 'batch-finished', backend: 'http://c:4317', reason: '' } as const),
  ...{ durationMs: 20, items: 512, rejectedItems: 2 },
};

/** All events of a service except clock skews, whose host names are unbounded. */
function everythingThatHappens(service: string): readonly SelfEvent[] {
  const broker = 'amqp://h';
  return [
    ...Object.keys(REJECTION_REASONS).map(
      (reason) => ({ kind: 'input-dropped', service, reason, intentional: false, detail: '' }) as const,
    ),
    ...PLACES.map((where) => ({ kind: 'defect', service, where, reason: '' }) as const),
    ...Object.keys(NUMERIC_FIELDS).map(
      (field) => ({ kind: 'field-implausible', service, field, detail: '' }) as const,
    ),
    { kind: 'broker-connected', service, broker, attempts: 1 },
    ...ENDS.map(
      (end) => ({ kind: 'broker-session-ended', service, broker, end, reason: '', retryInMs: 0 }) as const,
    ),
    ...TABLES.map((table) => ({ kind: 'table-evicted', service, table, count: 1 }) as const),
    ...SIGNALS.flatMap((signal) =>
      DROP_REASONS.map((reason) => ({ kind: 'items-dropped', service, signal, reason, count: 1 }) as const),
    ),
    ...(['success', 'partial', 'failure'] as const).flatMap((outcome) => [
      { ...EXPORTED, service, outcome },
      { kind: 'broker-polled', service, outcome, reason: '' } as const,
      ...SIGNALS.map((signal) => ({ ...BATCH, service, signal, outcome })),
      ...(['stats', 'active_queues', 'active', 'enable_events'] as const).map(
        (command) =>
          ({ kind: 'workers-asked', service, command, outcome, reason: '', replies: REPLIES }) as const,
      ),
    ]),
  ];
}

/** A point has all attributes of its row, with allowed values only. */
function faults({ metric, attributes }: Collected): readonly string[] {
  const rows: Readonly<Record<string, { readonly attributes: readonly AttributeKey[] }>> = SELF_METRICS;
  const rowsOfAttributes: Readonly<Record<string, AttributeRow>> = ATTRIBUTES;
  return [
    ...(rows[metric]?.attributes ?? []).filter((key) => !(key in attributes)).map((key) => `lacks ${key}`),
    ...Object.entries(attributes).flatMap(([key, value]) => {
      const row = rowsOfAttributes[key];
      const isListed =
        row !== undefined && (typeof row.values !== 'object' || row.values.includes(String(value)));
      return isListed ? [] : [`${key} is not to be ${String(value)}`];
    }),
  ].map((fault) => `${metric} ${fault}`);
}

test('with a hundred services every metric has points, within the limit and as documented', async (t) => {
  const table = { size: 1, limit: 2, bytes: 500, bytesMax: 1_000 };
  const tables = { tasks: table, workers: table, reordering_window: table, clock_skews: table };
  const { recorder, collect } = recorderOf(t, {
    process: { ...PROCESS, eventLoopDelayS: { mean: 0.001, p99: 0.02, max: 0.5 } },
    services: SERVICES.map((service) => ({
      service,
      connected: true,
      reportAgeS: 1,
      instances: 2,
      tables,
    })),
    series: SERVICES.map((service) => ({
      service,
      live: 1,
      retired: 1,
      unmarked: 1,
      overflowed: 1,
      refused: 1,
    })),
  });
  for (const service of SERVICES) {
    for (const event of everythingThatHappens(service)) recorder.record(event);
    const count = recorder.eventsOf(service);
    for (const type of EVENT_TYPES.keys()) count({ type, timestampMs: 0, implausibleMs: undefined }, 0);
  }
  recorder.record({ kind: 'clock-skewed', service: 'shop', senderHost: 'web1', workerHost: 'node7' });
  recorder.record({ kind: 'loss-refuted', service: 'shop', task: 'shop.pay', worker: 'w1@host' });
  const points = await collect();
  assert.deepEqual(
    Object.keys(SELF_METRICS).filter((name) => !points.some(({ metric }) => metric === name)),
    [],
    'without a point',
  );
  // Beyond the limit an SDK merges points under an attribute of its own.
  assert.deepEqual([...new Set(points.flatMap(faults))], []);
});
