import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ValueType } from '@opentelemetry/api';
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  InstrumentType,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { type ExportOutcome, observeExporter } from '../../src/otlp/observed-exporter.ts';
import { createStreamProducer } from '../../src/otlp/stream-producer.ts';
import { histogramPoints, ManualReader, sumPoints } from './reading.ts';

const selectTemporality = () => AggregationTemporality.CUMULATIVE;
const SECONDS = { unit: 's', advice: { explicitBucketBoundaries: [1, 2] } };

function producing(t: TestContext) {
  const producer = createStreamProducer({ selectTemporality });
  const reader = new ManualReader({ selectTemporality, producers: [producer] });
  const provider = new MeterProvider({ readers: [reader] });
  t.after(() => provider.shutdown());
  return {
    meter: (name: string, version = '1') =>
      producer.meter(provider.getMeter(name, version), { name, version }),
    producer,
    read: () => reader.read(),
  };
}

test('histograms of two meters are told apart, those of one scope are one stream', async (t) => {
  const { meter, producer } = producing(t);
  meter('a').createHistogram('h', SECONDS).record(1);
  meter('a').createHistogram('H', SECONDS).record(2);
  meter('a', '2').createHistogram('h', SECONDS).record(4);
  meter('b').createHistogram('h', SECONDS).record(8);
  const { resourceMetrics } = await producer.collect();
  assert.deepEqual(
    resourceMetrics.scopeMetrics.map(({ scope, metrics }) => [
      scope,
      metrics.map((metric) => histogramPoints(metric).map(({ value }) => value.sum)),
    ]),
    [
      [{ name: 'a', version: '1' }, [[3]]],
      [{ name: 'a', version: '2' }, [[4]]],
      [{ name: 'b', version: '1' }, [[8]]],
    ],
  );
});

test('a histogram of the same name in another unit is another one', async (t) => {
  const { meter, producer } = producing(t);
  meter('a').createHistogram('h', SECONDS).record(1);
  meter('a')
    .createHistogram('h', { ...SECONDS, unit: 'ms' })
    .record(1000);
  const { resourceMetrics } = await producer.collect();
  assert.deepEqual(
    resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics.map(({ descriptor }) => descriptor)),
    [
      { name: 'h', description: '', unit: 's', valueType: ValueType.DOUBLE },
      { name: 'h', description: '', unit: 'ms', valueType: ValueType.DOUBLE },
    ],
  );
});

test('without being told otherwise an instrument has 2000 points at most', async (t) => {
  const { meter, producer } = producing(t);
  const histogram = meter('a').createHistogram('h', SECONDS);
  const counter = meter('a').createCounter('c');
  for (let interval = 0; interval < 3; interval += 1) {
    for (let index = 0; index < 1500; index += 1) {
      histogram.record(1, { task: `${interval} ${index}` });
      counter.add(1, { task: `${interval} ${index}` });
    }
    await producer.collect();
  }
  const [scope] = (await producer.collect()).resourceMetrics.scopeMetrics;
  const [measured, counted] = [histogramPoints(scope?.metrics[0]), sumPoints(scope?.metrics[1])];
  for (const points of [measured, counted]) {
    assert.equal(points.length, 2000);
    assert.deepEqual(points.at(-1)?.attributes, { 'otel.metric.overflow': true });
  }
  assert.equal(measured.at(-1)?.value.count, 4500 - 1999);
  assert.equal(counted.at(-1)?.value, 4500 - 1999);
});

test('counters of one scope are one stream, those of another type of value and histograms are others', async (t) => {
  const { meter, producer } = producing(t);
  meter('a').createCounter('Of anything').add(1);
  meter('a').createCounter('of anything').add(2);
  meter('a').createCounter('of anything', { valueType: ValueType.INT }).add(4);
  meter('a').createHistogram('of anything', { advice: SECONDS.advice }).record(8);
  const [scope] = (await producer.collect()).resourceMetrics.scopeMetrics;
  assert.deepEqual(
    scope?.metrics.map((metric) =>
      metric.dataPointType === DataPointType.SUM
        ? sumPoints(metric).map(({ value }) => value)
        : histogramPoints(metric).map(({ value }) => value.sum),
    ),
    [[3], [4], [8]],
  );
});

test('a histogram that gives no buckets is the one of that name which has some', async (t) => {
  const { meter, producer, read } = producing(t);
  const { unit } = SECONDS;
  meter('a').createHistogram('h', SECONDS).record(1);
  meter('a').createHistogram('h', { unit }).record(2);
  assert.equal((await read()).length, 1);
  const [scope] = (await producer.collect()).resourceMetrics.scopeMetrics;
  assert.equal(histogramPoints(scope?.metrics[0])[0]?.value.sum, 3);
});

test('each kind of instrument has its own temporality', async (t) => {
  const producer = createStreamProducer({
    selectTemporality: (kind) =>
      kind === InstrumentType.COUNTER ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE,
  });
  const provider = new MeterProvider();
  t.after(() => provider.shutdown());
  const shop = producer.meter(provider.getMeter('shop'), { name: 'shop' });
  shop.createCounter('c').add(1);
  shop.createHistogram('h', SECONDS).record(1);
  const names = async () =>
    (await producer.collect()).resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
      metrics.map(({ descriptor }) => descriptor.name),
    );
  assert.deepEqual(await names(), ['c', 'h']);
  assert.deepEqual(await names(), ['h']);
});

test('retiring ends the series of all instruments of all scopes, and of no other key or value', async (t) => {
  const { meter, producer } = producing(t);
  const workers = ['w1', 'w2', 'w3'].map((worker) => ({ worker }));
  const measure = () => {
    for (const attributes of workers) {
      meter('a').createCounter('c').add(1, attributes);
      meter('b').createHistogram('h', SECONDS).record(1, attributes);
    }
    meter('a').createCounter('c').add(1, { queue: 'w1' });
  };
  const found = async () => {
    const { scopeMetrics } = (await producer.collect()).resourceMetrics;
    producer.exported();
    return scopeMetrics.map(({ metrics }) =>
      metrics.flatMap(({ dataPoints }) => dataPoints.map(({ attributes }) => attributes)),
    );
  };
  measure();
  producer.retire('worker', new Set(['w1']));
  producer.retire('worker', new Set(['w2', 'w4']));
  producer.retire('queue', new Set(['w3']));
  assert.deepEqual(await found(), [[...workers, { queue: 'w1' }], workers], 'once more, for their news');
  assert.deepEqual(await found(), [[{ worker: 'w3' }, { queue: 'w1' }], [{ worker: 'w3' }]]);
  measure();
  assert.deepEqual((await found()).at(-1), [{ worker: 'w3' }, { worker: 'w1' }, { worker: 'w2' }]);
  assert.equal((await found()).at(-1)?.length, 3, 'what came back stays');
});

test('what is first heard of a worker after it was retired, but before the collection, ends too', async (t) => {
  const { meter, read, producer } = producing(t);
  const counter = meter('a').createCounter('c');
  const gauge = meter('a').createObservableGauge('gauge');
  const surveyOnce = (): void => {
    producer.retire('worker', new Set(['w1']));
    counter.add(1, { worker: 'w1' });
    gauge.removeCallback(surveyOnce);
  };
  gauge.addCallback(surveyOnce);
  assert.deepEqual(
    (await read()).flatMap(({ metrics }) => sumPoints(metrics[0]).map(({ value }) => value)),
    [1],
  );
  producer.exported();
  assert.deepEqual(await read(), []);
});

test('every other instrument is the SDK’s', async (t) => {
  const { meter, producer, read } = producing(t);
  const shop = meter('shop');
  shop.createUpDownCounter('up-down').add(-1);
  shop.createGauge('gauge').record(1);
  shop.createHistogram('default buckets').record(1);
  const observables = [
    shop.createObservableCounter('observable counter'),
    shop.createObservableUpDownCounter('observable up-down'),
    shop.createObservableGauge('observable gauge'),
  ];
  let calls = 0;
  const callback: Parameters<typeof shop.addBatchObservableCallback>[0] = (result) => {
    calls += 1;
    for (const observable of observables) result.observe(observable, 1);
  };
  shop.addBatchObservableCallback(callback, observables);
  const names = (await read()).flatMap(({ metrics }) => metrics.map(({ descriptor }) => descriptor.name));
  assert.deepEqual(names, [
    'up-down',
    'gauge',
    'default buckets',
    'observable counter',
    'observable up-down',
    'observable gauge',
  ]);
  shop.removeBatchObservableCallback(callback, observables);
  await read();
  assert.equal(calls, 1);
  assert.deepEqual((await producer.collect()).resourceMetrics.scopeMetrics, []);
});

test('what a callback measures at a collection is part of it', async (t) => {
  const { meter, read } = producing(t);
  const shop = meter('shop');
  const histogram = shop.createHistogram('h', SECONDS);
  const counter = shop.createCounter('c');
  shop.createObservableGauge('gauge').addCallback(() => {
    histogram.record(1);
    counter.add(1);
  });
  const [scope] = await read();
  assert.equal(histogramPoints(scope?.metrics[0])[0]?.value.count, 1);
  assert.equal(sumPoints(scope?.metrics[1])[0]?.value, 1);
});

test('an export has each scope once, and the last one has what was recorded just before', async (t) => {
  const exporter = new InMemoryMetricExporter(selectTemporality());
  const outcomes: ExportOutcome[] = [];
  const producer = createStreamProducer({ selectTemporality });
  const reader = new PeriodicExportingMetricReader({
    exporter: observeExporter(exporter, 'cumulative', (outcome) => outcomes.push(outcome)),
    metricProducers: [producer],
  });
  const provider = new MeterProvider({ readers: [reader] });
  t.after(() => provider.shutdown());
  const shop = producer.meter(provider.getMeter('shop', '1'), { name: 'shop', version: '1' });
  shop.createHistogram('h', SECONDS).record(1);
  shop.createUpDownCounter('up-down').add(1);
  await provider.forceFlush();
  assert.deepEqual(
    exporter
      .getMetrics()
      .flatMap(({ scopeMetrics }) =>
        scopeMetrics.map(({ scope, metrics }) => [
          scope.name,
          scope.version,
          ...metrics.map(({ descriptor }) => descriptor.name),
        ]),
      ),
    [['shop', '1', 'up-down', 'h']],
  );
  assert.equal(outcomes.length, 1);
});
