/** The document of one service: its rows, its bounds and its schema. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import SCHEMA from '../../schema/service-status.schema.json' with { type: 'json' };
import type { ClusterView, WorkerReading } from '../../src/cluster/observation.ts';
import { type ActivityWithSeries, serviceDocument, serviceText } from '../../src/health/service-document.ts';
import { Activity } from '../../src/service/activity/activity.ts';
import { atOnce } from '../cluster/at-once.ts';
import { violations } from '../config/show/json-schema-subset.ts';

const NOW_MS = 1_790_000_000_000;

function workerOf(worker: string, more: Partial<WorkerReading> = {}): WorkerReading {
  return {
    ...{
      worker,
      up: true,
      hasLeft: false,
      deaf: false,
      active: 2,
      prefetched: 3,
      scheduled: 1,
      heartbeatAgeS: 1.5,
    },
    ...{ load: undefined, versions: [{ version: '5.5.3', system: 'Linux' }], pool: 'prefork' },
    ...more,
  };
}

function documentOf(view: ClusterView, more: Partial<ActivityWithSeries> = {}) {
  const activity = new Activity();
  const run = { task: 'shop.pay', queue: 'orders', worker: 'w1@a' };
  activity.observe({ kind: 'task-started', run, waitTimeS: 1, prefetchTimeS: undefined }, NOW_MS);
  activity.observe({ kind: 'task-failed', run, errorType: 'a\u001b[31m', runtimeS: 1 }, NOW_MS);
  const read = { ...activity.read(NOW_MS + 2000, view), series: undefined, ...more };
  const document = atOnce(serviceDocument({ name: 'shop', time: new Date(0), activity: read }));
  return JSON.parse(atOnce(serviceText(document)));
}

const VIEW: ClusterView = {
  workers: [
    workerOf('gone@a', { up: false, hasLeft: true, heartbeatAgeS: 90 }),
    workerOf('silent@a', { up: false, heartbeatAgeS: 95 }),
    workerOf('w1@a'),
    workerOf('deaf@a', { deaf: true, active: undefined }),
  ],
  queues: [{ queue: 'orders', waitingAgeS: 8, runningAgeS: 0 }],
  ends: [],
  reported: {
    consumers: [{ queue: 'orders', workers: 2, processes: 8, utilization: 0.5 }],
    isWhole: true,
    ageMs: 1,
  },
  broker: {
    queues: [
      { queue: 'orders', length: 4 },
      { queue: 'idle', length: 90, consumers: 0 },
    ],
    unacked: { count: 1, oldestAgeS: 1, expiring: 0, visibilityTimeoutS: 1, byQueue: [['orders', 1]] },
    incomplete: [],
    ageMs: 5,
  },
};

test('rows say what the view and the activity do, those that need somebody first', () => {
  const { workers, queues, tasks } = documentOf(VIEW);
  assert.deepEqual(
    workers.rows.map(({ name }: { name: string }) => name),
    ['deaf@a', 'silent@a', 'w1@a', 'gone@a'],
  );
  assert.deepEqual(workers.rows[2], {
    ...{ name: 'w1@a', up: true, left: false, deaf: false, pool: 'prefork', running: 2, slots: null },
    ...{ prefetched: 3, scheduled: 1, seen_s: 1.5, celery: '5.5.3' },
  });
  assert.deepEqual(queues.rows, [
    {
      ...{ name: 'idle', length: 90, consumers: 0, slots: null, unacked: null },
      ...{ waiting_age_s: null, running_age_s: null, wait_p95_s: null },
    },
    {
      ...{ name: 'orders', length: 4, consumers: 2, slots: 8, unacked: 1 },
      ...{ waiting_age_s: 8, running_age_s: 0, wait_p95_s: 0.932 },
    },
  ]);
  assert.deepEqual(tasks.rows[0].errors, [{ type: 'a\\u001b[31m', count: 1 }]);
  assert.equal(tasks.rows[0].seen_s, 2);
});

test('how many runs of a task execute is known from the view, and from nothing else', () => {
  const runningOf = (running: ClusterView['running']) =>
    documentOf({ ...VIEW, ...(running && { running }) }).tasks.rows[0].running;
  assert.equal(runningOf(new Map([['shop.pay', 3]])), 3);
  assert.equal(runningOf(new Map()), 0);
  assert.equal(runningOf(undefined), null);
});

test('lists are bounded, and their totals are not', () => {
  const workers = Array.from({ length: 1500 }, (_, index) => workerOf(`w${index}`));
  const queues = Array.from({ length: 1200 }, (_, index) => ({ queue: `q${index}`, length: index }));
  const broker = { queues, incomplete: [], ageMs: 0 };
  const document = documentOf({ workers, queues: [], broker, ends: [] });
  assert.deepEqual([document.workers.total, document.workers.rows.length], [1500, 1000]);
  assert.deepEqual([document.queues.total, document.queues.rows.length], [1200, 1000]);
});

/** The same schema, without room for keys that it does not describe. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, closed(part)]));
  return 'properties' in parts && 'required' in parts ? { additionalProperties: false, ...parts } : parts;
}

test('the document is as schema/service-status.schema.json says, with all of its keys', () => {
  const schema = closed(SCHEMA);
  assert.ok(typeof schema === 'object' && schema !== null);
  const fullest = { metric: 'celery.task.sent', live: 5, limit: 2000 };
  const more = { history: [1, 2], series: { live: 3, overflowed: 0, fullest } };
  for (const document of [documentOf(VIEW, more), documentOf({ workers: [], queues: [], ends: [] })])
    assert.deepEqual(violations({ ...schema }, document), []);
  assert.notDeepEqual(violations({ ...schema }, { ...documentOf(VIEW), more: 1 }), []);
});
