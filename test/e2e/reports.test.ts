/** Traces and logs of the real command: what arrives, on which paths, and that nothing does where they are off. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { decodePoints, total } from '../../examples/demo/otlp-points.ts';
import { encodeHeader, encodeMessage } from '../../src/broker/recording/format.ts';
import { decodeLogRecords, decodeMetrics, decodeSpans } from '../otlp/encode/official-otlp.ts';
import { type GrpcReceiver, respondGrpc, startGrpcReceiver } from '../otlp/send/grpc-receiver.ts';
import { skipWithoutOtelcol, startOtelcol } from '../real/otelcol.ts';
import { type BridgeProcess, startBridge } from './bridge-process.ts';
import { type EventFields, event } from './publish.ts';

const RECORDING = fileURLToPath(new URL('../recordings/newest-prefork.ndjson', import.meta.url));
const SERVICES = {
  metrics: '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
  traces: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  logs: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
} as const;

async function backend(t: TestContext): Promise<GrpcReceiver> {
  const receiver = await startGrpcReceiver();
  t.after(() => receiver.stop());
  return receiver;
}

function replay(
  t: TestContext,
  { port }: GrpcReceiver,
  more: Readonly<Record<string, string>> = {},
): BridgeProcess {
  return startBridge(t, {
    CELERY_BROKER_URL: `recording:${RECORDING}?speed=max`,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_METRIC_EXPORT_INTERVAL: '60000',
    ...more,
  });
}

/** All objects under that key, anywhere. */
function found(holder: unknown, key: string): readonly unknown[] {
  if (typeof holder !== 'object' || holder === null) return [];
  return Object.entries(holder).flatMap(([name, value]: [string, unknown]) => [
    ...(name === key && Array.isArray(value) ? value : []),
    ...found(value, key),
  ]);
}

const get = (holder: unknown, key: string): unknown =>
  typeof holder === 'object' && holder !== null ? Reflect.get(holder, key) : undefined;

function bodies({ requests }: GrpcReceiver, signal: keyof typeof SERVICES): readonly Buffer[] {
  return requests.filter(({ path }) => path === SERVICES[signal]).map(({ body }) => body);
}

/** Of ids, as decoded. */
const same = (one: unknown, other: unknown): boolean => String(one) === String(other);
const hex = (bytes: unknown): string => Buffer.from(Array.isArray(bytes) ? bytes : []).toString('hex');

/** The text of an attribute of each span or record. */
function named(items: readonly unknown[], key: string): readonly string[] {
  return items.map((item) => {
    const attributes = get(item, 'attributes');
    const entries: readonly unknown[] = Array.isArray(attributes) ? attributes : [];
    const value = entries.find((entry) => get(entry, 'key') === key);
    return String(get(get(value, 'value'), 'stringValue'));
  });
}

const SECRETS = {
  url: 'hunter2url',
  message: 'hunter2message',
  token: 'eyJhunter2token',
  traceback: 'hunter2traceback',
  argument: 'hunter2argument',
  result: 'hunter2result',
  pattern: 'ticket-4711',
  header: 'hunter2header',
} as const;

/** A task that fails, one that is retried and one that succeeds, with secrets in all texts that Celery tells. */
function lives(): readonly EventFields[] {
  const { url, message, token, traceback, argument, result, pattern } = SECRETS;
  const texts = {
    exception: `Declined('no way to amqp://shop:${url}@bank/, password=${message}, ${pattern}')`,
    traceback: [
      'Traceback (most recent call last):',
      '  File "/app/shop.py", line 7, in pay',
      `    charge(api_key="${traceback}", headers={"Authorization": "Bearer ${token}"})`,
      `shop.Declined: no way to amqp://shop:${url}@bank/, password=${message}, ${pattern}`,
    ].join('\n'),
  };
  const called = { args: `({'password': '${argument}'},)`, kwargs: `{'token': '${argument}'}` };
  return ['task-failed', 'task-retried', 'task-succeeded'].flatMap((type) => {
    const uuid = randomUUID();
    const reported = { uuid, name: 'shop.pay', queue: 'celery', root_id: uuid, parent_id: null, ...called };
    const end = type === 'task-succeeded' ? { runtime: 0.1, result: `{'secret': '${result}'}` } : texts;
    return [
      event('task-sent', reported),
      event('task-received', reported),
      event('task-started', { uuid }),
      event(type, { uuid, ...end }),
    ];
  });
}

/** The path of a recording of these events, which is gone after the test. */
function recordingOf(t: TestContext, events: readonly EventFields[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-secrets-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const nowMs = Date.now();
  const common = {
    exchange: 'celeryev',
    contentType: 'application/json',
    contentEncoding: 'utf-8',
    headers: {},
  };
  const lines = events.map((fields) => {
    const routingKey = fields.type.replaceAll('-', '.');
    const body = Buffer.from(JSON.stringify(fields));
    const encoded = encodeMessage({
      ...common,
      arrivedAtMs: nowMs,
      routingKey,
      body,
    });
    assert.ok(encoded.ok);
    return encoded.line;
  });
  const path = join(folder, 'secrets.ndjson');
  writeFileSync(path, [encodeHeader(nowMs), ...lines, ''].join('\n'));
  return path;
}

describe('traces and logs of the command', { concurrency: 3 }, () => {
  test('metrics alone are sent to no other path', async (t) => {
    const receiver = await backend(t);
    assert.equal((await replay(t, receiver).ended()).code, 0);
    assert.deepEqual([...new Set(receiver.requests.map(({ path }) => path))], [SERVICES.metrics]);
    const metrics = bodies(receiver, 'metrics').map((body) => decodeMetrics(body));
    assert.deepEqual(found(metrics, 'exemplars'), []);
  });

  test('spans, records and metrics agree', async (t) => {
    const receiver = await backend(t);
    const on = { OTEL_TRACES_EXPORTER: 'otlp', OTEL_LOGS_EXPORTER: 'otlp' };
    assert.equal((await replay(t, receiver, on).ended()).code, 0);
    const points = bodies(receiver, 'metrics').flatMap((body) => decodePoints(body));
    const spans = bodies(receiver, 'traces').flatMap((body) => found(decodeSpans(body), 'spans'));
    const records = bodies(receiver, 'logs').flatMap((body) => found(decodeLogRecords(body), 'logRecords'));
    const outcomes = named(spans, 'celery.task.outcome');
    for (const outcome of ['succeeded', 'failed', 'retried'])
      assert.equal(
        outcomes.filter((each) => each === outcome).length,
        total(points, `celery.task.${outcome}`),
        outcome,
      );
    assert.ok(
      spans.length > outcomes.filter((each) => each !== 'undefined').length,
      'there are sendings, too',
    );
    const events = records.map((record) => String(get(record, 'eventName')));
    assert.equal(
      events.filter((event) => event === 'celery.task.retried').length,
      total(points, 'celery.task.retried'),
    );
    assert.ok(events.includes('messaging.process.exception') && events.includes('celery.worker.online'));
    const spanIds = new Set(spans.map((span) => String(get(span, 'spanId'))));
    for (const record of records) {
      const id = String(get(record, 'spanId'));
      assert.ok(id === '' || spanIds.has(id), `a record of no span: ${id}`);
    }
    // Of each run all that was measured, and of its span.
    const exemplars = bodies(receiver, 'metrics').flatMap((body) => found(decodeMetrics(body), 'exemplars'));
    assert.ok(exemplars.length > 20, `${exemplars.length}`);
    for (const exemplar of exemplars) {
      const at = spans.findIndex((span) => same(get(span, 'spanId'), get(exemplar, 'spanId')));
      assert.ok(same(get(spans[at], 'traceId'), get(exemplar, 'traceId')), 'an exemplar of no span');
      assert.notEqual(outcomes[at], 'undefined', 'it is of the run, not of its sending');
    }
    // Metrics go first, also at the stop.
    const paths = receiver.requests.map(({ path }) => path);
    assert.ok(paths.indexOf(SERVICES.metrics) < paths.lastIndexOf(SERVICES.traces));
  });

  test('a backend that takes metrics only: they are complete, and what is dropped is counted and logged', async (t) => {
    const receiver = await backend(t);
    receiver.answerWith((stream, { path }) =>
      respondGrpc(stream, path === SERVICES.metrics ? {} : { status: 12, message: 'no such service' }),
    );
    const on = { OTEL_TRACES_EXPORTER: 'otlp', OTEL_LOGS_EXPORTER: 'otlp' };
    const bridge = replay(t, receiver, on);
    assert.equal((await bridge.ended()).code, 0);
    assert.match(bridge.log(), /spans of shop dropped: the backend refused them/u);
    assert.match(bridge.log(), /log records of shop dropped/u);
    assert.ok(
      total(
        bodies(receiver, 'metrics').flatMap((body) => decodePoints(body)),
        'celery.task.succeeded',
      ) > 0,
    );
  });

  test('planted secrets are in no request and in no line of the log', async (t) => {
    const receiver = await backend(t);
    const port = new URL(`http://127.0.0.1:${receiver.port}`).port;
    const bridge = replay(t, receiver, {
      CELERY_BROKER_URL: `recording:${recordingOf(t, lives())}?speed=max`,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_HEADERS: `api-key=${SECRETS.header}`,
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_LOGS_EXPORTER: 'otlp',
      CELERY_OTEL_TRACES_ARGUMENTS: 'true',
      CELERY_OTEL_LOGS_REDACT: 'ticket-\\d+',
      LOG_LEVEL: 'trace',
    });
    assert.equal((await bridge.ended()).code, 0);
    const [spans, records] = [bodies(receiver, 'traces'), bodies(receiver, 'logs')].map((each) =>
      Buffer.concat(each).toString('latin1'),
    );
    // They came through: what is around the secrets is there.
    for (const text of [spans, records]) assert.match(text ?? '', /Declined.{0,200}\*\*\*/su);
    assert.match(spans ?? '', /celery\.task\.kwargs/u);
    const everything = [...receiver.requests.map(({ body }) => body.toString('latin1')), bridge.log()].join(
      '\n',
    );
    for (const [name, secret] of Object.entries(SECRETS)) assert.ok(!everything.includes(secret), name);
  });

  for (const hold of ['0', '300']) {
    test(`sampling by outcome: all failures, ${hold === '0' ? 'nothing of the rest' : 'with their whole traces'}`, async (t) => {
      const receiver = await backend(t);
      const some = {
        OTEL_TRACES_EXPORTER: 'otlp',
        OTEL_TRACES_SAMPLER: 'always_off',
        CELERY_OTEL_TRACES_KEEP: 'failed',
        CELERY_OTEL_TRACES_HOLD: hold,
      };
      assert.equal((await replay(t, receiver, some).ended()).code, 0);
      const points = bodies(receiver, 'metrics').flatMap((body) => decodePoints(body));
      const spans = bodies(receiver, 'traces').flatMap((body) => found(decodeSpans(body), 'spans'));
      const outcomesOf = (some: typeof spans) =>
        named(some, 'celery.task.outcome').filter((outcome) => outcome !== 'undefined');
      const outcomes = outcomesOf(spans);
      const failed = outcomes.filter((outcome) => outcome === 'failed');
      assert.equal(failed.length, total(points, 'celery.task.failed'));
      assert.equal(outcomes.length > failed.length, hold !== '0');
      for (const trace of Map.groupBy(spans, (span) => hex(get(span, 'traceId'))).values())
        assert.ok(outcomesOf(trace).includes('failed'));
      const spanIds = spans.map((span) => String(get(span, 'spanId')));
      const exemplars = bodies(receiver, 'metrics').flatMap((body) =>
        found(decodeMetrics(body), 'exemplars'),
      );
      assert.ok(exemplars.length > 0);
      for (const exemplar of exemplars) assert.ok(spanIds.includes(String(get(exemplar, 'spanId'))));
    });
  }

  test('a Collector takes exemplars in JSON, and of differences, and serves them in OpenMetrics', {
    skip: skipWithoutOtelcol(),
  }, async (t) => {
    const [collector, receiver] = await Promise.all([startOtelcol(), backend(t)]);
    t.after(() => collector.stop());
    const on = {
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `http://127.0.0.1:${collector.ports.otlpHttp}/v1/metrics`,
      OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'delta',
    };
    assert.equal((await replay(t, receiver, on).ended()).code, 0);
    const spans = bodies(receiver, 'traces').flatMap((body) => found(decodeSpans(body), 'spans'));
    const ids = new Set(spans.map((span) => hex(get(span, 'spanId'))));
    await collector.untilMetricsLine('# TYPE celery_task_failed_total counter');
    const text = await collector.openMetricsText();
    for (const name of ['celery_task_runtime_seconds_bucket', 'celery_task_failed_total']) {
      const served = [...text.matchAll(new RegExp(`^${name}\\{.*# \\{.*span_id="(\\w+)"`, 'gmu'))];
      assert.ok(served.length > 0, name);
      for (const [, spanId = ''] of served) assert.ok(ids.has(spanId), spanId);
    }
  });
});
