import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Observation, WorkerReading } from '../../src/cluster/observation.ts';
import { METRIC_NAMES, METRICS } from '../../src/meter/catalog.ts';
import { createRecorder } from '../../src/meter/recorder.ts';
import { type Collected, collectingMeter } from './collecting.ts';

const ALL = new Set(METRIC_NAMES);
const OF = { task: 'shop.pay', queue: 'orders', worker: 'w1@host' } as const;
const ATTRIBUTES = {
  'celery.task.name': 'shop.pay',
  'celery.queue.name': 'orders',
  'celery.worker.name': 'w1@host',
} as const;

/** Each kind of observation, and the points that it alone makes: written from the catalog of metrics in the design. */
const CASES: readonly {
  observation: Observation;
  points: Readonly<Record<string, Record<string, unknown>>>;
}[] = [
  {
    observation: { kind: 'task-sent', task: 'shop.pay', queue: 'orders' },
    points: { 'celery.task.sent': { 'celery.task.name': 'shop.pay', 'celery.queue.name': 'orders' } },
  },
  { observation: { kind: 'task-received', ...OF }, points: { 'celery.task.received': ATTRIBUTES } },
  { observation: { kind: 'task-started', ...OF }, points: { 'celery.task.started': ATTRIBUTES } },
  {
    observation: { kind: 'task-succeeded', ...OF, runtimeS: 0.2 },
    points: { 'celery.task.succeeded': ATTRIBUTES, 'celery.task.runtime': ATTRIBUTES },
  },
  {
    observation: { kind: 'task-succeeded', ...OF, runtimeS: undefined },
    points: { 'celery.task.succeeded': ATTRIBUTES },
  },
  {
    observation: { kind: 'task-failed', ...OF, errorType: 'KeyError', runtimeS: 1 },
    points: {
      'celery.task.failed': { ...ATTRIBUTES, 'error.type': 'KeyError' },
      'celery.task.runtime': { ...ATTRIBUTES, 'error.type': 'KeyError' },
    },
  },
  {
    observation: { kind: 'task-retried', ...OF, errorType: 'Retry', runtimeS: undefined },
    points: { 'celery.task.retried': { ...ATTRIBUTES, 'error.type': 'Retry' } },
  },
  {
    observation: { kind: 'task-rejected', ...OF, requeue: true },
    points: { 'celery.task.rejected': { ...ATTRIBUTES, 'celery.task.requeue': true } },
  },
  {
    observation: { kind: 'task-revoked', ...OF, revocation: 'expired' },
    points: { 'celery.task.revoked': { ...ATTRIBUTES, 'celery.task.revocation': 'expired' } },
  },
  { observation: { kind: 'task-cancelled', ...OF }, points: { 'celery.task.cancelled': ATTRIBUTES } },
];

for (const { observation, points } of CASES) {
  test(`${JSON.stringify(observation)} makes exactly its points`, async (t) => {
    const { meter, collect } = collectingMeter(t);
    createRecorder(meter, () => [], ALL).record(observation);
    const collected = (await collect()).filter((point) => point.value > 0);
    assert.deepEqual(Object.fromEntries(collected.map((point) => [point.metric, point.attributes])), points);
    for (const point of collected) assert.equal(point.value, 1, point.metric);
  });
}

/** Of each worker, what its gauges are: those of one that is up and has told everything, so that none is without a point. */
const WORKER: WorkerReading = { worker: 'w1@host', up: true, active: 3 };

test('every metric of the catalog is fed by an observation or a reading', async (t) => {
  const { meter, collect } = collectingMeter(t);
  const recorder = createRecorder(meter, () => [WORKER], ALL);
  for (const { observation } of CASES) recorder.record(observation);
  const fed = new Set((await collect()).map((point) => point.metric));
  assert.deepEqual([...fed].sort(), METRIC_NAMES.toSorted());
});

for (const off of METRIC_NAMES) {
  test(`without ${off} all others are what they are with it`, async (t) => {
    const pointsOf = async (enabled: typeof ALL): Promise<readonly Collected[]> => {
      const { meter, collect } = collectingMeter(t);
      const recorder = createRecorder(meter, () => [WORKER], enabled);
      for (const { observation } of CASES) recorder.record(observation);
      return collect();
    };
    const all = await pointsOf(ALL);
    const others = all.filter((point) => point.metric !== off);
    assert.notEqual(others.length, all.length);
    assert.deepEqual(await pointsOf(new Set(METRIC_NAMES.filter((name) => name !== off))), others);
  });
}

test('the workers are read at each collection even if nothing about them is enabled', async (t) => {
  const { meter, collect } = collectingMeter(t);
  let reads = 0;
  createRecorder(
    meter,
    () => {
      reads += 1;
      return [WORKER];
    },
    new Set(),
  );
  assert.deepEqual(await collect(), []);
  assert.equal(reads, 1);
});

test('what is recorded between two collections adds up in one series', async (t) => {
  const { meter, collect } = collectingMeter(t);
  const recorder = createRecorder(meter, () => [], ALL);
  for (let index = 0; index < 1000; index += 1) recorder.record({ kind: 'task-started', ...OF });
  assert.equal((await collect())[0]?.value, 1000);
  recorder.record({ kind: 'task-started', ...OF });
  const second = await collect();
  assert.equal(second.length, 1);
  assert.equal(second[0]?.value, 1001);
});

test('the runtime histogram has the bounds of its row', async (t) => {
  const { meter, collect } = collectingMeter(t);
  createRecorder(meter, () => [], ALL).record({ kind: 'task-succeeded', ...OF, runtimeS: 3599.5 });
  const runtime = (await collect()).find((point) => point.metric === 'celery.task.runtime');
  assert.deepEqual(runtime?.boundaries, METRICS['celery.task.runtime'].buckets);
  assert.equal(runtime?.sum, 3599.5);
});

test('worker gauges are read at collection, and those of forgotten workers are gone at the next', async (t) => {
  const { meter, collect } = collectingMeter(t);
  let workers: readonly WorkerReading[] = [
    { worker: 'w1@host', up: true, active: 3 },
    { worker: 'w2@host', up: false, active: 0 },
    { worker: 'w3@host', up: true, active: undefined },
  ];
  createRecorder(meter, () => workers, ALL);
  const read = async () =>
    (await collect())
      .map((point) => `${point.metric} ${point.attributes['celery.worker.name']} ${point.value}`)
      .sort();
  assert.deepEqual(await read(), [
    'celery.worker.tasks.active w1@host 3',
    'celery.worker.tasks.active w2@host 0',
    'celery.worker.up w1@host 1',
    'celery.worker.up w2@host 0',
    'celery.worker.up w3@host 1',
  ]);
  workers = [{ worker: 'w2@host', up: true, active: 1 }];
  assert.deepEqual(await read(), ['celery.worker.tasks.active w2@host 1', 'celery.worker.up w2@host 1']);
});

test('closing hands over what was not collected yet, and detaches', async (t) => {
  const { meter, collect } = collectingMeter(t);
  let reads = 0;
  const recorder = createRecorder(
    meter,
    () => {
      reads += 1;
      return [];
    },
    ALL,
  );
  recorder.record({ kind: 'task-cancelled', ...OF });
  recorder.close();
  assert.equal((await collect())[0]?.value, 1);
  assert.equal(reads, 0);
});
