import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WorkerStats } from '../../src/celery/control-reply.ts';
import type {
  BrokerView,
  ClusterView,
  Observation,
  QueueReading,
  WorkerReading,
} from '../../src/cluster/observation.ts';
import { METRIC_NAMES, METRICS, type MetricName, OPT_INS, type OptIn } from '../../src/meter/catalog.ts';
import { createRecorder, type MetricChoice } from '../../src/meter/recorder.ts';
import type { Pace } from '../../src/timing/cooperative.ts';
import { type Collected, collectingMeter } from './collecting.ts';

/** All metrics, without opt-in attributes. */
const ALL: MetricChoice = { metrics: new Set(METRIC_NAMES), optIns: new Set() };
const RUN = { task: 'shop.pay', queue: 'orders', worker: 'w1@host' } as const;
const OF = { run: RUN } as const;
const TASK = { 'celery.task.name': 'shop.pay', 'celery.queue.name': 'orders' } as const;
const WORKER = { 'celery.worker.name': 'w1@host' } as const;
const TASK_ON_WORKER = { ...TASK, ...WORKER } as const;

const NOTHING: ClusterView = { workers: [], queues: [], ends: [] };
const noWorkers = (): ClusterView => NOTHING;

/** The attributes of a point, and what it has: the value of a sum or a gauge, the one measurement of a histogram. */
type Point = readonly [attributes: Readonly<Record<string, unknown>>, amount: number];

/** Each kind of observation, and the points of it alone. */
const CASES: readonly { observation: Observation; points: Readonly<Record<string, Point>> }[] = [
  {
    observation: { kind: 'task-sent', run: { task: 'shop.pay', queue: 'orders', worker: '' } },
    points: { 'celery.task.sent': [TASK, 1] },
  },
  {
    observation: { kind: 'task-received', ...OF, queueTimeS: 0.5 },
    points: { 'celery.task.received': [TASK_ON_WORKER, 1], 'celery.task.queue_time': [TASK, 0.5] },
  },
  {
    observation: { kind: 'task-received', ...OF, queueTimeS: undefined },
    points: { 'celery.task.received': [TASK_ON_WORKER, 1] },
  },
  {
    observation: { kind: 'task-started', ...OF, waitTimeS: 3, prefetchTimeS: 2 },
    points: {
      'celery.task.started': [TASK_ON_WORKER, 1],
      'celery.task.wait_time': [TASK, 3],
      'celery.task.prefetch_time': [TASK, 2],
    },
  },
  {
    observation: { kind: 'task-started', ...OF, waitTimeS: undefined, prefetchTimeS: 2 },
    points: { 'celery.task.started': [TASK_ON_WORKER, 1], 'celery.task.prefetch_time': [TASK, 2] },
  },
  {
    observation: { kind: 'task-started', ...OF, waitTimeS: 3, prefetchTimeS: undefined },
    points: { 'celery.task.started': [TASK_ON_WORKER, 1], 'celery.task.wait_time': [TASK, 3] },
  },
  {
    observation: { kind: 'task-succeeded', ...OF, runtimeS: 0.2 },
    points: { 'celery.task.succeeded': [TASK_ON_WORKER, 1], 'celery.task.runtime': [TASK_ON_WORKER, 0.2] },
  },
  {
    observation: { kind: 'task-succeeded', ...OF, runtimeS: undefined },
    points: { 'celery.task.succeeded': [TASK_ON_WORKER, 1] },
  },
  {
    observation: { kind: 'task-failed', ...OF, errorType: 'KeyError', runtimeS: 1 },
    points: {
      'celery.task.failed': [{ ...TASK_ON_WORKER, 'error.type': 'KeyError' }, 1],
      'celery.task.runtime': [{ ...TASK_ON_WORKER, 'error.type': 'KeyError' }, 1],
    },
  },
  {
    observation: { kind: 'task-retried', ...OF, errorType: 'Retry', runtimeS: undefined },
    points: { 'celery.task.retried': [{ ...TASK_ON_WORKER, 'error.type': 'Retry' }, 1] },
  },
  {
    observation: { kind: 'task-retried', ...OF, errorType: 'Retry', runtimeS: 4 },
    points: {
      'celery.task.retried': [{ ...TASK_ON_WORKER, 'error.type': 'Retry' }, 1],
      'celery.task.runtime': [{ ...TASK_ON_WORKER, 'error.type': 'Retry' }, 4],
    },
  },
  {
    observation: { kind: 'task-rejected', ...OF, requeue: true },
    points: { 'celery.task.rejected': [{ ...TASK_ON_WORKER, 'celery.task.requeue': true }, 1] },
  },
  {
    observation: { kind: 'task-revoked', ...OF, revocation: 'expired' },
    points: { 'celery.task.revoked': [{ ...TASK_ON_WORKER, 'celery.task.revocation': 'expired' }, 1] },
  },
  {
    observation: { kind: 'task-cancelled', ...OF },
    points: { 'celery.task.cancelled': [TASK_ON_WORKER, 1] },
  },
  { observation: { kind: 'task-lost', ...OF }, points: { 'celery.task.lost': [TASK_ON_WORKER, 1] } },
  {
    observation: { kind: 'worker-progressed', worker: 'w1@host', processed: 7, eventsLost: 2 },
    points: { 'celery.worker.tasks.processed': [WORKER, 7], 'celery.worker.events.lost': [WORKER, 2] },
  },
  {
    // 0 lost is recorded too, so that the series exists.
    observation: { kind: 'worker-progressed', worker: 'w1@host', processed: 7, eventsLost: 0 },
    points: { 'celery.worker.tasks.processed': [WORKER, 7], 'celery.worker.events.lost': [WORKER, 0] },
  },
  {
    observation: { kind: 'worker-progressed', worker: 'w1@host', processed: 0, eventsLost: 2 },
    points: { 'celery.worker.events.lost': [WORKER, 2] },
  },
  {
    observation: { kind: 'worker-exited', worker: 'w1@host', reason: 'restarted' },
    points: { 'celery.worker.exits': [{ ...WORKER, 'celery.worker.exit.reason': 'restarted' }, 1] },
  },
  // They are about the measurement, so they are in the bridge’s own metrics.
  { observation: { kind: 'loss-refuted', ...OF }, points: {} },
  { observation: { kind: 'clock-skewed', senderHost: 'web1', workerHost: 'host' }, points: {} },
];

/** All points by metric, of which each has at most one. */
function byMetric(collected: readonly Collected[]): Readonly<Record<string, Point>> {
  const points = collected.map(({ metric, attributes, value, boundaries, sum }): [string, Point] => {
    if (boundaries.length === 0) return [metric, [attributes, value]];
    assert.equal(value, 1, `${metric}: measurements`);
    return [metric, [attributes, sum]];
  });
  assert.equal(new Set(points.map(([metric]) => metric)).size, points.length, 'one point of each metric');
  return Object.fromEntries(points);
}

for (const { observation, points } of CASES) {
  // JSON has no undefined, which some of these need.
  const title = JSON.stringify(observation, (_, value) => (value === undefined ? 'not known' : value));
  test(`${title} gives exactly its points`, async (t) => {
    const { meter, collect } = collectingMeter(t);
    createRecorder(meter, noWorkers, ALL).record(observation);
    assert.deepEqual(byMetric(await collect()), points);
  });
}

test('every kind of observation is tested here', () => {
  const kinds: Readonly<Record<Observation['kind'], true>> = {
    'task-sent': true,
    'task-received': true,
    'task-started': true,
    'task-succeeded': true,
    'task-failed': true,
    'task-retried': true,
    'task-rejected': true,
    'task-revoked': true,
    'task-cancelled': true,
    'task-lost': true,
    'loss-refuted': true,
    'worker-appeared': true,
    'worker-returned': true,
    'worker-exited': true,
    'worker-progressed': true,
    'worker-cpu-used': true,
    'clock-skewed': true,
  };
  const tried = CASES.map(({ observation }) => observation.kind);
  const elsewhere = ['worker-appeared', 'worker-returned', 'worker-cpu-used'];
  assert.deepEqual(new Set([...tried, ...elsewhere]), new Set(Object.keys(kinds)));
});

test('a worker that appears has a 0 for each exit reason, so that the first exit has a rate', async (t) => {
  const { meter, collect } = collectingMeter(t);
  createRecorder(meter, noWorkers, ALL).record({ kind: 'worker-appeared', worker: 'w1@host' });
  assert.deepEqual(lines(await collect()), [
    'celery.worker.exits w1@host goodbye 0',
    'celery.worker.exits w1@host replaced 0',
    'celery.worker.exits w1@host restarted 0',
    'celery.worker.exits w1@host silence 0',
  ]);
});

test('CPU time counts by mode', async (t) => {
  const { meter, collect } = collectingMeter(t);
  const recorder = createRecorder(meter, noWorkers, ALL);
  recorder.record({ kind: 'worker-cpu-used', worker: 'w1@host', userS: 1.5, systemS: 0.25 });
  recorder.record({ kind: 'worker-cpu-used', worker: 'w1@host', userS: 0.5, systemS: 0 });
  assert.deepEqual(lines(await collect()), [
    'celery.worker.cpu.time w1@host system 0.25',
    'celery.worker.cpu.time w1@host user 2',
  ]);
});

/** A worker that is up with all figures, so that all its gauges have points. */
const TALKATIVE: WorkerReading = {
  worker: 'w1@host',
  up: true,
  hasLeft: false,
  deaf: false,
  active: 3,
  prefetched: 4,
  scheduled: 5,
  heartbeatAgeS: 1.5,
  load: [0.1, 0.2, 0.3],
  versions: [{ version: '5.7.0', system: 'Linux' }],
};
const SILENT: WorkerReading = { ...TALKATIVE, active: undefined, load: undefined, versions: [] };
const GONE: WorkerReading = {
  ...TALKATIVE,
  up: false,
  active: 0,
  prefetched: 0,
  scheduled: 0,
  heartbeatAgeS: 31,
  load: undefined,
};
const ORDERS: QueueReading = { queue: 'orders', waitingAgeS: 12.5, runningAgeS: 2.5 };

function viewOf(workers: readonly WorkerReading[], queues: readonly QueueReading[] = []): ClusterView {
  return { workers, queues, ends: [] };
}

const UNACKED = {
  ...{ count: 4, oldestAgeS: 60.5, expiring: 1, visibilityTimeoutS: 75 },
  byQueue: [['orders', 3]],
} as const;
const BROKER: BrokerView = {
  queues: [{ queue: 'orders', length: 7, byPriority: [[3, 7]], consumers: 2 }],
  delayed: 5,
  unacked: UNACKED,
  incomplete: [],
  ageMs: 0,
};

/** Each point as text: its metric, its attributes in the order of the catalog, its value. */
function lines(collected: readonly Collected[]): readonly string[] {
  return collected
    .map(({ metric, attributes, value }) => [metric, ...Object.values(attributes), value].join(' '))
    .sort();
}

const PRIORITIES = [
  [0, 5],
  [3, 0],
  [9, 3],
] as const;

const UNTOLD: WorkerStats = {
  ...{ pid: 7, pool: undefined, processes: undefined, limit: 3, autoscaler: undefined },
  ...{ prefetchLimit: undefined, uptimeS: undefined, cpuUserS: undefined, cpuSystemS: undefined },
  memoryMaxBytes: undefined,
  writes: [],
};
const STATS: WorkerStats = {
  ...{ pid: 7, pool: 'prefork', processes: 4, limit: 8, autoscaler: { min: 2, max: 8 } },
  ...{ prefetchLimit: 16, uptimeS: 90, cpuUserS: 1, cpuSystemS: 2, memoryMaxBytes: 53_084_160 },
  writes: [5, 4],
};
const TOLD_BY_NOBODY = { consumers: [], isWhole: true, ageMs: 0 } as const;
const REPORTED = {
  isWhole: true,
  consumers: [
    { queue: 'orders', workers: 1, processes: 4, utilization: 0.75 },
    { queue: 'mails', workers: 0, processes: 0, utilization: undefined },
  ],
  ageMs: 0,
} as const;

const EVERYTHING = {
  ...viewOf(
    [{ ...TALKATIVE, deaf: true, pool: 'prefork', reported: { stats: STATS, ageMs: 0, utilization: 0.5 } }],
    [ORDERS],
  ),
  ends: [{ task: 'shop.pay', end: 'failed', ageS: 3.5 }],
  reported: REPORTED,
  broker: BROKER,
} satisfies ClusterView;

const GAUGES: readonly { title: string; view: ClusterView; points: readonly string[] }[] = [
  {
    title: 'a worker that is up and has reported all figures',
    view: viewOf([TALKATIVE]),
    points: [
      'celery.worker.heartbeat.age w1@host 1.5',
      'celery.worker.info w1@host 5.7.0 linux 1',
      'celery.worker.load w1@host 15m 0.3',
      'celery.worker.load w1@host 1m 0.1',
      'celery.worker.load w1@host 5m 0.2',
      'celery.worker.tasks.active w1@host 3',
      'celery.worker.tasks.prefetched w1@host 4',
      'celery.worker.tasks.scheduled w1@host 5',
      'celery.worker.up w1@host 1',
    ],
  },
  {
    title: 'a worker that has reported no figures',
    view: viewOf([SILENT]),
    points: [
      'celery.worker.heartbeat.age w1@host 1.5',
      'celery.worker.tasks.prefetched w1@host 4',
      'celery.worker.tasks.scheduled w1@host 5',
      'celery.worker.up w1@host 1',
    ],
  },
  {
    title: 'a worker that is down, whatever it reported before',
    view: viewOf([GONE]),
    points: [
      'celery.worker.heartbeat.age w1@host 31',
      'celery.worker.info w1@host 5.7.0 linux 0',
      'celery.worker.tasks.active w1@host 0',
      'celery.worker.tasks.prefetched w1@host 0',
      'celery.worker.tasks.scheduled w1@host 0',
      'celery.worker.up w1@host 0',
    ],
  },
  {
    title: 'a worker that is deaf',
    view: viewOf([{ ...SILENT, deaf: true, versions: [] }]),
    points: [
      'celery.worker.deaf w1@host 1',
      'celery.worker.heartbeat.age w1@host 1.5',
      'celery.worker.tasks.prefetched w1@host 4',
      'celery.worker.tasks.scheduled w1@host 5',
      'celery.worker.up w1@host 1',
    ],
  },
  {
    title: 'a worker that reports its version and not its system',
    view: viewOf([{ ...SILENT, versions: [{ version: '5.2.6', system: '' }] }]),
    points: [
      'celery.worker.heartbeat.age w1@host 1.5',
      'celery.worker.info w1@host 5.2.6 unknown 1',
      'celery.worker.tasks.prefetched w1@host 4',
      'celery.worker.tasks.scheduled w1@host 5',
      'celery.worker.up w1@host 1',
    ],
  },
  {
    title: 'tasks that ended',
    view: {
      ...viewOf([]),
      ends: [
        { task: 'shop.pay', end: 'failed', ageS: 3.5 },
        { task: 'shop.pay', end: 'succeeded', ageS: 0 },
      ],
    },
    points: ['celery.task.last_end.age shop.pay failed 3.5', 'celery.task.last_end.age shop.pay succeeded 0'],
  },
  {
    title: 'a queue with tasks that wait and tasks that run',
    view: viewOf([], [ORDERS]),
    points: ['celery.task.oldest_age orders running 2.5', 'celery.task.oldest_age orders waiting 12.5'],
  },
  {
    title: 'two queues, one of which has tasks that wait and the other tasks that run',
    view: viewOf(
      [],
      [
        { queue: 'orders', waitingAgeS: 1, runningAgeS: 0 },
        { queue: 'mails', waitingAgeS: 0, runningAgeS: 2 },
      ],
    ),
    points: [
      'celery.task.oldest_age mails running 2',
      'celery.task.oldest_age mails waiting 0',
      'celery.task.oldest_age orders running 0',
      'celery.task.oldest_age orders waiting 1',
    ],
  },
  {
    title: 'a worker that has told everything',
    view: {
      ...viewOf([{ ...SILENT, reported: { stats: STATS, ageMs: 0, utilization: 0.75 } }]),
      reported: REPORTED,
    },
    points: [
      'celery.queue.processes mails 0',
      'celery.queue.processes orders 4',
      'celery.queue.utilization orders 0.75',
      'celery.queue.workers mails 0',
      'celery.queue.workers orders 1',
      'celery.worker.autoscaler.max w1@host 8',
      'celery.worker.autoscaler.min w1@host 2',
      'celery.worker.heartbeat.age w1@host 1.5',
      'celery.worker.memory.max w1@host 53084160',
      'celery.worker.pool.limit w1@host prefork 8',
      'celery.worker.pool.processes w1@host prefork 4',
      'celery.worker.pool.utilization w1@host prefork 0.75',
      'celery.worker.pool.writes w1@host 0 5',
      'celery.worker.pool.writes w1@host 1 4',
      'celery.worker.prefetch.limit w1@host 16',
      'celery.worker.tasks.prefetched w1@host 4',
      'celery.worker.tasks.scheduled w1@host 5',
      'celery.worker.up w1@host 1',
      'celery.worker.uptime w1@host 90',
    ],
  },
  {
    title: 'a worker of an unknown pool that has told hardly anything',
    view: {
      ...viewOf([{ ...SILENT, reported: { stats: UNTOLD, ageMs: 0, utilization: undefined } }]),
      reported: TOLD_BY_NOBODY,
    },
    points: [
      'celery.worker.heartbeat.age w1@host 1.5',
      'celery.worker.pool.limit w1@host other 3',
      'celery.worker.tasks.prefetched w1@host 4',
      'celery.worker.tasks.scheduled w1@host 5',
      'celery.worker.up w1@host 1',
    ],
  },
  {
    title: 'a worker that is not up, with the pool that it had',
    view: {
      ...viewOf([{ ...GONE, pool: 'solo', reported: { stats: UNTOLD, ageMs: 0, utilization: 0 } }]),
      reported: TOLD_BY_NOBODY,
    },
    points: [
      'celery.worker.heartbeat.age w1@host 31',
      'celery.worker.info w1@host 5.7.0 linux 0',
      'celery.worker.pool.limit w1@host other 3',
      'celery.worker.pool.utilization w1@host other 0',
      'celery.worker.tasks.active w1@host 0',
      'celery.worker.tasks.prefetched w1@host 0',
      'celery.worker.tasks.scheduled w1@host 0',
      'celery.worker.up w1@host 0',
    ],
  },
  {
    title: 'RabbitMQ with native delayed delivery',
    view: {
      ...NOTHING,
      broker: {
        ...{ incomplete: [], ageMs: 0, delayed: 0 },
        queues: [
          { queue: 'orders', length: 20, consumers: 0 },
          { queue: 'mails', length: 0, consumers: 3 },
        ],
      },
    },
    points: [
      'celery.queue.consumers mails 3',
      'celery.queue.consumers orders 0',
      'celery.queue.delayed 0',
      'celery.queue.length mails 0',
      'celery.queue.length orders 20',
    ],
  },
  {
    title: 'Redis, of all priorities together',
    view: {
      ...NOTHING,
      broker: {
        ...{ incomplete: [], ageMs: 0, unacked: UNACKED },
        queues: [{ queue: 'orders', length: 8, byPriority: PRIORITIES }],
      },
    },
    points: [
      'celery.broker.unacked 4',
      'celery.broker.unacked.expiring 1',
      'celery.broker.unacked.oldest_age 60.5',
      'celery.broker.unacked.visibility_timeout 75',
      'celery.queue.length orders 8',
      'celery.queue.unacked orders 3',
    ],
  },
];

for (const { title, view, points } of GAUGES) {
  test(`the gauges of ${title}`, async (t) => {
    const { meter, collect } = collectingMeter(t);
    createRecorder(meter, () => view, ALL);
    assert.deepEqual(lines(await collect()), points);
  });
}

const USED = { kind: 'worker-cpu-used', worker: 'w1@host', userS: 1, systemS: 0.5 } as const;

test('every metric of the catalog has a source', async (t) => {
  const { meter, collect } = collectingMeter(t);
  const recorder = createRecorder(meter, () => EVERYTHING, ALL);
  for (const observation of [...CASES.map((each) => each.observation), USED]) recorder.record(observation);
  const fed = new Set((await collect()).map((point) => point.metric));
  assert.deepEqual([...fed].sort(), METRIC_NAMES.toSorted());
});

for (const off of METRIC_NAMES) {
  test(`without ${off} all others are unchanged`, async (t) => {
    const pointsOf = async (metrics: ReadonlySet<MetricName>): Promise<readonly Collected[]> => {
      const { meter, collect } = collectingMeter(t);
      const recorder = createRecorder(meter, () => EVERYTHING, { ...ALL, metrics });
      for (const observation of [...CASES.map((each) => each.observation), USED])
        recorder.record(observation);
      return collect();
    };
    const all = await pointsOf(ALL.metrics);
    const others = all.filter((point) => point.metric !== off);
    assert.notEqual(others.length, all.length);
    assert.deepEqual(await pointsOf(new Set(METRIC_NAMES.filter((name) => name !== off))), others);
  });
}

/** For each opt-in attribute, its value on the points of the cases above. */
const OPTED_IN: ReadonlyMap<OptIn, string> = new Map([
  ['celery.task.prefetch_time/celery.worker.name', 'w1@host'],
  ['celery.queue.length/celery.queue.priority', '3'],
]);

test('with its priority, a queue has a point for each, and only where the broker knows them', async (t) => {
  const { meter, collect } = collectingMeter(t);
  const queues = [
    { queue: 'orders', length: 8, byPriority: PRIORITIES },
    { queue: 'mails', length: 2 },
  ];
  const view = { ...NOTHING, broker: { queues, incomplete: [], ageMs: 0 } };
  createRecorder(meter, () => view, {
    ...ALL,
    optIns: new Set(['celery.queue.length/celery.queue.priority']),
  });
  assert.deepEqual(lines(await collect()), [
    'celery.queue.length mails 2',
    'celery.queue.length orders 0 5',
    'celery.queue.length orders 3 0',
    'celery.queue.length orders 9 3',
  ]);
});

test('every opt-in attribute is tested here', () => {
  assert.deepEqual([...OPTED_IN.keys()].sort(), [...OPT_INS].sort());
});

for (const optIn of OPT_INS) {
  test(`${optIn} is on the points of that metric if requested, and all others are unchanged`, async (t) => {
    const pointsOf = async (optIns: ReadonlySet<OptIn>): Promise<readonly Collected[]> => {
      const { meter, collect } = collectingMeter(t);
      const recorder = createRecorder(meter, () => EVERYTHING, { ...ALL, optIns });
      for (const observation of [...CASES.map((each) => each.observation), USED])
        recorder.record(observation);
      return collect();
    };
    const [metric, key = ''] = optIn.split('/');
    const without = await pointsOf(new Set());
    const expected = without.map((point) =>
      point.metric === metric
        ? { ...point, attributes: { ...point.attributes, [key]: OPTED_IN.get(optIn) } }
        : point,
    );
    assert.notDeepEqual(expected, without);
    assert.deepEqual(await pointsOf(new Set([optIn])), expected);
  });
}

test('with the worker attribute, prefetch times of two workers are two series, and one without it', async (t) => {
  const seriesOf = async (optIns: ReadonlySet<OptIn>): Promise<readonly string[]> => {
    const { meter, collect } = collectingMeter(t);
    const recorder = createRecorder(meter, noWorkers, {
      metrics: new Set(['celery.task.prefetch_time']),
      optIns,
    });
    for (const worker of ['w1@host', 'w2@host', 'w2@host']) {
      recorder.record({ kind: 'task-started', run: { ...RUN, worker }, waitTimeS: 1, prefetchTimeS: 1 });
    }
    return lines(await collect());
  };
  assert.deepEqual(await seriesOf(new Set()), ['celery.task.prefetch_time shop.pay orders 3']);
  assert.deepEqual(await seriesOf(new Set(['celery.task.prefetch_time/celery.worker.name'])), [
    'celery.task.prefetch_time shop.pay orders w1@host 1',
    'celery.task.prefetch_time shop.pay orders w2@host 2',
  ]);
});

test('the view is requested at each collection, even if all its metrics are disabled', async (t) => {
  const { meter, collect } = collectingMeter(t);
  let views = 0;
  createRecorder(
    meter,
    () => {
      views += 1;
      return EVERYTHING;
    },
    { ...ALL, metrics: new Set() },
  );
  assert.deepEqual(await collect(), []);
  assert.equal(views, 1);
});

test('observations made by requesting the view are part of that collection', async (t) => {
  const { meter, collect } = collectingMeter(t);
  const recorder = createRecorder(
    meter,
    () => {
      recorder.record({ kind: 'task-lost', ...OF });
      recorder.record({ kind: 'task-started', ...OF, waitTimeS: 3, prefetchTimeS: undefined });
      return NOTHING;
    },
    ALL,
  );
  assert.deepEqual(lines(await collect()), [
    'celery.task.lost shop.pay orders w1@host 1',
    'celery.task.started shop.pay orders w1@host 1',
    'celery.task.wait_time shop.pay orders 1',
  ]);
});

test('measurements between two collections add up in one series', async (t) => {
  const { meter, collect } = collectingMeter(t);
  const recorder = createRecorder(meter, noWorkers, ALL);
  for (let index = 0; index < 1000; index += 1) recorder.record({ kind: 'task-cancelled', ...OF });
  assert.equal((await collect())[0]?.value, 1000);
  recorder.record({ kind: 'task-cancelled', ...OF });
  const second = await collect();
  assert.equal(second.length, 1);
  assert.equal(second[0]?.value, 1001);
});

test('the progress of one worker adds up', async (t) => {
  const { meter, collect } = collectingMeter(t);
  const recorder = createRecorder(meter, noWorkers, ALL);
  for (const [processed, eventsLost] of [
    [5, 0],
    [7, 2],
    [0, 1],
  ] as const) {
    recorder.record({ kind: 'worker-progressed', worker: 'w1@host', processed, eventsLost });
  }
  assert.deepEqual(lines(await collect()), [
    'celery.worker.events.lost w1@host 3',
    'celery.worker.tasks.processed w1@host 12',
  ]);
});

test('each histogram has the bounds of its row', async (t) => {
  const { meter, collect } = collectingMeter(t);
  const recorder = createRecorder(meter, noWorkers, ALL);
  recorder.record({ kind: 'task-received', ...OF, queueTimeS: 3599.5 });
  recorder.record({ kind: 'task-started', ...OF, waitTimeS: 3599.5, prefetchTimeS: 3599.5 });
  recorder.record({ kind: 'task-succeeded', ...OF, runtimeS: 3599.5 });
  const histograms = (await collect()).filter(({ boundaries }) => boundaries.length > 0);
  const rows = Object.entries(METRICS).flatMap(([name, row]) =>
    row.instrument === 'histogram' ? [[name, row.buckets, 3599.5] as const] : [],
  );
  assert.deepEqual(
    histograms.map(({ metric, boundaries, sum }) => [metric, boundaries, sum]).sort(),
    rows.sort(),
  );
});

test('gauges are read at collection, and those of forgotten workers and queues end with the next', async (t) => {
  const { meter, collect } = collectingMeter(t);
  let view = viewOf(
    [
      { ...SILENT, active: 3 },
      { ...SILENT, worker: 'w2@host' },
    ],
    [ORDERS],
  );
  const metrics = new Set<MetricName>([
    'celery.worker.up',
    'celery.worker.tasks.active',
    'celery.task.oldest_age',
  ]);
  createRecorder(meter, () => view, { ...ALL, metrics });
  assert.deepEqual(lines(await collect()), [
    'celery.task.oldest_age orders running 2.5',
    'celery.task.oldest_age orders waiting 12.5',
    'celery.worker.tasks.active w1@host 3',
    'celery.worker.up w1@host 1',
    'celery.worker.up w2@host 1',
  ]);
  view = viewOf([{ ...SILENT, worker: 'w2@host', active: 1 }]);
  assert.deepEqual(lines(await collect()), [
    'celery.worker.tasks.active w2@host 1',
    'celery.worker.up w2@host 1',
  ]);
});

test('closing hands over uncollected counts, and detaches', async (t) => {
  const { meter, collect } = collectingMeter(t);
  let views = 0;
  const recorder = createRecorder(
    meter,
    () => {
      views += 1;
      return NOTHING;
    },
    ALL,
  );
  recorder.record({ kind: 'task-cancelled', ...OF });
  recorder.close();
  assert.equal((await collect())[0]?.value, 1);
  assert.equal(views, 0);
});

test('gauges of many workers and queues are observed at the pace of the collection', async (t) => {
  const { meter, collect } = collectingMeter(t);
  const view = viewOf([SILENT, { ...SILENT, worker: 'w2@host' }], [ORDERS]);
  let [views, pauses] = [0, 0];
  const viewed = async (): Promise<ClusterView> => {
    views += 1;
    return view;
  };
  const newPace = (): Pace => async () => {
    assert.equal(views, 1);
    pauses += 1;
  };
  createRecorder(meter, viewed, { ...ALL, metrics: new Set<MetricName>(['celery.worker.up']) }, newPace);
  assert.equal((await collect()).length, 2);
  assert.equal(pauses, 3);
});
