import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { type Receiver, startReceiver } from '../../examples/demo/otlp-receiver.ts';
import type { BridgeOptions, BridgeService } from '../../src/bridge/bridge-options.ts';
import { createDestinations } from '../../src/bridge/destinations.ts';
import { EVENT_TYPES } from '../../src/celery/event-types.ts';
import { NUMERIC_FIELDS } from '../../src/celery/numeric-fields.ts';
import { INTENTIONAL_REASONS, REJECTION_REASONS } from '../../src/celery/rejection.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import type { ServiceReading } from '../../src/meter/self-readings.ts';
import type { View } from '../../src/otlp/collect/view.ts';
import type { ProcessWatch } from '../../src/self/process-readings.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { VERSION } from '../../src/self/version.ts';
import { createYieldToLoop } from '../../src/timing/cooperative.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { otlpSettings, type SettingsOverrides } from '../otlp/settings.ts';

const READING: ServiceReading = {
  service: 'shop',
  connected: true,
  reportAgeS: undefined,
  instances: undefined,
  tables: { tasks: { size: 12, limit: 100, bytes: 6_000, bytesMax: 128_000 } },
};

const FED_FROM_TOTALS: ReadonlySet<string> = new Set([
  'celery_otel.cpu.time',
  'celery_otel.series.retired',
  'celery_otel.series.unmarked',
  'celery_otel.series.overflowed',
  'celery_otel.measurements.refused',
]);

function shopService(more: Readonly<Record<string, string>> = {}): BridgeService {
  const env = { CELERY_BROKER_URL: 'amqp://127.0.0.1:1', OTEL_SERVICE_NAME: 'shop', ...more };
  const loaded = loadConfig({ argv: [], env });
  assert.ok(loaded.ok, JSON.stringify(loaded));
  return loaded.config.services[0];
}

/** A fake watch with constant readings, and the number of its instances. */
function fakeWatches() {
  const watches = { begun: 0, read: 0, closed: 0 };
  const watch = (): ProcessWatch => {
    watches.begun += 1;
    return {
      instanceId: 'instance-1',
      read() {
        watches.read += 1;
        return {
          uptimeS: 7,
          cpuS: { user: 2, system: 1 },
          memoryBytes: { rss: 50, heap_total: 30, heap_used: 20, external: 10 },
          eventLoopDelayS: { mean: 0.001, p99: 0.02, max: 0.5 },
        };
      },
      close() {
        watches.closed += 1;
      },
    };
  };
  return { watches, watch };
}

async function receiver(t: TestContext): Promise<Receiver> {
  const sink = await startReceiver();
  t.after(() => sink.stop());
  return sink;
}

/** Destinations of the service `shop`, which counts something. */
function destinationsTo(sink: Receiver, self: BridgeOptions['self'], overrides: SettingsOverrides = {}) {
  const reported: SelfEvent[] = [];
  const { watches, watch } = fakeWatches();
  const options = { services: [shopService()], otlp: otlpSettings(sink.url, overrides), self };
  const destinations = createDestinations(
    options,
    { onEvent: (event) => reported.push(event), random: () => 0, yieldToLoop: createYieldToLoop() },
    watch,
  );
  const shop = destinations.destinationOf(shopService());
  shop.meter.createCounter('celery.task.sent').add(1, { 'celery.queue.name': 'orders' });
  destinations.self.eventsOf('shop')({ type: 'task-sent', timestampMs: 0, implausibleMs: undefined }, 0);
  destinations.report({ kind: 'broker-connected', service: 'shop', broker: 'amqp://h', attempts: 1 });
  destinations.start(() => [READING]);
  return { destinations, reported, watches };
}

/** An application’s own OpenTelemetry setup. */
function programsOwn(t: TestContext) {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  t.after(() => meterProvider.shutdown());
  const metrics = async (): Promise<ReadonlySet<string>> => {
    exporter.reset();
    await meterProvider.forceFlush();
    const scopes = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
    return new Set(scopes.flatMap((scope) => scope.metrics.map(({ descriptor }) => descriptor.name)));
  };
  return { meterProvider, metrics };
}

test('the bridge’s own metrics are exported under a resource that identifies the bridge and its version', async (t) => {
  const sink = await receiver(t);
  const { destinations } = destinationsTo(sink, { enabled: true, attributes: { team: 'checkout' } });
  assert.equal((await destinations.close(DEADLINE_MS)).flushed, true);
  const resource = sink.latest('celery-otel')[0]?.resource;
  assert.equal(resource?.['service.version'], VERSION);
  assert.equal(resource['service.instance.id'], 'instance-1');
  assert.equal(resource['team'], 'checkout');
  assert.equal(sink.latest('shop')[0]?.resource['service.instance.id'], undefined);
});

test('a configured instance id is used in the resource', async (t) => {
  const sink = await receiver(t);
  const attributes = { 'service.instance.id': 'bridge-7', 'service.name': 'another' };
  const { destinations } = destinationsTo(sink, { enabled: true, attributes });
  await destinations.close(DEADLINE_MS);
  assert.equal(sink.latest('celery-otel')[0]?.resource['service.instance.id'], 'bridge-7');
});

test('readings of services, series and the process are exported together with counted events', async (t) => {
  const sink = await receiver(t);
  const { destinations, watches } = destinationsTo(sink, { enabled: true, attributes: {} });
  await destinations.close(DEADLINE_MS);
  const points = sink.latest('celery-otel');
  const ofShop = { 'celery_otel.service': 'shop' };
  const wanted: readonly [metric: string, attributes: Point['attributes'], value: number][] = [
    ['celery_otel.events', ofShop, 1],
    ['celery_otel.event.lag', ofShop, 1],
    ['celery_otel.broker.connections', ofShop, 1],
    ['celery_otel.broker.connected', ofShop, 1],
    ['celery_otel.table.entries', ofShop, 12],
    ['celery_otel.table.limit', ofShop, 100],
    ['celery_otel.series', ofShop, 1],
    ['celery_otel.exports', ofShop, 1],
    ['celery_otel.export.points', ofShop, 1],
    ['celery_otel.cpu.time', { 'cpu.mode': 'user' }, 2],
    ['celery_otel.memory.usage', { 'celery_otel.memory.type': 'rss' }, 50],
    ['celery_otel.uptime', {}, 7],
  ];
  for (const [metric, attributes, value] of wanted)
    assert.equal(total(points, metric, attributes), value, metric);
  const ofItself = points.filter((point) => point.attributes['celery_otel.service'] === 'celery-otel');
  assert.deepEqual(ofItself.map(({ metric }) => metric).sort(), [
    'celery_otel.measurements.refused',
    'celery_otel.series',
    'celery_otel.series.overflowed',
    'celery_otel.series.retired',
    'celery_otel.series.unmarked',
  ]);
  assert.deepEqual(watches, { begun: 1, read: 1, closed: 1 });
});

for (const temporality of ['cumulative', 'delta'] as const) {
  test(`${temporality}: growth read at a collection is in a point that starts before it`, async (t) => {
    const bySeries = new Map<string, Point[]>();
    const sink = await startReceiver({
      onExport({ points }) {
        for (const point of points) {
          const key = JSON.stringify([point.metric, point.attributes]);
          if (FED_FROM_TOTALS.has(point.metric)) {
            bySeries.set(key, [...(bySeries.get(key) ?? []), point]);
          }
        }
      },
    });
    t.after(() => sink.stop());
    const { destinations } = destinationsTo(
      sink,
      { enabled: true, attributes: {} },
      { streams: { temporality }, schedule: { intervalMs: 300 } },
    );
    const begunMs = Date.now();
    const isTwice = (points: readonly Point[]): boolean => points.length >= 2;
    await sink.waitFor(
      'celery-otel',
      () => bySeries.size > 0 && [...bySeries.values()].every(isTwice),
      DEADLINE_MS,
    );
    await destinations.close(DEADLINE_MS);
    const [first, second] = [0, 1].map((at) => [...bySeries.values()].flatMap((points) => points[at] ?? []));
    assert.ok(first !== undefined && second !== undefined);
    assert.deepEqual(
      first.map(({ metric }) => metric).sort(),
      [...FED_FROM_TOTALS, ...FED_FROM_TOTALS].sort(),
      'of each mode of the CPU, or of both the service and the bridge',
    );
    // Nanoseconds are not exact fractions of ms.
    for (const { metric, startMs } of first)
      assert.ok(Math.floor(startMs) <= begunMs, `${metric} starts too late`);
    const expectedMs = first.map(({ startMs, timeMs }) => (temporality === 'delta' ? timeMs : startMs));
    assert.deepEqual(
      second.map(({ startMs }) => startMs),
      expectedMs,
    );
  });
}

test('ended series, overflowing and refused measurements are counted under their service', async (t) => {
  const sink = await receiver(t);
  const limits = { counter: 3, histogram: 3, gauge: 3 };
  const otlp = otlpSettings(sink.url, { streams: { limits }, schedule: { intervalMs: 50 } });
  const destinations = createDestinations(
    { services: [shopService()], otlp, self: { enabled: true, attributes: {} } },
    { onEvent: () => {}, random: () => 0, yieldToLoop: createYieldToLoop() },
    fakeWatches().watch,
  );
  const { meter, retire } = destinations.destinationOf(shopService());
  const counter = meter.createCounter('celery.task.received');
  for (const worker of ['w1', 'w2', 'w3', 'w4', 'w4']) counter.add(1, { 'celery.worker.name': worker });
  counter.add(Infinity, { 'celery.worker.name': 'w2' });
  retire(['w1']);
  destinations.start(() => []);
  const ofShop = { 'celery_otel.service': 'shop' };
  await sink.waitFor(
    'celery-otel',
    (points) =>
      total(points, 'celery_otel.series.retired', ofShop) === 1 &&
      total(points, 'celery_otel.series.overflowed', ofShop) === 3 &&
      total(points, 'celery_otel.measurements.refused', ofShop) === 1 &&
      // One worker, and the overflow.
      total(points, 'celery_otel.series', ofShop) === 2,
    DEADLINE_MS,
  );
  await destinations.close(DEADLINE_MS);
});

test('in a full metric, idle names are replaced after series_retention, and the overflow is logged', async (t) => {
  const sink = await receiver(t);
  const limits = { counter: 3, histogram: 3, gauge: 3 };
  const otlp = otlpSettings(sink.url, { streams: { limits }, schedule: { intervalMs: 50 } });
  const shop = shopService({ CELERY_OTEL_SERIES_RETENTION: '1', CELERY_OTEL_WORKER_TIMEOUT: '1' });
  const patient = { ...shopService({ CELERY_OTEL_SERIES_RETENTION: '600' }), name: 'patient' };
  const reported: SelfEvent[] = [];
  const destinations = createDestinations(
    { services: [shop, patient], otlp, self: { enabled: true, attributes: {} } },
    { onEvent: (event) => reported.push(event), random: () => 0, yieldToLoop: createYieldToLoop() },
    fakeWatches().watch,
  );
  const counters = [shop, patient].map((service) =>
    destinations.destinationOf(service).meter.createCounter('celery.task.sent'),
  );
  for (const counter of counters)
    for (const name of ['evil1', 'evil2']) counter.add(1, { 'celery.task.name': name });
  destinations.start(() => []);
  const honest = { 'celery.task.name': 'shop.pay' };
  const has = (points: readonly Point[]): boolean => total(points, 'celery.task.sent', honest) > 0;
  const endMs = performance.now() + DEADLINE_MS;
  let sent = 0;
  while (!has(sink.latest('shop'))) {
    const seen = () =>
      JSON.stringify(sink.latest('shop').map(({ metric, attributes }) => [metric, attributes]));
    assert.ok(performance.now() < endMs, `it has no series of its own, but ${seen()}`);
    for (const counter of counters) counter.add(1, honest);
    sent += 1;
    await delay(50);
  }
  await destinations.close(DEADLINE_MS);
  assert.ok(!has(sink.latest('patient')), 'nobody was idle for long enough');
  assert.equal(total(sink.latest('patient'), 'celery.task.sent'), sent + 2);
  const retired = (service: string): number =>
    total(sink.latest('celery-otel'), 'celery_otel.series.retired', { 'celery_otel.service': service });
  assert.ok(retired('shop') > 0);
  assert.equal(retired('patient'), 0);
  const overflowed = reported.filter((event) => event.kind === 'series-overflowed');
  assert.deepEqual(
    overflowed.filter(({ isFirst }) => isFirst),
    ['shop', 'patient'].map((service) => ({
      ...{ kind: 'series-overflowed', service, metric: 'celery.task.sent' },
      ...{ limit: 3, isFirst: true },
    })),
  );
});

test('the limit on the bridge’s own metrics suffices for a hundred services, and a view can lower it', async (t) => {
  const view: View = {
    selector: { instrumentName: 'celery_otel.fields.implausible' },
    stream: { cardinalityLimit: 7 },
  };
  const services = Array.from({ length: 100 }, (_, index) => ({ ...shopService(), name: `shop-${index}` }));
  const sink = await receiver(t);
  const limits = { counter: 3, histogram: 3, gauge: 3 };
  const reported: SelfEvent[] = [];
  const destinations = createDestinations(
    {
      services,
      otlp: otlpSettings(sink.url, { streams: { limits, views: [view] } }),
      self: { enabled: true, attributes: {} },
    },
    { onEvent: (event) => reported.push(event), random: () => 0, yieldToLoop: createYieldToLoop() },
    fakeWatches().watch,
  );
  for (const service of services) {
    destinations.destinationOf(service);
    for (const reason of Object.keys(REJECTION_REASONS)) {
      const intentional = INTENTIONAL_REASONS.has(reason);
      destinations.report({ kind: 'input-dropped', service: service.name, reason, intentional, detail: '' });
    }
    for (const field of Object.keys(NUMERIC_FIELDS))
      destinations.report({ kind: 'field-implausible', service: service.name, field, detail: '' });
    const count = destinations.self.eventsOf(service.name);
    for (const type of EVENT_TYPES.keys()) count({ type, timestampMs: 0, implausibleMs: undefined }, 0);
    for (let pair = 0; pair <= service.cluster.skewPairsMax; pair += 1) {
      const [senderHost, workerHost] = [`web${pair}`, `node${pair}`];
      destinations.report({ kind: 'clock-skewed', service: service.name, senderHost, workerHost });
    }
  }
  destinations.start(() => services.map(({ name }) => ({ ...READING, service: name })));
  await destinations.close(DEADLINE_MS);
  const points = sink.latest('celery-otel');
  const pointsOf = (metric: string): number => points.filter((point) => point.metric === metric).length;
  assert.equal(
    pointsOf('celery_otel.input.dropped'),
    services.length * Object.keys(REJECTION_REASONS).length,
  );
  assert.equal(pointsOf('celery_otel.events'), services.length * EVENT_TYPES.size);
  assert.equal(pointsOf('celery_otel.clock.skews'), services.length * 101);
  assert.equal(pointsOf('celery_otel.fields.implausible'), 7);
  assert.deepEqual(
    points.filter(({ attributes }) => 'otel.metric.overflow' in attributes).map(({ metric }) => metric),
    ['celery_otel.fields.implausible'],
  );
  assert.deepEqual(
    reported.filter(({ kind }) => kind === 'series-overflowed'),
    [
      {
        ...{ kind: 'series-overflowed', service: 'celery-otel', metric: 'celery_otel.fields.implausible' },
        ...{ limit: 7, isFirst: true },
      },
    ],
  );
});

test('the SDK’s exporter metrics are exported with the bridge’s own', async (t) => {
  const sink = await receiver(t);
  const { destinations } = destinationsTo(sink, { enabled: true, attributes: {} });
  await destinations.close(DEADLINE_MS);
  const names = new Set(sink.latest('celery-otel').map(({ metric }) => metric));
  for (const name of ['metric_data_point.inflight', 'metric_data_point.exported', 'operation.duration'])
    assert.ok(names.has(`otel.sdk.exporter.${name}`), [...names].join('\n'));
});

test('if they are disabled, nothing is read, recorded or exported for them', async (t) => {
  const sink = await receiver(t);
  const { meterProvider, metrics } = programsOwn(t);
  for (const attached of [{}, { meterProvider }]) {
    const { destinations, reported, watches } = destinationsTo(sink, {
      enabled: false,
      attributes: {},
      ...attached,
    });
    await destinations.close(DEADLINE_MS);
    assert.deepEqual(watches, { begun: 0, read: 0, closed: 0 });
    assert.deepEqual(sink.latest('celery-otel'), []);
    assert.equal(total(sink.latest('shop'), 'celery.task.sent'), 1);
    assert.deepEqual(
      reported.map(({ kind }) => kind),
      ['broker-connected', 'export-finished'],
    );
  }
  assert.deepEqual(await metrics(), new Set());
});

test('attached, they are recorded in the application’s provider until the bridge closes, and not exported by us', async (t) => {
  const sink = await receiver(t);
  const { meterProvider, metrics } = programsOwn(t);
  const { destinations, watches } = destinationsTo(sink, { enabled: true, attributes: {}, meterProvider });
  const names = await metrics();
  for (const name of [
    'celery_otel.up',
    'celery_otel.events',
    'celery_otel.series',
    'celery_otel.memory.usage',
  ])
    assert.ok(names.has(name), [...names].join('\n'));
  await destinations.close(DEADLINE_MS);
  assert.deepEqual(sink.latest('celery-otel'), []);
  assert.deepEqual(watches, { begun: 1, read: 1, closed: 1 });
  const after = await metrics();
  assert.ok(after.has('celery_otel.exports') && after.has('otel.sdk.exporter.metric_data_point.exported'));
  assert.equal(watches.read, 1);
});

test('after an abandoned start, nothing is exported or read', async (t) => {
  const [abandoned, other] = [await receiver(t), await receiver(t)];
  const schedule = { intervalMs: 20 };
  const self = { enabled: true, attributes: {} } as const;
  const { watches, watch } = fakeWatches();
  const open = (sink: Receiver) => {
    const options = { services: [shopService()], otlp: otlpSettings(sink.url, { schedule }), self };
    const destinations = createDestinations(
      options,
      { onEvent: () => {}, random: () => 0, yieldToLoop: createYieldToLoop() },
      sink === abandoned ? watch : fakeWatches().watch,
    );
    destinations.start(() => [READING]);
    return destinations;
  };
  await open(abandoned).abandon();
  const going = open(other);
  // With the same interval, one would have exported three times by then.
  await other.waitFor('celery-otel', () => other.exports() >= 3, DEADLINE_MS);
  await going.close(DEADLINE_MS);
  assert.equal(abandoned.exports(), 0);
  assert.deepEqual(watches, { begun: 1, read: 0, closed: 1 });
});

/** The report on the metrics of `shop` when the destinations close, and the self events until then. */
test('exemplars follow the filter, by default the spans; a provider of the program gets none', async (t) => {
  const { meterProvider } = programsOwn(t);
  const filterOf = (more: Partial<BridgeOptions>, service: BridgeService = shopService()) => {
    const options = { services: [service], otlp: otlpSettings(''), self: { enabled: false, attributes: {} } };
    const destinations = createDestinations(
      { ...options, ...more },
      { onEvent: () => {}, random: () => 0, yieldToLoop: createYieldToLoop() },
    );
    t.after(() => destinations.abandon());
    return destinations.reportsOf(service).exemplarFilter;
  };
  assert.equal(filterOf({}), 'trace_based');
  assert.equal(filterOf({ exemplarFilter: 'always_on' }), 'always_on');
  assert.equal(filterOf({ exemplarFilter: 'always_on' }, { ...shopService(), meterProvider }), 'always_off');
});

async function closedWith(
  t: TestContext,
  {
    counts,
    refuses,
    intervalMs = 60_000,
    code = status.UNAVAILABLE,
  }: { counts: boolean; refuses: () => boolean; intervalMs?: number; code?: status },
) {
  const refuse = () => (refuses() ? { code, details: 'come back later' } : undefined);
  const sink = await startReceiver({ refuse });
  t.after(() => sink.stop());
  const reported: SelfEvent[] = [];
  const otlp = otlpSettings(sink.url, { schedule: { intervalMs } });
  const destinations = createDestinations(
    { services: [shopService()], otlp, self: { enabled: false, attributes: {} } },
    { onEvent: (event) => reported.push(event), random: () => 0, yieldToLoop: createYieldToLoop() },
  );
  const { meter } = destinations.destinationOf(shopService());
  if (counts) meter.createCounter('celery.task.sent').add(1);
  destinations.start(() => []);
  return {
    ...{ reported, url: sink.url },
    async close() {
      const { services } = await destinations.close(500);
      return services.map(({ metrics }) => metrics);
    },
  };
}

for (const [what, counts, refused, expected] of [
  ['all counts have arrived', true, false, 'flushed'],
  ['nothing was counted, and the backend is available', false, false, 'empty'],
  ['nothing was counted, and the backend is unavailable', false, true, 'empty'],
  ['nothing has ever arrived', true, true, 'never-exported'],
] as const) {
  test(`when it closes and ${what}, its metrics are ${expected}`, async (t) => {
    const { close } = await closedWith(t, { counts, refuses: () => refused });
    assert.deepEqual(await close(), [expected]);
  });
}

for (const arrives of [false, true]) {
  test(`what is refused for good is not said to be exported, nor that there was nothing: ${arrives ? 'after' : 'without'} an export that arrived`, async (t) => {
    let isRefused = !arrives;
    const { close, reported } = await closedWith(t, {
      ...{ counts: true, refuses: () => isRefused, intervalMs: 50, code: status.INVALID_ARGUMENT },
    });
    const outcome = arrives ? 'success' : 'failure';
    const isThere = () =>
      reported.some((event) => event.kind === 'export-finished' && event.outcome === outcome);
    await t.waitFor(() => assert.ok(isThere()), { timeout: DEADLINE_MS });
    isRefused = true;
    assert.deepEqual(await close(), [arrives ? 'unsent' : 'never-exported']);
  });
}

test('a failure of the last export alone is reported', async (t) => {
  let isAway = false;
  const { close, reported } = await closedWith(t, { counts: true, refuses: () => isAway, intervalMs: 50 });
  await t.waitFor(() => assert.ok(reported.some(({ kind }) => kind === 'export-finished')), {
    timeout: DEADLINE_MS,
  });
  isAway = true;
  assert.deepEqual(await close(), ['unsent']);
});

test('a rejection of all points at the end is reported, and no success follows', async (t) => {
  let status = 503;
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ partialSuccess: { rejectedDataPoints: 1, errorMessage: 'quota' } }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const otlp = otlpSettings(`http://127.0.0.1:${address.port}/v1/metrics`, {
    exporter: { protocol: 'http/json' },
    schedule: { intervalMs: 50 },
  });
  const reported: SelfEvent[] = [];
  const destinations = createDestinations(
    { services: [shopService()], otlp, self: { enabled: false, attributes: {} } },
    { onEvent: (event) => reported.push(event), random: () => 0, yieldToLoop: createYieldToLoop() },
  );
  destinations.destinationOf(shopService()).meter.createCounter('celery.task.sent').add(1);
  destinations.start(() => []);
  const isReported = (outcome: string) =>
    reported.some((event) => event.kind === 'export-finished' && event.outcome === outcome);
  await t.waitFor(() => assert.ok(isReported('failure')), { timeout: DEADLINE_MS });
  status = 200;
  await t.waitFor(() => assert.ok(isReported('partial')), { timeout: DEADLINE_MS });
  const { services } = await destinations.close(DEADLINE_MS);
  assert.deepEqual(services, [{ name: 'shop', metrics: 'rejected' }]);
  assert.ok(reported.every(({ kind }) => kind !== 'exports-recovered'));
});

test('the first success after failures is logged once, with the number of failures and the endpoint', async (t) => {
  let isAway = true;
  const { reported, url } = await closedWith(t, { counts: true, refuses: () => isAway, intervalMs: 50 });
  const outcomes = () =>
    reported.flatMap((event) => (event.kind === 'export-finished' ? [event.outcome] : []));
  await t.waitFor(() => assert.ok(outcomes().length >= 3), { timeout: DEADLINE_MS });
  isAway = false;
  await t.waitFor(() => assert.ok(outcomes().filter((outcome) => outcome === 'success').length >= 3), {
    timeout: DEADLINE_MS,
  });
  const recovered = reported.filter(({ kind }) => kind === 'exports-recovered');
  assert.equal(recovered.length, 1);
  const [first] = recovered;
  assert.ok(first?.kind === 'exports-recovered');
  const failures = outcomes().filter((outcome) => outcome === 'failure').length;
  assert.deepEqual([first.service, first.backend, first.failures], ['shop', `${url} (grpc)`, failures]);
  const failed = reported.find(({ kind }) => kind === 'export-finished');
  assert.equal(failed?.kind === 'export-finished' ? failed.backend : '', `${url} (grpc)`);
});

test('an export that takes longer than the interval is logged with both, a shorter one is not', async (t) => {
  const sink = await startReceiver({ hold: () => delay(150) });
  t.after(() => sink.stop());
  const late: (readonly SelfEvent[])[] = [];
  for (const intervalMs of [50, 60_000]) {
    const reported: SelfEvent[] = [];
    const otlp = otlpSettings(sink.url, { schedule: { intervalMs } });
    const destinations = createDestinations(
      { services: [shopService()], otlp, self: { enabled: false, attributes: {} } },
      { onEvent: (event) => reported.push(event), random: () => 0, yieldToLoop: createYieldToLoop() },
    );
    destinations.destinationOf(shopService()).meter.createCounter('celery.task.sent').add(1);
    await destinations.close(DEADLINE_MS);
    late.push(reported.filter(({ kind }) => kind === 'export-late'));
  }
  const [[first, ...more] = [], none] = late;
  assert.ok(first?.kind === 'export-late');
  assert.deepEqual([first.service, first.intervalMs, more, none], ['shop', 50, [], []]);
  assert.ok(first.durationMs >= 150 && first.waitedMs > 0 && first.waitedMs <= first.durationMs);
});
