/**
 * What the plain SDK does with attached metrics, and how the views and the exporter of the example help. If one of
 * these fails after an upgrade of the SDK, a row of the table in docs/embedding.md, and its remedy, can go.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Meter, ValueType } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import {
  AggregationTemporality,
  createDenyListAttributesProcessor,
  type InstrumentType,
  MeterProvider,
  PeriodicExportingMetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { CurrentGaugesExporter, VIEWS } from '../../examples/attach/telemetry.ts';
import { createBridge } from '../../src/bridge/bridge.ts';
import type { BridgeService } from '../../src/bridge/bridge-options.ts';
import { type PlainSdk, plainSdk, sumOf, valuesOf } from '../plain-sdk.ts';
import { recordedService, run } from '../service/recorded-service.ts';

const WORKER = 'celery.worker.name';

const meterOf = ({ provider }: PlainSdk): Meter => provider.getMeter('celery-otel');

const delta = (): AggregationTemporality => AggregationTemporality.DELTA;

/** Temporality as in the exporter of the example. */
function currentGauges(t: TestContext): (instrument: InstrumentType) => AggregationTemporality {
  const exporter = new CurrentGaugesExporter({ temporalityPreference: 1 });
  t.after(() => exporter.shutdown());
  return (instrument) => exporter.selectAggregationTemporality(instrument);
}

/** A gauge of the current workers. */
function workersUp(plain: PlainSdk): (workers: readonly string[]) => void {
  let there: readonly string[] = [];
  const gauge = meterOf(plain).createObservableGauge('celery.worker.up', { valueType: ValueType.INT });
  gauge.addCallback((result) => {
    for (const [index, worker] of there.entries()) result.observe(index + 1, { [WORKER]: worker });
  });
  return (workers) => {
    there = workers;
  };
}

/** Replays the services to their end and stops. */
async function play(services: readonly BridgeService[], { provider }: PlainSdk): Promise<void> {
  const bridge = createBridge({
    services: services.map((service) => ({ ...service, meterProvider: provider })),
    self: { enabled: false, attributes: {} },
  });
  bridge.start();
  await bridge.finished;
  await bridge.stop(5000);
}

/** The number of points of a counter after some intervals, each with two tasks on new workers. */
async function pointsAfter(intervals: number, plain: PlainSdk): Promise<readonly string[]> {
  const counter = meterOf(plain).createCounter('celery.task.succeeded');
  let points: readonly string[] = [];
  for (let interval = 0; interval < intervals; interval += 1) {
    for (const worker of ['a', 'b']) counter.add(1, { [WORKER]: `${worker}${interval}` });
    points = valuesOf(await plain.collect(), 'celery.task.succeeded', WORKER);
  }
  return points;
}

test('a counter reaches its series limit when workers change, but not without the worker attribute', async () => {
  const limited = await pointsAfter(10, plainSdk({ limit: 3 }));
  assert.equal(limited.length, 20);
  assert.ok(!limited.includes('-'), 'not even an overflow tells of it');
  assert.deepEqual(await pointsAfter(10, plainSdk({ views: VIEWS })), ['-']);
  assert.equal(
    (await pointsAfter(10, plainSdk({ limit: 3, temporality: delta }))).length,
    2,
    'nor under delta',
  );
});

test('the series of a forgotten worker never end, except without the worker attribute or with delta temporality', async (t) => {
  const heartbeat = { afterMs: 640_000, type: 'worker-heartbeat', fields: { hostname: 'alive@shop' } };
  const events = [...run('shop.pay', 'gone@shop'), ...run('shop.pay', 'alive@shop', 601_000), heartbeat];
  const twice = async (plain: PlainSdk) => {
    await play([recordedService(t, 'shop', events)], plain);
    await plain.collect();
    return plain.collect();
  };
  const cumulative = await twice(plainSdk());
  assert.deepEqual(valuesOf(cumulative, 'celery.task.succeeded', WORKER), ['alive@shop', 'gone@shop']);
  const viewed = await twice(plainSdk({ views: VIEWS }));
  assert.deepEqual(valuesOf(viewed, 'celery.task.succeeded', WORKER), ['-']);
  assert.equal(sumOf(viewed, 'celery.task.succeeded'), 2);
  assert.deepEqual(await twice(plainSdk({ temporality: delta })), []);
});

test('the gauge of a worker that is gone is exported forever, except with delta temporality for gauges', async (t) => {
  const goneAfter = async (plain: PlainSdk) => {
    const set = workersUp(plain);
    set(['stays', 'goes']);
    await plain.collect();
    set(['stays']);
    await plain.collect();
    return valuesOf(await plain.collect(), 'celery.worker.up', WORKER);
  };
  assert.deepEqual(await goneAfter(plainSdk()), ['goes', 'stays']);
  assert.deepEqual(await goneAfter(plainSdk({ temporality: currentGauges(t) })), ['stays']);
});

test('the bridge’s last gauges are exported after it stopped, except with delta temporality for gauges', async (t) => {
  const upAfter = async (plain: PlainSdk) => {
    const service = recordedService(t, 'shop', run('shop.pay', 'w1@shop'));
    const bridge = createBridge({
      services: [{ ...service, meterProvider: plain.provider }],
      self: { enabled: false, attributes: {} },
    });
    bridge.start();
    await bridge.finished;
    await plain.collect();
    await bridge.stop(5000);
    return sumOf(await plain.collect(), 'celery.worker.up');
  };
  assert.equal(await upAfter(plainSdk()), 1);
  assert.equal(await upAfter(plainSdk({ temporality: currentGauges(t) })), 0);
});

test('a gauge never frees a series, so its limit must cover all workers ever seen', async (t) => {
  const newcomer = async (plain: PlainSdk) => {
    const set = workersUp(plain);
    set(Array.from({ length: 1999 }, (_, index) => `gone ${index}`));
    await plain.collect();
    set(['new', 'newer']);
    return (await plain.collect()).map(({ attributes, value }) => [{ ...attributes }, value]);
  };
  const temporality = currentGauges(t);
  assert.deepEqual(await newcomer(plainSdk({ temporality })), [[{ 'otel.metric.overflow': true }, 2]]);
  assert.deepEqual(await newcomer(plainSdk({ temporality, views: VIEWS })), [
    [{ [WORKER]: 'new' }, 1],
    [{ [WORKER]: 'newer' }, 2],
  ]);
});

test('a view without a limit has the default one, not that of the reader', async () => {
  const gauges = async (plain: PlainSdk) => {
    workersUp(plain)(['one', 'two', 'three', 'four']);
    return (await plain.collect()).length;
  };
  assert.equal(await gauges(plainSdk({ limit: 3 })), 3);
  assert.equal(await gauges(plainSdk({ limit: 3, views: [{ instrumentName: 'celery.*' }] })), 4);
});

test('a gauge without the worker attribute has the value of the last worker', async () => {
  const processor = createDenyListAttributesProcessor([WORKER]);
  const plain = plainSdk({
    views: [{ instrumentName: 'celery.worker.*', attributesProcessors: [processor] }],
  });
  workersUp(plain)(['one', 'two', 'three']);
  assert.deepEqual(
    (await plain.collect()).map(({ value }) => value),
    [3],
  );
});

test('counts during an outage of the backend are lost with delta temporality, and kept with cumulative', async () => {
  const arrived = async (temporality: AggregationTemporality) => {
    const exporter = new InterruptedExporter(temporality);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    const provider = new MeterProvider({ readers: [reader] });
    const counter = provider.getMeter('celery-otel').createCounter('celery.task.succeeded');
    counter.add(10);
    await provider.forceFlush();
    exporter.isAway = false;
    counter.add(1);
    await provider.shutdown();
    return exporter.values;
  };
  assert.deepEqual(await arrived(AggregationTemporality.DELTA), [1]);
  assert.deepEqual(await arrived(AggregationTemporality.CUMULATIVE), [11]);
});

/** What arrives at a backend after an outage at the start. */
class InterruptedExporter {
  isAway = true;
  readonly values: unknown[] = [];
  readonly #temporality: AggregationTemporality;

  constructor(temporality: AggregationTemporality) {
    this.#temporality = temporality;
  }

  export({ scopeMetrics }: ResourceMetrics, done: (result: ExportResult) => void): void {
    if (!this.isAway) {
      const metrics = scopeMetrics.flatMap((scope) => scope.metrics);
      for (const { dataPoints } of metrics) this.values.push(...dataPoints.map(({ value }) => value));
    }
    done({ code: this.isAway ? ExportResultCode.FAILED : ExportResultCode.SUCCESS });
  }

  selectAggregationTemporality(): AggregationTemporality {
    return this.#temporality;
  }

  async forceFlush(): Promise<void> {}
  async shutdown(): Promise<void> {}
}
