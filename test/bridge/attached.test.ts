/** Services attached to a MeterProvider of the application: what is recorded there, and when. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { AggregationTemporality, InstrumentType } from '@opentelemetry/sdk-metrics';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { type Bridge, createBridge } from '../../src/bridge/bridge.ts';
import type { BridgeOptions, BridgeService } from '../../src/bridge/bridge-options.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { FAILURES, failingProvider } from '../failing-provider.ts';
import { otlpSettings } from '../otlp/settings.ts';
import { type PlainPoint, type PlainSdk, plainSdk, sumOf } from '../plain-sdk.ts';
import { recordedService, run, serviceAt } from '../service/recorded-service.ts';

const PAY = run('shop.pay', 'w1@shop');
const MAIL = run('mail.send', 'w1@mail');
const NO_SELF = { enabled: false, attributes: {} } as const;

/** The bridge is stopped after the test unless it was before. */
function bridgeOf(
  t: TestContext,
  options: BridgeOptions,
): { bridge: Bridge; reported: readonly SelfEvent[] } {
  const reported: SelfEvent[] = [];
  const bridge = createBridge({ ...options, report: (event) => reported.push(event) });
  t.after(() => bridge.stop(1000));
  return { bridge, reported };
}

/** Without otlp, so that the bridge cannot export. */
function attachedBridge(t: TestContext, service: BridgeService, { provider }: PlainSdk) {
  return bridgeOf(t, { services: [{ ...service, meterProvider: provider }], self: NO_SELF });
}

const metricsOf = (points: readonly (PlainPoint | Point)[]): ReadonlySet<string> =>
  new Set(points.map(({ metric }) => metric));

/** The gauges of workers that are gone are not exported. */
const currentGauges = (instrument: InstrumentType): AggregationTemporality =>
  instrument === InstrumentType.OBSERVABLE_GAUGE
    ? AggregationTemporality.DELTA
    : AggregationTemporality.CUMULATIVE;

test('each of two services, one attached and one not, is recorded in one place only', async (t) => {
  const received: Point[] = [];
  const sink = await startReceiver({ onExport: ({ points }) => received.push(...points) });
  t.after(() => sink.stop());
  const plain = plainSdk();
  const { bridge, reported } = bridgeOf(t, {
    services: [
      { ...recordedService(t, 'mail', MAIL), meterProvider: plain.provider },
      recordedService(t, 'shop', PAY),
    ],
    otlp: otlpSettings(sink.url),
    self: { enabled: true, attributes: {} },
  });
  bridge.start();
  assert.equal(await bridge.finished, 'finished');
  assert.deepEqual(await bridge.stop(5000), {
    flushed: true,
    services: [
      { name: 'mail', metrics: 'handed-over' },
      { name: 'shop', metrics: 'flushed' },
    ],
  });

  const attached = await plain.collect();
  for (const metric of ['celery.task.received', 'celery.task.succeeded', 'celery.task.runtime']) {
    assert.equal(sumOf(attached, metric, { 'celery.task.name': 'mail.send' }), 1, metric);
    assert.equal(sumOf(attached, metric), 1, `${metric} of the other service`);
    assert.equal(total(sink.latest('shop'), metric, { 'celery.task.name': 'shop.pay' }), 1, metric);
  }
  assert.ok(!metricsOf(attached).has('celery_otel.events'), 'the bridge’s own are not attached');
  assert.deepEqual(new Set(attached.map(({ scope }) => scope)), new Set(['celery-otel']));
  assert.deepEqual(
    new Set(received.map(({ resource }) => resource['service.name'])),
    new Set(['shop', 'celery-otel']),
  );
  assert.equal(total(received, 'celery.task.received', { 'celery.task.name': 'mail.send' }), 0);
  assert.equal(total(sink.latest('celery-otel'), 'celery_otel.events', { 'celery_otel.service': 'mail' }), 3);
  assert.deepEqual(
    reported.filter(({ kind }) => kind === 'defect'),
    [],
  );
});

test('with everything attached there is no OTLP export, and the bridge’s own metrics are attached too', async (t) => {
  const plain = plainSdk();
  const meterProvider = plain.provider;
  const { bridge, reported } = bridgeOf(t, {
    services: [{ ...recordedService(t, 'mail', MAIL), meterProvider }],
    self: { enabled: true, attributes: {}, meterProvider },
  });
  bridge.start();
  await bridge.finished;
  const own = await plain.collect();
  assert.equal(sumOf(own, 'celery_otel.events', { 'celery_otel.service': 'mail' }), 3);
  assert.equal(sumOf(own, 'celery_otel.up'), 1);
  await bridge.stop(5000);
  assert.equal(sumOf(await plain.collect(), 'celery.task.succeeded'), 1);
  assert.ok(!reported.some(({ kind }) => kind === 'export-finished'));
});

test('the bridge’s own metrics can be disabled', async (t) => {
  const plain = plainSdk();
  const { bridge } = attachedBridge(t, recordedService(t, 'mail', MAIL), plain);
  bridge.start();
  await bridge.finished;
  await bridge.stop(5000);
  const metrics = [...metricsOf(await plain.collect())];
  assert.ok(metrics.includes('celery.task.succeeded'));
  assert.deepEqual(
    metrics.filter((metric) => !metric.startsWith('celery.')),
    [],
  );
});

test('a service without a destination, or two services with one name, are refused', () => {
  const [mail, shop] = [serviceAt('mail', 'recording:none'), serviceAt('shop', 'recording:none')];
  const meterProvider = plainSdk().provider;
  const attached = { ...mail, meterProvider };
  const self = { enabled: true, attributes: {} };
  const otlp = otlpSettings('http://127.0.0.1:1');
  const invalid: readonly BridgeOptions[] = [
    { services: [attached, shop], self: { ...self, meterProvider } },
    { services: [attached], self },
    { services: [attached, { ...shop, name: 'mail' }], self: NO_SELF, otlp },
    { services: [attached, { ...shop, meterProvider }], self: NO_SELF, otlp },
    { services: [{ ...shop, name: 'celery-otel' }], self: NO_SELF, otlp },
  ];
  for (const options of invalid) assert.throws(() => createBridge(options), { code: 'CONFIG_INVALID' });
  for (const options of [
    { services: [attached], self: NO_SELF },
    { services: [attached], self: { ...self, meterProvider } },
    { services: [attached, shop], self, otlp },
  ]) {
    assert.deepEqual(createBridge(options).state(), []);
  }
});

test('a service is waiting, then listening, then stopped, and ready once it listens', async (t) => {
  const events = [...PAY, ...run('shop.pay', 'w1@shop', 3_600_000)];
  const { bridge } = attachedBridge(t, recordedService(t, 'shop', events, '1'), plainSdk());
  const phases = () => bridge.state().map(({ name, phase }) => `${name} ${phase}`);
  assert.deepEqual(phases(), []);
  bridge.start();
  assert.deepEqual(phases(), ['shop waiting']);
  const { kind, services } = await bridge.ready;
  assert.deepEqual([kind, ...services.map(({ phase }) => phase)], ['ready', 'listening']);
  assert.deepEqual(phases(), ['shop listening']);
  await bridge.stop(5000);
  assert.deepEqual(phases(), ['shop stopped']);
  assert.equal(await bridge.finished, 'stopped');
});

test('a replayed recording becomes ready, an unusable one does not, and neither delays the other', async (t) => {
  const { bridge } = bridgeOf(t, {
    services: [recordedService(t, 'shop', PAY), serviceAt('mail', 'recording:/nowhere/at/all')].map(
      (service) => ({ ...service, meterProvider: plainSdk().provider }),
    ),
    self: NO_SELF,
  });
  bridge.start();
  assert.equal(await bridge.finished, 'unusable');
  assert.equal((await bridge.ready).kind, 'stopped');
  assert.deepEqual(
    bridge.state().map(({ phase }) => phase),
    ['finished', 'unusable'],
  );
});

test('the wait for an unreachable broker lasts until the bridge stops, which also ends the wait for ready', async (t) => {
  const plain = plainSdk();
  const { bridge, reported } = attachedBridge(t, serviceAt('shop', 'amqp://127.0.0.1:1'), plain);
  bridge.start();
  let isReady = false;
  void bridge.ready.then(() => {
    isReady = true;
  });
  while (!reported.some(({ kind }) => kind === 'broker-session-ended')) await new Promise(setImmediate);
  assert.deepEqual([isReady, bridge.state()[0]?.phase], [false, 'waiting']);
  const report = await bridge.stop(5000);
  assert.deepEqual(report, { flushed: true, services: [{ name: 'shop', metrics: 'handed-over' }] });
  const { kind, services } = await bridge.ready;
  assert.deepEqual([kind, services[0]?.phase], ['stopped', 'stopped']);
});

test('the last counts are recorded when the bridge stops, and nothing after that', async (t) => {
  const plain = plainSdk({ temporality: currentGauges });
  const { bridge } = attachedBridge(t, recordedService(t, 'shop', PAY), plain);
  bridge.start();
  await bridge.finished;
  const before = await plain.collect();
  assert.equal(sumOf(before, 'celery.worker.up'), 1);
  // It is still in the reordering window, since no event follows it.
  assert.equal(sumOf(before, 'celery.task.succeeded'), 0);
  await bridge.stop(5000);

  const after = await plain.collect();
  assert.equal(sumOf(after, 'celery.task.succeeded'), 1);
  assert.ok(!metricsOf(after).has('celery.worker.up'), 'nobody is asked for gauges any more');
  assert.deepEqual(await plain.collect(), after);
});

test('the provider still works after the bridge has stopped, and its owner shuts it down', async (t) => {
  const plain = plainSdk();
  const { bridge } = attachedBridge(t, recordedService(t, 'shop', PAY), plain);
  const own = plain.provider.getMeter('application').createCounter('application.requests');
  own.add(1);
  bridge.start();
  await bridge.finished;
  await bridge.stop(5000);
  own.add(1);
  assert.equal(sumOf(await plain.collect(), 'application.requests'), 2);
  await plain.provider.shutdown();
  await assert.rejects(plain.collect(), /shutdown/u);
});

test('a provider that is shut down before the bridge loses only the unrecorded counts', async (t) => {
  const plain = plainSdk();
  const { bridge, reported } = attachedBridge(t, recordedService(t, 'shop', PAY), plain);
  bridge.start();
  await plain.provider.shutdown();
  assert.equal(await bridge.finished, 'finished');
  assert.equal((await bridge.stop(5000)).services[0]?.metrics, 'handed-over');
  assert.ok(!reported.some(({ kind }) => kind === 'defect'));
});

test('a failing callback of the application does not affect the bridge’s metrics', async (t) => {
  const plain = plainSdk();
  const gauge = plain.provider.getMeter('application').createObservableGauge('application.load');
  gauge.addCallback(() => {
    throw new Error('cannot say');
  });
  const { bridge } = attachedBridge(t, recordedService(t, 'shop', PAY), plain);
  bridge.start();
  await bridge.finished;
  assert.equal(sumOf(await plain.collect(), 'celery.worker.up'), 1);
  await bridge.stop(5000);
  assert.equal(sumOf(await plain.collect(), 'celery.task.succeeded'), 1);
});

for (const failure of FAILURES) {
  test(`a provider whose ${failure} throws does not affect another service, and is reported`, async (t) => {
    const [bad, good] = [plainSdk(), plainSdk()];
    const meterProvider = failingProvider(bad.provider, failure);
    const { bridge, reported } = bridgeOf(t, {
      services: [
        { ...recordedService(t, 'mail', MAIL), meterProvider },
        { ...recordedService(t, 'shop', PAY), meterProvider: good.provider },
      ],
      self: { enabled: true, attributes: {}, meterProvider },
    });
    bridge.start();
    assert.equal(await bridge.finished, 'finished');
    await Promise.all([bad.collect(), good.collect()]);
    const { services } = await bridge.stop(5000);
    assert.deepEqual(
      services.map(({ name }) => name),
      ['mail', 'shop'],
    );
    const points = await good.collect();
    for (const metric of ['celery.task.received', 'celery.task.succeeded', 'celery.worker.up']) {
      assert.equal(sumOf(points, metric), 1, metric);
    }
    const defects = reported.filter((event) => event.kind === 'defect');
    assert.ok(
      defects.some(({ service, reason }) => service === 'mail' && reason.includes(`no ${failure} today`)),
      JSON.stringify(defects),
    );
  });
}
