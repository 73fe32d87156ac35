import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { createBridge } from '../../src/bridge/bridge.ts';
import type { RawMessage } from '../../src/broker/broker.ts';
import { encodeHeader, encodeMessage } from '../../src/broker/recording/format.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { diagLines } from '../diag-lines.ts';
import { event } from '../e2e/publish.ts';
import { receivedTotals } from '../e2e/received-totals.ts';
import { HOSTILE } from '../hostile-text.ts';

const RECORDED_AT_MS = 1_790_000_000_000;

function message(body: unknown, afterMs: number): RawMessage {
  return {
    arrivedAtMs: RECORDED_AT_MS + afterMs,
    exchange: 'celeryev',
    routingKey: 'task.multi',
    contentType: 'application/json',
    contentEncoding: 'utf-8',
    headers: {},
    body: Buffer.from(JSON.stringify(body)),
  };
}

function recording(t: TestContext, messages: readonly RawMessage[], tail = ''): string {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-bridge-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'a.ndjson');
  const lines = messages.map((one) => {
    const encoded = encodeMessage(one);
    assert.ok(encoded.ok);
    return encoded.line;
  });
  writeFileSync(
    file,
    [encodeHeader(RECORDED_AT_MS), ...lines, tail].map((line) => line.trimEnd()).join('\n'),
  );
  return file;
}

async function receiver(t: TestContext, options: ReceiverOptions = {}): Promise<Receiver> {
  const sink = await startReceiver(options);
  t.after(() => sink.stop());
  return sink;
}

function bridgeOn(brokerUrl: string, endpoint: string, more: Readonly<Record<string, string>> = {}) {
  const loaded = loadConfig({
    argv: [],
    env: {
      CELERY_BROKER_URL: brokerUrl,
      OTEL_SERVICE_NAME: 'shop',
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_METRIC_EXPORT_INTERVAL: '100',
      ...more,
    },
  });
  assert.ok(loaded.ok, JSON.stringify(loaded));
  const reported: SelfEvent[] = [];
  return { bridge: createBridge({ ...loaded.config, report: (each) => reported.push(each) }), reported };
}

test('a recording flows through the whole bridge, and all its metrics are exported when it stops', async (t) => {
  const sink = await receiver(t);
  const uuid = 'a-task';
  const file = recording(t, [
    message(event('worker-online', { active: 0 }), 0),
    message(event('task-sent', { uuid, name: 'shop.pay', queue: 'orders' }), 10),
    message([event('task-received', { uuid, name: 'shop.pay' }), event('task-started', { uuid })], 20),
    message(event('task-succeeded', { uuid, runtime: 0.25, result: "'paid'" }), 30),
    message([], 31),
    message({ type: 'task-started' }, 32),
  ]);
  const { bridge, reported } = bridgeOn(`recording:${file}?speed=max`, sink.url);
  bridge.start();
  assert.equal(await bridge.finished, 'finished');
  const tables = bridge.state()[0]?.tables;
  for (const table of [tables?.tasks, tables?.workers])
    assert.deepEqual([table?.size, table?.evicted], [1, 0]);
  assert.deepEqual(await bridge.stop(5000), {
    flushed: true,
    services: [{ name: 'shop', metrics: 'flushed' }],
  });

  const points = sink.latest('shop');
  const attributes = { 'celery.task.name': 'shop.pay', 'celery.queue.name': 'orders' };
  for (const counter of ['sent', 'received', 'started', 'succeeded']) {
    assert.equal(total(points, `celery.task.${counter}`, attributes), 1, counter);
  }
  assert.equal(points.find((point) => point.metric === 'celery.task.runtime')?.sum, 0.25);
  assert.equal(total(points, 'celery.worker.up', { 'celery.worker.name': 'w1@test' }), 1);

  const own = sink.latest('celery-otel');
  assert.equal(total(own, 'celery_otel.events'), 5);
  assert.equal(total(own, 'celery_otel.input.dropped', { 'celery_otel.drop.reason': 'empty-batch' }), 1);
  assert.equal(total(own, 'celery_otel.input.dropped', { 'celery_otel.drop.reason': 'missing-hostname' }), 1);
  assert.deepEqual(
    reported.filter(({ kind }) => kind === 'defect'),
    [],
  );
  assert.deepEqual(
    reported.map(({ kind }) => kind).filter((kind) => kind.startsWith('service-')),
    ['service-started', 'service-stopping', 'service-stopped'],
  );
});

test('names are exported unchanged, also those that are escaped in the log', async (t) => {
  const sink = await receiver(t);
  const name = HOSTILE.toWellFormed();
  const { bridge } = bridgeOn(
    `recording:${recording(t, [message(event('task-sent', { name, queue: name }), 0)])}?speed=max`,
    sink.url,
  );
  bridge.start();
  await bridge.finished;
  await bridge.stop(5000);
  const attributes = { 'celery.task.name': name, 'celery.queue.name': name };
  assert.equal(total(sink.latest('shop'), 'celery.task.sent', attributes), 1);
});

test('a worker that went silent in a recording is down by the time of the recording', async (t) => {
  const sink = await receiver(t);
  const file = recording(t, [
    message(event('worker-heartbeat', { hostname: 'silent@test' }), 0),
    message(event('worker-heartbeat', { hostname: 'alive@test' }), 31_000),
  ]);
  const { bridge } = bridgeOn(`recording:${file}?speed=max`, sink.url);
  bridge.start();
  await bridge.finished;
  await bridge.stop(5000);
  const up = sink.latest('shop').filter((point) => point.metric === 'celery.worker.up');
  assert.deepEqual(up.map((point) => [point.attributes['celery.worker.name'], point.value]).sort(), [
    ['alive@test', 1],
    ['silent@test', 0],
  ]);
});

test('a truncated recording is unusable, and what came before is exported', async (t) => {
  const sink = await receiver(t);
  const file = recording(
    t,
    [message(event('task-sent', { name: 'shop.pay', timestamp: RECORDED_AT_MS / 1000 }), 0)],
    '{"nonsense":',
  );
  const { bridge, reported } = bridgeOn(`recording:${file}?speed=max`, sink.url);
  bridge.start();
  assert.equal(await bridge.finished, 'unusable');
  await bridge.stop(5000);
  assert.equal(total(sink.latest('shop'), 'celery.task.sent'), 1);
  const ended = reported.find((each) => each.kind === 'broker-session-ended');
  assert.match(ended?.kind === 'broker-session-ended' ? ended.reason : '', /line 3/u);
});

test('a disabled metric is not exported, and the others are', async (t) => {
  const file = recording(t, [
    message(event('task-sent', { name: 'shop.pay' }), 0),
    message(event('task-received', { name: 'shop.pay' }), 1),
  ]);
  const metricsWith = async (more: Readonly<Record<string, string>>): Promise<ReadonlySet<string>> => {
    const sink = await receiver(t);
    const { bridge } = bridgeOn(`recording:${file}?speed=max`, sink.url, more);
    bridge.start();
    await bridge.finished;
    await bridge.stop(5000);
    assert.equal(total(sink.latest('celery-otel'), 'celery_otel.events'), 2);
    return new Set(sink.latest('shop').map((point) => point.metric));
  };
  const allButOne = await metricsWith({ CELERY_OTEL_METRICS_DISABLED: 'celery.task.sent' });
  assert.ok(!allButOne.has('celery.task.sent'));
  assert.ok(allButOne.has('celery.task.received'));
  assert.deepEqual(
    await metricsWith({
      CELERY_OTEL_METRICS_DISABLED: '*',
      CELERY_OTEL_METRICS_ENABLED: 'celery.task.sent',
    }),
    new Set(['celery.task.sent']),
  );
});

test('a full table evicts entries, counts them and logs it', async (t) => {
  const sink = await receiver(t);
  const uuids = Array.from({ length: 50 }, (_, index) => `task ${index}`);
  const file = recording(t, [
    message(
      uuids.map((uuid) => event('task-received', { uuid, name: 'shop.pay' })),
      0,
    ),
  ]);
  const { bridge } = bridgeOn(`recording:${file}?speed=max`, sink.url, { CELERY_OTEL_TASKS_MAX: '10' });
  bridge.start();
  await bridge.finished;
  await bridge.stop(5000);
  assert.equal(
    total(sink.latest('celery-otel'), 'celery_otel.table.evictions', { 'celery_otel.table': 'tasks' }),
    40,
  );
  assert.equal(total(sink.latest('shop'), 'celery.task.received'), 50, 'what was counted stays counted');
});

test('the series of a worker that is gone are exported once more and then end', async (t) => {
  const exports: (readonly Point[])[] = [];
  const sink = await receiver(t, { onExport: ({ points }) => exports.push(points) });
  const run = (hostname: string, uuid: string) => [
    event('task-received', { hostname, uuid, name: 'shop.pay' }),
    event('task-started', { hostname, uuid }),
    event('task-succeeded', { hostname, uuid, runtime: 0.25, result: "'paid'" }),
  ];
  const file = recording(t, [
    message(run('gone@test', 'one'), 0),
    message(run('alive@test', 'another'), 601_000),
    message(event('worker-heartbeat', { hostname: 'alive@test' }), 640_000),
  ]);
  const { bridge } = bridgeOn(`recording:${file}?speed=max`, sink.url);
  t.after(() => bridge.stop(1000));
  bridge.start();
  await bridge.finished;
  const of = (points: readonly Point[], worker: string) =>
    new Set(
      points.filter((point) => point.attributes['celery.worker.name'] === worker).map(({ metric }) => metric),
    );
  const left = await sink.waitFor(
    'shop',
    (points) => of(points, 'alive@test').size > 0 && of(points, 'gone@test').size === 0,
    DEADLINE_MS,
  );
  const counted = ['received', 'started', 'succeeded', 'runtime'].map((name) => `celery.task.${name}`);
  const reported = exports.find((points) => of(points, 'gone@test').has('celery.task.succeeded')) ?? [];
  for (const metric of counted) {
    assert.equal(total(reported, metric, { 'celery.worker.name': 'gone@test' }), 1, metric);
    assert.equal(total(left, metric), 1, metric);
  }
});

test('after made-up names have filled a metric, new real names soon get their own series', async (t) => {
  const limit = 2000;
  const totals = receivedTotals();
  /** Of `celery.task.sent`, by the time of the export. */
  const points = new Map<number, number>();
  const sink = await receiver(t, {
    onExport(exported) {
      totals.take(exported.points);
      for (const { metric, timeMs } of exported.points)
        if (metric === 'celery.task.sent') points.set(timeMs, (points.get(timeMs) ?? 0) + 1);
    },
  });
  const sentAt = (afterMs: number, names: readonly string[]): RawMessage =>
    message(
      names.map((name) => event('task-sent', { name, timestamp: (RECORDED_AT_MS + afterMs) / 1000 })),
      afterMs,
    );
  const evil = Array.from({ length: 2100 }, (_, index) => `evil.${index}`);
  const attack = Array.from({ length: 21 }, (_, part) => sentAt(0, evil.slice(part * 100, (part + 1) * 100)));
  const honest = ['shop.pay', 'shop.refund', 'shop.ship'];
  const rounds = Array.from({ length: 20 }, (_, index) => sentAt(500 + index * 250, honest));
  const file = recording(t, [...attack, ...rounds]);
  const { bridge, reported } = bridgeOn(`recording:${file}`, sink.url, {
    CELERY_OTEL_SERIES_RETENTION: '1',
    CELERY_OTEL_WORKER_TIMEOUT: '1',
  });
  t.after(() => bridge.stop(1000));
  bridge.start();
  await bridge.finished;
  assert.equal((await bridge.stop(5000)).flushed, true);
  const latest = sink.latest('shop');
  for (const name of honest) {
    const own = latest.filter(({ attributes }) => attributes['celery.task.name'] === name);
    assert.ok(own.length === 1 && total(own, 'celery.task.sent') > 0, `${name} has a series of its own`);
  }
  assert.equal(totals.of('shop', 'celery.task.sent'), evil.length + rounds.length * honest.length);
  assert.equal(Math.max(...points.values()), limit, 'it is full, and never more');
  const full = reported.filter(
    (each) => each.kind === 'series-overflowed' && each.metric === 'celery.task.sent',
  );
  assert.ok(full.length > 0);
});

test('a change of the wall clock is reported while the bridge runs, also without its own metrics', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let setByMs = 0;
  const now = Date.now;
  t.mock.method(Date, 'now', () => now() + setByMs);
  const loaded = loadConfig({
    argv: [],
    env: {
      CELERY_BROKER_URL: 'amqp://127.0.0.1:1',
      OTEL_SERVICE_NAME: 'shop',
      CELERY_OTEL_SELF_TELEMETRY: 'false',
    },
  });
  assert.ok(loaded.ok, JSON.stringify(loaded));
  const reported: SelfEvent[] = [];
  const bridge = createBridge({ ...loaded.config, report: (each) => reported.push(each) });
  bridge.start();
  const steps = () => reported.filter(({ kind }) => kind === 'clock-stepped').length;
  for (const [byMs, expected] of [
    [0, 0],
    [-3_600_000, 1],
    [0, 1],
  ] as const) {
    setByMs += byMs;
    t.mock.timers.tick(5000);
    assert.equal(steps(), expected);
  }
  await bridge.stop(0);
  setByMs = 0;
  t.mock.timers.tick(5000);
  assert.equal(steps(), 1);
});

for (const listens of [false, true]) {
  test(`${listens ? 'with an observer of events' : 'without an observer of events'}, the diagnostics of the API get ${listens ? 'nothing' : 'all warnings'}`, async (t) => {
    const lines = diagLines(t);
    const sink = await receiver(t);
    const file = recording(
      t,
      [message(event('task-sent', { name: 'shop.pay', timestamp: RECORDED_AT_MS / 1000 }), 0)],
      '{"nonsense":',
    );
    const loaded = loadConfig({
      argv: [],
      env: {
        CELERY_BROKER_URL: `recording:${file}`,
        OTEL_SERVICE_NAME: 'shop',
        OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
      },
    });
    assert.ok(loaded.ok);
    const bridge = createBridge({ ...loaded.config, ...(listens ? { report: () => {} } : {}) });
    bridge.start();
    assert.equal(await bridge.finished, 'unusable');
    await bridge.stop(5000);
    const ours = lines.filter(([, text]) => String(text).startsWith('celery-otel: '));
    assert.deepEqual(
      ours.map(([level, text, fields]) => [level, /line 3/u.test(String(text)), fields]),
      listens ? [] : [['error', true, { kind: 'broker-session-ended', service: 'shop' }]],
    );
  });
}

test('an observer that throws has no effect: everything is counted, exported and stopped', async (t) => {
  const sink = await receiver(t);
  const file = recording(t, [message(event('task-sent', { name: 'shop.pay', queue: 'orders' }), 0)]);
  const loaded = loadConfig({
    argv: [],
    env: {
      CELERY_BROKER_URL: `recording:${file}?speed=max`,
      OTEL_SERVICE_NAME: 'shop',
      OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
      OTEL_METRIC_EXPORT_INTERVAL: '50',
    },
  });
  assert.ok(loaded.ok);
  const bridge = createBridge({
    ...loaded.config,
    report: () => {
      throw new Error('nobody listens');
    },
  });
  bridge.start();
  await sink.waitFor('shop', (points) => total(points, 'celery.task.sent') === 1, DEADLINE_MS);
  assert.equal((await bridge.stop(5000)).flushed, true);
});

test('a bridge can be stopped before its start and more than once, but started only once', async (t) => {
  const sink = await receiver(t);
  const unstarted = bridgeOn('amqp://127.0.0.1:1', sink.url).bridge;
  assert.deepEqual(unstarted.state(), []);
  assert.deepEqual(await unstarted.stop(1000), { flushed: true, services: [] });
  assert.throws(() => unstarted.start(), { code: 'ALREADY_STARTED' });

  const { bridge } = bridgeOn('amqp://127.0.0.1:1', sink.url);
  bridge.start();
  assert.throws(() => bridge.start(), { code: 'ALREADY_STARTED' });
  assert.equal(bridge.state()[0]?.phase, 'waiting');
  const [one, other] = await Promise.all([bridge.stop(5000), bridge.stop(5000)]);
  assert.equal(one, other);
  assert.equal(await bridge.finished, 'stopped');
});
