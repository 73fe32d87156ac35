/** What is shown of one task, queue, worker or id: its last runs and failures without secrets, and its workflow as a tree. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foundDocument, foundTask, rowDocument } from '../../src/health/row-documents.ts';
import { shownTexts } from '../../src/logger/error-texts.ts';
import { Activity } from '../../src/service/activity/activity.ts';
import type { ServiceLookup } from '../../src/service/activity/service-lookup.ts';
import { SHOWN } from '../../src/service/telemetry.ts';
import { atOnce } from '../cluster/at-once.ts';
import { failed, received, retried, sent, started, succeeded, T0_MS, WORKER } from '../cluster/events.ts';
import { listening, report, type Story } from '../cluster/listening.ts';
import { finishedRun } from '../service/activity/finished-run.ts';

const NOW_MS = T0_MS + 90_000;
const TIME = new Date(NOW_MS);

function lookedUp(story: Story, runsMax = 100) {
  const activity = new Activity(runsMax);
  const on = listening({}, {});
  report(on, story);
  on.cluster.flush();
  for (const finished of on.reported) if (finished.kind === 'run') activity.runs.add(finished);
  for (const it of on.observed) activity.observe(it, T0_MS);
  const { lookup: now } = on.cluster;
  const moment = { wallMs: NOW_MS, listenedMs: NOW_MS };
  const lookup: ServiceLookup = {
    ...{ nowMs: NOW_MS, runs: activity.runs, redacted: (error) => shownTexts(error, SHOWN) },
    hourOfTask: (name, nowMs) => activity.hourOfTask(name, nowMs),
    hourOfQueue: (name, nowMs) => activity.hourOfQueue(name, nowMs),
    exitsOf: (worker) => activity.exitsOf(worker),
    openRuns: (id) => now.openRuns(id, moment),
    runningOn: (nodename, most) => now.runningOn(nodename, most, moment),
    queuesOf: (nodename) => now.queuesOf(nodename, moment),
    consumersOf: (queue) => now.consumersOf(queue, moment),
  };
  return { of: { time: TIME, service: 'shop', lookup }, activity };
}

const ERROR = {
  path: 'shop.KeyError',
  message: 'postgres://me:hunter2@db: gone\u001b[31m',
  stacktrace: 'Traceback\n  File "shop.py", line 7, in pay\n    password = "hunter2"',
};

/** A root that sends two children; one is retried once, and fails. */
const WORKFLOW: Story = [
  [0, sent({ uuid: 'root', name: 'shop.order', extras: { lineage: { rootId: 'root', parentId: '' } } })],
  [10, received({ uuid: 'root', name: 'shop.order', extras: { lineage: { rootId: 'root', parentId: '' } } })],
  [20, started({ uuid: 'root' })],
  ...['a', 'b'].flatMap((uuid, index): Story => {
    const extras = { lineage: { rootId: 'root', parentId: 'root' } };
    return [
      [100 + index, sent({ uuid, extras })],
      [200 + index, received({ uuid, extras })],
      [300 + index, started({ uuid })],
    ];
  }),
  [500, succeeded({ uuid: 'root', runtimeS: 0.48 })],
  [600, succeeded({ uuid: 'a' })],
  [700, retried('TimeoutError', { uuid: 'b', extras: { error: ERROR } })],
  [710, received({ uuid: 'b', retries: 1, extras: { lineage: { rootId: 'root', parentId: 'root' } } })],
  [800, started({ uuid: 'b' })],
  [900, failed('KeyError', { uuid: 'b', extras: { error: ERROR } })],
  [1_000, received({ uuid: 'c' })],
  [1_100, started({ uuid: 'c' })],
];

test('a task has its hour, its last runs and its failures, without secrets', () => {
  const { of } = lookedUp(WORKFLOW);
  const document = JSON.parse(JSON.stringify(atOnce(rowDocument(of, 'task', 'shop.pay'))));
  assert.deepEqual(
    document.runs.map((run: { id: string; outcome: string }) => `${run.id} ${run.outcome}`),
    ['b failed', 'b retried', 'a succeeded'],
  );
  assert.deepEqual(document.runs[0], {
    ...{ id: 'b', task: 'shop.pay', queue: 'orders', worker: WORKER, outcome: 'failed' },
    ...{ error_type: 'KeyError', retries: 1, received: new Date(T0_MS + 710).toISOString() },
    ...{ started: new Date(T0_MS + 800).toISOString(), ended: new Date(T0_MS + 900).toISOString() },
    ...{ wait_s: document.runs[0].wait_s, runtime_s: 0.1 },
  });
  assert.deepEqual(document.hour.failed, [1, 0, 0]);
  assert.deepEqual(document.hour.retried, [1, 0, 0]);
  assert.equal(document.hour.runtime_p95_s[1], null);
  assert.equal(document.hour.since, new Date(Math.floor(T0_MS / 60_000) * 60_000).toISOString());
  assert.deepEqual(document.queues, [{ name: 'orders', runs: 3 }]);
  const [failure] = document.failures;
  assert.match(failure.stacktrace, /line 7, in pay\n.*password = \*\*\*/u);
  assert.doesNotMatch(JSON.stringify(document), /hunter2|\\u001b\[/u);
  assert.deepEqual(document.remembered, { runs: 4, limit: 100 });
});

test('what nothing is known of has an empty document', () => {
  const { of } = lookedUp([]);
  for (const kind of ['task', 'queue', 'worker'] as const) {
    const document = atOnce(rowDocument(of, kind, 'a\u001b/__proto__'));
    assert.deepEqual([document.name, document.runs], ['a\\u001b/__proto__', []]);
  }
  assert.equal(atOnce(foundTask(of, 'x')), undefined);
  const found = foundDocument('x\n', TIME, [], [of.lookup]);
  assert.deepEqual(found, {
    ...{ version: 1, time: TIME.toISOString(), id: 'x\\u000a', found: [] },
    remembered: { runs: 0, limit: 100 },
  });
});

test('a worker shows what it runs, since when, and how it ended before', () => {
  const { of, activity } = lookedUp(WORKFLOW);
  activity.observe({ kind: 'worker-exited', worker: WORKER, reason: 'silence' }, NOW_MS - 30_000);
  const document = JSON.parse(JSON.stringify(atOnce(rowDocument(of, 'worker', WORKER))));
  assert.deepEqual(document.running, {
    total: 1,
    rows: [
      {
        ...{ id: 'c', task: 'shop.pay', queue: 'unknown', worker: WORKER, stage: 'running', retries: 0 },
        ...{ since: new Date(T0_MS + 1_100).toISOString(), age_s: 88.9 },
      },
    ],
  });
  assert.deepEqual(document.exits, [{ at: new Date(NOW_MS - 30_000).toISOString(), reason: 'silence' }]);
  assert.equal(document.runs.length, 4);
  assert.equal(document.queues, null);
});

test('a queue shows its lengths as they were sampled, who consumes it, and who ran its tasks and how that one ended', () => {
  const { of, activity } = lookedUp(WORKFLOW);
  const view = { workers: [], queues: [{ queue: 'orders', waitingAgeS: 12, runningAgeS: 0 }], ends: [] };
  const broker = { queues: [{ queue: 'orders', length: 7 }], incomplete: [], ageMs: 0 };
  activity.sample({ ...view, broker }, NOW_MS);
  const document = JSON.parse(JSON.stringify(atOnce(rowDocument(of, 'queue', 'orders'))));
  assert.deepEqual(document.hour.waiting, [null, null, 7]);
  assert.deepEqual(document.hour.oldest_age_s, [null, null, 12]);
  assert.equal(document.consumers, null);
  assert.equal(document.runs.length, 4);
  assert.deepEqual(document.workers, [{ name: WORKER, runs: 4, exit: null }]);
  activity.observe({ kind: 'worker-exited', worker: WORKER, reason: 'goodbye' }, NOW_MS - 40_000);
  activity.observe({ kind: 'worker-exited', worker: WORKER, reason: 'silence' }, NOW_MS - 30_000);
  const [worker] = JSON.parse(JSON.stringify(atOnce(rowDocument(of, 'queue', 'orders')))).workers;
  assert.deepEqual(worker.exit, { at: new Date(NOW_MS - 30_000).toISOString(), reason: 'silence' });
});

test('an id is found with its workflow as a tree: each run below the one that sent it', () => {
  const { of } = lookedUp(WORKFLOW);
  const found = atOnce(foundTask(of, 'b'));
  assert.deepEqual(
    found?.tree.map(({ depth, id, task, outcome, retries }) => [depth, id, task, outcome, retries].join(' ')),
    [
      '0 root shop.order succeeded 0',
      '1 a shop.pay succeeded 0',
      '1 b shop.pay retried 0',
      '1 b shop.pay failed 1',
    ],
  );
  assert.deepEqual(
    found?.failures.map(({ outcome }) => outcome),
    ['failed', 'retried'],
  );
  assert.deepEqual(
    atOnce(foundTask(of, 'c'))?.open.map(({ stage }) => stage),
    ['running'],
  );
});

test('a large workflow is cut, with its size, but not what was looked for', () => {
  const { of, activity } = lookedUp([], 1000);
  for (let index = 0; index < 900; index += 1)
    activity.runs.add(
      finishedRun(`r${index}`, { rootId: 'r0', endedMs: T0_MS + index, receivedMs: T0_MS + index }),
    );
  const found = atOnce(foundTask(of, 'r800'));
  assert.equal(found?.tree_total, 900);
  assert.equal(found?.tree.length, 501);
  assert.equal(found?.tree.at(-1)?.id, 'r800');
});

test('a run that was taken for lost shows its end, and its failure, once that is known', () => {
  const { of, activity } = lookedUp([]);
  const error = { path: 'KeyError', message: 'late', stacktrace: '' };
  activity.runs.add(finishedRun('a', { outcome: 'lost', endedMs: undefined, runtimeS: undefined }));
  activity.runs.add(finishedRun('b'));
  activity.runs.correct(finishedRun('a', { outcome: 'failed', errorType: 'KeyError', error }));
  activity.runs.correct(finishedRun('b', { outcome: 'failed' }));
  const outcomes = (id: string) => atOnce(foundTask(of, id))?.runs.map(({ outcome }) => outcome);
  assert.deepEqual([outcomes('a'), outcomes('b')], [['failed'], ['succeeded']]);
  const document = atOnce(rowDocument(of, 'task', 'shop.pay'));
  assert.ok('failures' in document && document.failures[0]?.message === 'late');
});

test('parents in a circle are drawn once', () => {
  const extras = (parentId: string) => ({ lineage: { rootId: 'x', parentId } });
  const { of } = lookedUp([
    [0, received({ uuid: 'x', extras: extras('y') })],
    [1, received({ uuid: 'y', extras: extras('x') })],
    [2, succeeded({ uuid: 'x' })],
    [3, succeeded({ uuid: 'y' })],
  ]);
  assert.deepEqual(
    atOnce(foundTask(of, 'x'))?.tree.map(({ id }) => id),
    ['x', 'y'],
  );
});
