/** Spans and log records handed to what the embedding program attached: which ids, which resource, and what its errors cost. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { createBridge } from '../../src/bridge/bridge.ts';
import type { BridgeOptions, BridgeService } from '../../src/bridge/bridge-options.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { createIdGenerator } from '../../src/otlp/attach/id-generator.ts';
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

type Attachments = Pick<
  BridgeService,
  'spanProcessor' | 'spanExporter' | 'tracerProvider' | 'idGenerator' | 'loggerProvider'
>;

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

/** A TracerProvider, and what it exports. */
function tracers(idGenerator?: ReturnType<typeof createIdGenerator>) {
  const exporter = new InMemorySpanExporter();
  const spanProcessors = [new SimpleSpanProcessor({ exporter })];
  const provider = new TracerProvider({
    resource: RESOURCE,
    spanProcessors,
    ...(idGenerator === undefined ? {} : { idGenerator }),
  });
  return { exporter, provider };
}

test('a SpanProcessor and a SpanExporter get spans with the resource of their own service', async (t) => {
  const { traces } = signals({ CELERY_OTEL_TRACES_SERVICE_NAMES: 'task:shop.pay=payments' });
  for (const kind of ['spanProcessor', 'spanExporter'] as const) {
    const exporter = new InMemorySpanExporter();
    const attached = { spanProcessor: new SimpleSpanProcessor({ exporter }), spanExporter: exporter };
    await reportedTo(t, { [kind]: attached[kind] }, { options: { traces } });
    await attached.spanProcessor.forceFlush();
    assert.deepEqual(
      exporter.getFinishedSpans().map(({ name, resource }) => [name, resource.attributes['service.name']]),
      [
        ['process shop.order', 'shop'],
        ['process shop.pay', 'payments'],
      ],
      kind,
    );
  }
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

test('a SpanExporter gets batches from the bridge’s queue, and is left running', async (t) => {
  const spanExporter = new InMemorySpanExporter();
  const { traces } = signals();
  const reported = await reportedTo(t, { spanExporter }, { options: { traces } });
  assert.deepEqual(spanExporter.getFinishedSpans().map(placeOf), OUR_PLACES);
  assert.deepEqual(
    batchesOf(reported).map(({ backend, outcome, items }) => [backend, outcome, items]),
    [['the attached SpanExporter', 'success', 2]],
  );
});

const ERROR = new Error('no room');
const FAILING_EXPORTS: Readonly<
  Record<
    string,
    { export: (spans: ReadableSpan[], done: (result: ExportResult) => void) => void; thrown: number }
  >
> = {
  fails: { export: (_, done) => done({ code: ExportResultCode.FAILED, error: ERROR }), thrown: 0 },
  throws: {
    export() {
      throw ERROR;
    },
    thrown: 1,
  },
  rejects: { export: async () => Promise.reject(ERROR), thrown: 1 },
  'never answers': { export: () => {}, thrown: 0 },
};

test('a SpanProcessor whose promise is rejected costs its span, and is told of', async (t) => {
  const reported = await reportedTo(t, { spanProcessor: { onEnd: async () => Promise.reject(ERROR) } });
  assert.equal(reasonsOf(reported).length, 2);
  assert.match(reasonsOf(reported)[0] ?? '', /^attached_provider: no room/u);
});

for (const [what, { thrown, ...spanExporter }] of Object.entries(FAILING_EXPORTS)) {
  test(`what a SpanExporter that ${what} was given is counted as rejected, and not sent again`, async (t) => {
    const { traces } = signals({ OTEL_BSP_EXPORT_TIMEOUT: '100' });
    const reported = await reportedTo(t, { spanExporter }, { options: { traces } });
    assert.deepEqual(
      batchesOf(reported).map(({ outcome, items, rejectedItems }) => [outcome, items, rejectedItems]),
      [['partial', 2, 2]],
    );
    assert.match(
      batchesOf(reported)[0]?.reason ?? '',
      thrown === 0 && what !== 'fails' ? /no reply/u : /no room/u,
    );
    assert.equal(reasonsOf(reported).length, thrown);
  });
}

test('a TracerProvider with our generator makes spans with our ids, and all others with ids of its own', async (t) => {
  const idGenerator = createIdGenerator();
  const { exporter, provider } = tracers(idGenerator);
  const reported = await reportedTo(t, { tracerProvider: provider, idGenerator });
  provider.getTracer('application').startSpan('look').end();
  const spans = exporter.getFinishedSpans();
  const [ordering, paying, own] = spans;
  assert.ok(ordering !== undefined && paying !== undefined && own !== undefined);
  assert.deepEqual([ordering, paying].map(placeOf), OUR_PLACES);
  assert.deepEqual(ordering.resource.attributes['service.name'], 'back-office');
  // Nothing tells with which probability they were kept.
  assert.deepEqual([ordering.spanContext().traceState, ordering.spanContext().traceFlags], [undefined, 1]);
  assert.deepEqual(ordering.duration, [0, 250_000_000]);
  assert.equal(ordering.startTime[0], 1_790_000_000);
  assert.deepEqual(paying.status, { code: 2, message: 'no card' });
  const { traceId, spanId } = own.spanContext();
  assert.match(`${traceId} ${spanId}`, /^(?!0+ )[0-9a-f]{32} (?!0+$)[0-9a-f]{16}$/u);
  assert.notEqual(traceId, TRACE_ID);
  assert.deepEqual(reasonsOf(reported), []);
});

test('a TracerProvider that does not use the generator is told of', async (t) => {
  const reported = await reportedTo(t, {
    tracerProvider: tracers().provider,
    idGenerator: createIdGenerator(),
  });
  assert.match(
    reasonsOf(reported)[0] ?? '',
    /^attached_provider: the tracerProvider does not use the idGenerator/u,
  );
});

test('ids are handed out for one span only, also while a processor starts others', () => {
  const generator = createIdGenerator({
    generateTraceId: () => 'other trace',
    generateSpanId: () => 'other span',
  });
  const ids = { traceId: TRACE_ID, spanId: PAY_SPAN };
  const made = () => [generator.generateSpanId(), generator.generateTraceId()];
  assert.deepEqual(generator.handing(ids, made), [PAY_SPAN, TRACE_ID]);
  assert.deepEqual(
    generator.handing(ids, () => [...made(), ...made()].slice(2)),
    ['other span', 'other trace'],
  );
  assert.throws(() => generator.handing(ids, () => assert.fail('a sampler threw')));
  assert.deepEqual(made(), ['other span', 'other trace']);
});

test('a TracerProvider alone keeps the traces, with span ids of its own, which records have too', async (t) => {
  const { exporter, provider } = tracers();
  const logs = loggers();
  await reportedTo(t, { tracerProvider: provider, loggerProvider: logs.provider });
  const [ordering, paying] = exporter.getFinishedSpans().map(placeOf);
  assert.ok(ordering !== undefined && paying !== undefined);
  assert.deepEqual([ordering.traceId, paying.traceId], [TRACE_ID, TRACE_ID]);
  assert.ok(![ORDER_SPAN, PAY_SPAN].includes(ordering.spanId));
  assert.equal(ordering.parent, ORDER_SPAN, 'a parent that nobody exports, for the sake of the trace id');
  assert.equal(paying.parent, ordering.spanId);
  const failure = logs.exporter
    .getFinishedLogRecords()
    .find(({ eventName }) => eventName?.endsWith('exception'));
  assert.equal(failure?.spanContext?.spanId, paying.spanId);
});

test('each way keeps a joined trace below the span of the caller', async (t) => {
  const events = order(`00-${CALLER.traceId}-${CALLER.spanId}-01`);
  const idGenerator = createIdGenerator();
  const [alone, generated, processed] = [tracers(), tracers(idGenerator), new InMemorySpanExporter()];
  const { traces } = signals({ CELERY_OTEL_TRACES_JOIN: 'true' });
  for (const attached of [
    { tracerProvider: alone.provider },
    { tracerProvider: generated.provider, idGenerator },
    { spanProcessor: new SimpleSpanProcessor({ exporter: processed }) },
  ]) {
    await reportedTo(t, attached, { events, options: { traces } });
  }
  for (const exporter of [alone.exporter, generated.exporter, processed]) {
    const [ordering, paying] = exporter.getFinishedSpans().map(placeOf);
    assert.deepEqual([ordering?.traceId, ordering?.parent], [CALLER.traceId, CALLER.spanId]);
    assert.deepEqual([paying?.traceId, paying?.parent], [CALLER.traceId, ordering?.spanId]);
  }
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
    ['getTracer', 'startSpan', 'setStatus', 'end'].map((method) => [
      method,
      () => ({ tracerProvider: failing(tracers().provider, method) }),
    ]),
  ),
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
  const [tracerProvider, loggerProvider] = [tracers().provider, loggers().provider];
  const spanProcessor = new SimpleSpanProcessor({ exporter: new InMemorySpanExporter() });
  const { settings, exceptions } = traces;
  const refused: readonly (readonly [wrong: RegExp, options: Omit<BridgeOptions, 'self'>])[] = [
    [
      /two services share one tracerProvider/u,
      { services: [shop, mail].map((one) => ({ ...one, tracerProvider })), traces },
    ],
    [
      /two services share one loggerProvider/u,
      { services: [shop, mail].map((one) => ({ ...one, loggerProvider })), logs },
    ],
    [
      /has spanProcessor and tracerProvider: one is the most/u,
      { services: [{ ...shop, tracerProvider, spanProcessor }], traces },
    ],
    [/has a spanProcessor, but traces is missing/u, { services: [{ ...shop, spanProcessor }] }],
    [/has a loggerProvider, but logs is missing/u, { services: [{ ...shop, loggerProvider }] }],
    [
      /an idGenerator, but no tracerProvider/u,
      { services: [{ ...shop, idGenerator: createIdGenerator() }], traces },
    ],
    [
      /traces has no exporter and no batch/u,
      { services: [shop, { ...mail, spanProcessor }], traces: { settings, exceptions } },
    ],
    [
      /traces has no batch/u,
      { services: [{ ...shop, spanExporter: new InMemorySpanExporter() }], traces: { settings, exceptions } },
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
