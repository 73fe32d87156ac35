/** Spans and log records handed to what the embedding program attached: which ids, which resource, and what its errors cost. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { createBridge } from '../../src/bridge/bridge.ts';
import type { BridgeOptions, BridgeService } from '../../src/bridge/bridge-options.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { processSpanId } from '../../src/tracer/span-id.ts';
import { failing } from '../failing-provider.ts';
import { plainSdk } from '../plain-sdk.ts';
import { type RecordedEvent, recordedService } from '../service/recorded-service.ts';

const ORDER = '90817c7f-6c28-4fe5-aa46-7adb16d15d7d';
const PAY = '9ef3f114-760a-4af7-9064-83c28e3b001e';
const TRACE_ID = ORDER.replaceAll('-', '');
const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const FIRST = { retries: 0, delivery: 0 };
const ORDER_SPAN = processSpanId(ORDER, FIRST);
const PAY_SPAN = processSpanId(PAY, FIRST);
const RESOURCE = resourceFromAttributes({ 'service.name': 'back-office' });

/** An order whose payment, sent by it, ends later and fails. */
function order(rootId = ORDER): readonly RecordedEvent[] {
  const of = (uuid: string, name: string) => ({ hostname: 'w1@shop', uuid, name, root_id: rootId });
  const paying = { ...of(PAY, 'shop.pay'), parent_id: ORDER };
  return [
    { afterMs: 0, type: 'task-received', fields: of(ORDER, 'shop.order') },
    { afterMs: 1, type: 'task-started', fields: of(ORDER, 'shop.order') },
    { afterMs: 100, type: 'task-received', fields: paying },
    { afterMs: 251, type: 'task-succeeded', fields: { ...of(ORDER, 'shop.order'), runtime: 0.25 } },
    { afterMs: 300, type: 'task-started', fields: paying },
    { afterMs: 400, type: 'task-failed', fields: { ...paying, exception: "ValueError('no card')" } },
  ];
}

type Attachments = Pick<BridgeService, 'spanProcessor' | 'loggerProvider'>;

function signals(env: Readonly<Record<string, string>> = {}) {
  const loaded = loadConfig({
    argv: [],
    env: {
      ...{ CELERY_BROKER_URL: 'redis://127.0.0.1:1', OTEL_SERVICE_NAME: 'shop' },
      ...{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_LOGS_EXPORTER: 'otlp', ...env },
    },
  });
  assert.ok(loaded.ok, JSON.stringify(loaded));
  const { traces, logs } = loaded.config;
  assert.ok(traces !== undefined && logs !== undefined);
  return { traces, logs };
}

/** Runs the order to its end, by default without anything to export to. */
async function reportedTo(
  t: TestContext,
  attached: Attachments,
  {
    events = order(),
    options = {},
  }: { events?: readonly RecordedEvent[]; options?: Partial<BridgeOptions> } = {},
): Promise<readonly SelfEvent[]> {
  const { traces, logs } = signals();
  const reported: SelfEvent[] = [];
  const service = { ...recordedService(t, 'shop', events), ...attached, meterProvider: plainSdk().provider };
  const bridge = createBridge({
    services: [service],
    traces: { settings: traces.settings, exceptions: traces.exceptions },
    ...(attached.loggerProvider && { logs: { settings: logs.settings } }),
    self: { enabled: false, attributes: {} },
    report: (event) => reported.push(event),
    ...options,
  });
  bridge.start();
  await bridge.finished;
  await bridge.stop(2000);
  return reported;
}

const placeOf = (span: ReadableSpan) => {
  const { traceId, spanId } = span.spanContext();
  return { name: span.name, traceId, spanId, parent: span.parentSpanContext?.spanId };
};
const OUR_PLACES = [
  { name: 'process shop.order', traceId: TRACE_ID, spanId: ORDER_SPAN, parent: undefined },
  { name: 'process shop.pay', traceId: TRACE_ID, spanId: PAY_SPAN, parent: ORDER_SPAN },
];
const reasonsOf = (reported: readonly SelfEvent[]) =>
  reported.flatMap((event) => (event.kind === 'defect' ? [`${event.where}: ${event.reason}`] : []));
const batchesOf = (reported: readonly SelfEvent[]) =>
  reported.filter((event) => event.kind === 'batch-finished');

function loggers() {
  const exporter = new InMemoryLogRecordExporter();
  const processor = new SimpleLogRecordProcessor({ exporter });
  return { exporter, provider: new LoggerProvider({ resource: RESOURCE, processors: [processor] }) };
}

test('a SpanProcessor gets spans with the resource of their own service', async (t) => {
  const { traces } = signals({ CELERY_OTEL_TRACES_SERVICE_NAMES: 'task:shop.pay=payments' });
  const exporter = new InMemorySpanExporter();
  const spanProcessor = new SimpleSpanProcessor({ exporter });
  await reportedTo(t, { spanProcessor }, { options: { traces } });
  await spanProcessor.forceFlush();
  assert.deepEqual(
    exporter.getFinishedSpans().map(({ name, resource }) => [name, resource.attributes['service.name']]),
    [
      ['process shop.order', 'shop'],
      ['process shop.pay', 'payments'],
    ],
  );
});

test('a SpanProcessor and a LoggerProvider get everything, with our ids, and are left running', async (t) => {
  const exporter = new InMemorySpanExporter();
  const spanProcessor = new SimpleSpanProcessor({ exporter });
  const logs = loggers();
  const reported = await reportedTo(t, { spanProcessor, loggerProvider: logs.provider });
  await spanProcessor.forceFlush();
  const spans = exporter.getFinishedSpans();
  assert.deepEqual(spans.map(placeOf), OUR_PLACES);
  assert.deepEqual(
    spans.map(({ resource }) => resource.attributes['service.name']),
    ['shop', 'shop'],
  );
  for (const { traceState, traceFlags } of spans.map((span) => span.spanContext()))
    assert.deepEqual([traceState?.serialize(), traceFlags], ['ot=th:0', 3]);
  const records = logs.exporter.getFinishedLogRecords();
  const failure = records.find(({ eventName }) => eventName === 'messaging.process.exception');
  assert.equal(failure?.spanContext?.traceId, TRACE_ID);
  assert.equal(failure.spanContext.spanId, PAY_SPAN);
  assert.equal(failure.resource.attributes['service.name'], 'back-office');
  assert.deepEqual([...batchesOf(reported), ...reasonsOf(reported)], []);
});

const ERROR = new Error('no room');
test('a SpanProcessor whose promise is rejected costs its span, and is told of', async (t) => {
  const reported = await reportedTo(t, { spanProcessor: { onEnd: async () => Promise.reject(ERROR) } });
  assert.equal(reasonsOf(reported).length, 2);
  assert.match(reasonsOf(reported)[0] ?? '', /^attached_provider: no room/u);
});

test('a joined trace stays below the span of the caller', async (t) => {
  const events = order(`00-${CALLER.traceId}-${CALLER.spanId}-01`);
  const exporter = new InMemorySpanExporter();
  const { traces } = signals({ CELERY_OTEL_TRACES_JOIN: 'true' });
  await reportedTo(
    t,
    { spanProcessor: new SimpleSpanProcessor({ exporter }) },
    { events, options: { traces } },
  );
  const [ordering, paying] = exporter.getFinishedSpans().map(placeOf);
  assert.deepEqual([ordering?.traceId, ordering?.parent], [CALLER.traceId, CALLER.spanId]);
  assert.deepEqual([paying?.traceId, paying?.parent], [CALLER.traceId, ordering?.spanId]);
});

test('a worker that tells its span has its ids on records, if traces are joined', async (t) => {
  const worker = { traceId: CALLER.traceId, spanId: '00f067aa0ba902b7' };
  const traceparent = `00-${worker.traceId}-${worker.spanId}-01`;
  const reported = { hostname: 'w1@shop', pid: 99, uuid: PAY, traceparent };
  const events: RecordedEvent[] = [...order(), { afterMs: 301, type: 'task-traced', fields: reported }];
  events.sort((one, other) => one.afterMs - other.afterMs);
  const ids = async (join: string) => {
    const { traces, logs } = signals({ CELERY_OTEL_TRACES_JOIN: join });
    const { exporter, provider } = loggers();
    await reportedTo(t, { loggerProvider: provider, ...working() }, { events, options: { traces, logs } });
    const record = exporter.getFinishedLogRecords().find(({ eventName }) => eventName?.endsWith('exception'));
    return { traceId: record?.spanContext?.traceId, spanId: record?.spanContext?.spanId };
  };
  assert.deepEqual(await ids('true'), worker);
  assert.deepEqual(await ids('false'), { traceId: TRACE_ID, spanId: PAY_SPAN });
});

const THROWN: Readonly<Record<string, () => Attachments>> = {
  onEnd: () => ({
    spanProcessor: failing(new SimpleSpanProcessor({ exporter: new InMemorySpanExporter() }), 'onEnd'),
  }),
  ...Object.fromEntries(
    ['getLogger', 'emit'].map((method) => [
      method,
      () => ({ loggerProvider: failing(loggers().provider, method), ...working() }),
    ]),
  ),
};
const working = (): Attachments => ({
  spanProcessor: new SimpleSpanProcessor({ exporter: new InMemorySpanExporter() }),
});

for (const [method, attached] of Object.entries(THROWN)) {
  test(`an error thrown by ${method} is told, and costs nobody else a span`, async (t) => {
    const good = new InMemorySpanExporter();
    const other = {
      ...recordedService(t, 'mail', order()),
      meterProvider: plainSdk().provider,
      ...{ spanProcessor: new SimpleSpanProcessor({ exporter: good }), loggerProvider: loggers().provider },
    };
    const bad = { loggerProvider: loggers().provider, ...attached() };
    const { traces, logs } = signals();
    const shop = { ...recordedService(t, 'shop', order()), meterProvider: plainSdk().provider, ...bad };
    const reported = await reportedTo(t, bad, {
      options: { services: [shop, other], traces, logs },
    });
    assert.equal(good.getFinishedSpans().length, 2);
    const reasons = reasonsOf(reported);
    assert.ok(reasons.length > 0);
    for (const reason of reasons)
      assert.match(reason, new RegExp(`^attached_provider: no ${method} today`, 'u'));
  });
}

test('what could not be told apart, or has no destination, is refused', (t) => {
  const { traces, logs } = signals();
  const meterProvider = plainSdk().provider;
  const shop = { ...recordedService(t, 'shop', []), meterProvider };
  const mail = { ...recordedService(t, 'mail', []), meterProvider: plainSdk().provider };
  const loggerProvider = loggers().provider;
  const spanProcessor = new SimpleSpanProcessor({ exporter: new InMemorySpanExporter() });
  const { settings, exceptions } = traces;
  const refused: readonly (readonly [wrong: RegExp, options: Omit<BridgeOptions, 'self'>])[] = [
    [
      /two services share one loggerProvider/u,
      { services: [shop, mail].map((one) => ({ ...one, loggerProvider })), logs },
    ],
    [/has a spanProcessor, but traces is missing/u, { services: [{ ...shop, spanProcessor }] }],
    [/has a loggerProvider, but logs is missing/u, { services: [{ ...shop, loggerProvider }] }],
    [
      /traces has no exporter and no batch/u,
      { services: [shop, { ...mail, spanProcessor }], traces: { settings, exceptions } },
    ],
    [/logs has no exporter and no batch/u, { services: [shop], logs: { settings: logs.settings } }],
  ];
  const self = { enabled: false, attributes: {} };
  for (const [message, options] of refused) {
    assert.throws(() => createBridge({ ...options, self }), { code: 'CONFIG_INVALID', message });
  }
  const shared = [shop, mail].map((one) => ({ ...one, spanProcessor }));
  assert.deepEqual(createBridge({ services: shared, traces: { settings, exceptions }, self }).state(), []);
});
