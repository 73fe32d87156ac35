/**
 * The example of an instrumented web server and instrumented workers: what celery-otel adds to their traces, and what it leaves
 * to them.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DEADLINE_MS } from '../deadline.ts';
import { startHttpReceiver } from '../otlp/send/http-receiver.ts';
import { startWorker } from '../real/celery.ts';
import { freePort, isPortOpen } from '../real/free-port.ts';
import { newestCelery } from '../real/install.ts';
import { startRedis } from '../real/redis.ts';
import { startServerProcess } from '../real/server-process.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { type ReceivedSpan, spansIn, startBackend } from './received-items.ts';

const FOLDER = resolve(import.meta.dirname, '../../examples/traced-shop');
const celery = newestCelery();
const isSkipped = !celery.available && process.env['CI'] !== 'true' && celery.reason;

/** The web server, with a function that sends requests to it. */
async function startWeb(t: TestContext, python: string, env: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-web-'));
  const port = await freePort();
  const logFile = join(folder, 'log');
  const web = await startServerProcess({
    ...{ command: python, args: ['web.py'], cwd: FOLDER, logFile },
    env: { PATH: process.env['PATH'], PORT: String(port), PYTHONDONTWRITEBYTECODE: '1', ...env },
  });
  t.after(async () => {
    await web.end('SIGKILL', DEADLINE_MS);
    rmSync(folder, { recursive: true });
  });
  await until('the web server', async () => (await isPortOpen(port)) || undefined);
  return async (path: string): Promise<void> => {
    const { status } = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST' });
    assert.equal(status, 200, web.logTail());
  };
}

/** The command, listening; and what it sends. */
async function startJoined(t: TestContext, broker: string, spans: 'all' | 'beyond_workers') {
  const backend = await startBackend();
  t.after(() => backend.stop());
  const bridge = startBridge(t, {
    ...{ CELERY_BROKER_URL: broker, OTEL_SERVICE_NAME: 'traced-shop' },
    ...{ OTEL_EXPORTER_OTLP_ENDPOINT: backend.url, OTEL_METRIC_EXPORT_INTERVAL: '1000' },
    ...{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_LOGS_EXPORTER: 'otlp', OTEL_BSP_SCHEDULE_DELAY: '200' },
    ...{ CELERY_OTEL_TRACES_JOIN: 'true', CELERY_OTEL_TRACES_SPANS: spans },
  });
  await bridge.logged(/connected to/u);
  return backend;
}

const named = (spans: readonly ReceivedSpan[], name: string) => spans.filter((span) => span.name === name);

test('spans and records join the traces of instrumented programs, and double none if asked', {
  skip: isSkipped,
}, async (t) => {
  assert.ok(celery.available);
  const redis = await startRedis();
  t.after(() => redis.stop());
  const theirs = await startHttpReceiver();
  t.after(() => theirs.stop());
  const env = {
    CELERY_BROKER_URL: redis.url,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${theirs.port}`,
    OTEL_BSP_SCHEDULE_DELAY: '200',
  };
  const flavour = { name: 'newest', version: celery.version, python: celery.python } as const;
  const cluster = { broker: redis.url, backend: redis.url };
  const [all, beyond, worker, post] = await Promise.all([
    startJoined(t, redis.url, 'all'),
    startJoined(t, redis.url, 'beyond_workers'),
    startWorker({ ...cluster, flavour, nodename: 'w1', queues: ['orders'], folder: FOLDER, env }),
    startWeb(t, celery.python, env),
  ]);
  t.after(() => worker.kill());
  const theirSpans = () => theirs.requests.flatMap(({ body }) => spansIn(body));
  const found = (look: () => readonly ReceivedSpan[], name: string) =>
    until(name, () => named(look(), name)[0]);
  await post('/orders/vase');
  const order = await found(theirSpans, 'POST /orders/<item>');
  const packing = await found(theirSpans, 'run/shop.pack');
  // Not before: it kills a process of the worker, and with it the spans that this has not sent yet.
  await post('/catalogue');
  const catalogue = await found(theirSpans, 'POST /catalogue');
  assert.equal(packing.traceId, order.traceId, 'instrumentation alone');
  await found(all.spans, 'process shop.print_catalogue');
  const killed = await found(beyond.spans, 'process shop.print_catalogue');
  const packed = await found(all.spans, 'process shop.pack');

  await t.test('in one trace with the request, each below the span of the worker', async () => {
    const spans = all.spans().filter(({ traceId }) => traceId === order.traceId);
    assert.deepEqual(spans.map(({ name }) => name).sort(), ['process shop.charge', 'process shop.pack']);
    const charging = await found(theirSpans, 'run/shop.charge');
    const [charged] = named(spans, 'process shop.charge');
    assert.equal(charged?.parentSpanId, charging.spanId);
    assert.equal(packed.parentSpanId, packing.spanId);
  });

  await t.test('beyond the workers there is only what they cannot report, and nothing twice', async () => {
    assert.deepEqual(
      beyond.spans().map(({ name }) => name),
      ['process shop.print_catalogue'],
    );
    const sending = await found(theirSpans, 'apply_async/shop.print_catalogue');
    assert.deepEqual([killed.traceId, killed.parentSpanId], [catalogue.traceId, sending.spanId]);
    assert.equal(killed.attributes.get('error.type'), 'WorkerLostError');
    assert.deepEqual(named(theirSpans(), 'run/shop.print_catalogue'), []);
  });

  await t.test('records have the ids of the spans of the worker', async () => {
    for (const { records } of [all, beyond]) {
      const failure = await until('a record of the failure', () =>
        records().find(({ attributes }) => attributes.get('error.type') === 'ValueError'),
      );
      assert.deepEqual([failure.traceId, failure.spanId], [packing.traceId, packing.spanId]);
    }
  });
});
