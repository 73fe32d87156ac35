import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { before, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startBackend } from '../e2e/received-items.ts';
import { eventCounts, readShopReport } from '../real/shop-report.ts';
import { until } from '../until.ts';

const EXAMPLES = new URL('../../examples/', import.meta.url);
const RECORDING = fileURLToPath(new URL('demo/shop.ndjson', EXAMPLES));
const APPLICATION = 'back-office';

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** Without the OpenTelemetry and Celery variables of this process. */
function startExample(endpoint: string, env: Readonly<Record<string, string>> = {}): Child {
  return spawn(process.execPath, [fileURLToPath(new URL('attach/attach.ts', EXAMPLES))], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_METRIC_EXPORT_INTERVAL: '200',
      ...env,
    },
  });
}

interface Ended {
  readonly code: unknown;
  readonly signal: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

async function ended(child: Child): Promise<Ended> {
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, signal, stdout, stderr };
}

/**
 * The example with the whole recording, stopped by SIGTERM once that has ended and all expected points have arrived.
 */
let example: Ended & {
  /** When the example was asked to end. */
  readonly running: readonly Point[];
  /** After its last export. */
  readonly final: readonly Point[];
  /** Everything that was exported. */
  readonly all: readonly Point[];
};

before(async () => {
  const sink = await startBackend();
  const child = startExample(sink.url, { CELERY_BROKER_URL: `recording:${RECORDING}?speed=max` });
  const end = ended(child);
  try {
    const running = await until('the whole recording', () => {
      const points = sink.points(APPLICATION);
      const isThere =
        total(points, 'celery_otel.broker.sessions', { 'celery_otel.session.end': 'finished' }) > 0 &&
        total(points, 'celery.worker.up') > 0 &&
        total(points, 'back_office.looks') > 0;
      return isThere ? points : undefined;
    });
    child.kill('SIGTERM');
    example = { ...(await end), running, final: sink.points(APPLICATION), all: sink.allPoints() };
  } finally {
    child.kill('SIGKILL');
    await sink.stop();
  }
});

test('it stops successfully on a signal, without warnings', () => {
  assert.deepEqual([example.code, example.signal, example.stderr], [0, null, '']);
  assert.match(example.stdout, /^Celery is there\.$/mu);
  assert.match(example.stdout, /^shop: (?:listening|finished), \d workers and \d+ tasks remembered$/mu);
  assert.match(example.stdout, /^shop: handed-over\nStopped\.\n$/mu);
});

test('the outcomes that Celery reported are under the application’s resource', () => {
  const report = readShopReport(JSON.parse(readFileSync(new URL('demo/shop.celery.json', EXAMPLES), 'utf8')));
  for (const [task, counts] of Object.entries(eventCounts(report))) {
    const of = (metric: string, attributes: Readonly<Record<string, string>> = {}) =>
      total(example.final, metric, { 'celery.task.name': task, ...attributes });
    assert.deepEqual(
      [of('celery.task.succeeded'), of('celery.task.revoked'), of('celery.task.rejected')],
      [counts.succeeded, counts.revoked, counts.rejected],
      task,
    );
    for (const [metric, byType] of Object.entries({ failed: counts.failed, retried: counts.retried })) {
      assert.deepEqual(
        Object.fromEntries(
          Object.keys(byType).map((type) => [type, of(`celery.task.${metric}`, { 'error.type': type })]),
        ),
        byType,
        `${task} ${metric}`,
      );
      assert.equal(
        of(`celery.task.${metric}`),
        Object.values(byType).reduce((sum, count) => sum + count, 0),
        `${task} ${metric}, of whatever type`,
      );
    }
  }
});

test('the application’s views remove the worker from metrics of tasks and keep it on gauges', () => {
  const keys = (prefix: string) =>
    new Set(
      example.running
        .filter(({ metric }) => metric.startsWith(prefix))
        .map(({ attributes }) => 'celery.worker.name' in attributes),
    );
  assert.deepEqual(keys('celery.task.'), new Set([false]));
  assert.deepEqual(keys('celery.worker.'), new Set([true]));
  assert.equal(total(example.running, 'celery.worker.up'), 3, 'three of five workers are left in the end');
  assert.deepEqual(
    example.final.filter(({ attributes }) => 'otel.metric.overflow' in attributes),
    [],
  );
});

test('the last export has what the bridge recorded when it stopped', () => {
  const gauges = (points: readonly Point[]) => points.filter(({ metric }) => metric === 'celery.worker.up');
  assert.equal(gauges(example.running).length, 5);
  assert.deepEqual(gauges(example.final), [], 'nobody is asked for gauges any more');
});

test('the metrics of the application, of Celery and of the bridge are all under one resource', () => {
  const scopes = new Map(example.all.map(({ metric, scope }) => [metric, scope]));
  assert.equal(scopes.get('back_office.looks'), APPLICATION);
  assert.equal(scopes.get('celery.task.succeeded'), 'celery-otel');
  assert.equal(scopes.get('celery_otel.events'), 'celery-otel');
  assert.deepEqual(
    new Set(example.all.map(({ resource }) => resource['service.name'])),
    new Set([APPLICATION]),
  );
  assert.equal(new Set(example.all.map(({ resource }) => resource['service.instance.id'])).size, 1);
});

async function withDefaults(t: TestContext): Promise<Child> {
  const sink = await startBackend();
  const child = startExample(sink.url);
  t.after(async () => {
    child.kill('SIGKILL');
    await sink.stop();
  });
  return child;
}

test('by default it replays the recording of the demo, and can be stopped in the middle', async (t) => {
  const child = await withDefaults(t);
  const end = ended(child);
  child.stdout.on('data', (chunk) => {
    if (String(chunk).includes('listening')) child.kill('SIGINT');
  });
  const { code, signal, stdout, stderr } = await end;
  assert.deepEqual([code, signal, stderr], [0, null, '']);
  assert.match(stdout, /^shop: listening, /mu);
});
