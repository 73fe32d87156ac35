import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { BatchObservableCallback, Meter, Observable } from '@opentelemetry/api';
import { AggregationTemporality, DataPointType, MeterProvider } from '@opentelemetry/sdk-metrics';
import type { View } from '../../../src/otlp/collect/view.ts';
import { type CollectingOptions, collectingStreams } from './collecting-streams.ts';
import { ManualReader, pointsOf } from './reading.ts';

/** A meter, and what is collected of it: of ours, and of the SDK’s below it. */
function meterOf(t: TestContext, options: CollectingOptions = {}) {
  const reader = new ManualReader({ selectTemporality: () => AggregationTemporality.CUMULATIVE });
  const provider = new MeterProvider({ readers: [reader] });
  t.after(() => provider.shutdown());
  const streams = collectingStreams({ ...options, sdk: provider.getMeter('shop') });
  const namesOf = (scopes: Awaited<ReturnType<typeof reader.read>>) =>
    scopes.flatMap(({ metrics }) => metrics.map(({ descriptor }) => descriptor.name));
  return {
    meter: streams.meter('shop'),
    ours: async () => (await streams.read()).flatMap(({ metrics }) => metrics),
    ourNames: async () => namesOf(await streams.read()),
    sdkNames: async () => namesOf(await reader.read()),
  };
}

test('counters, up-down counters, histograms and observable gauges are ours, with their options', async (t) => {
  const { meter, ours, sdkNames } = meterOf(t);
  meter.createCounter('c', { unit: '{task}', description: 'Tasks.' }).add(2, { queue: 'q' });
  meter.createUpDownCounter('u').add(-2);
  meter.createHistogram('h', { unit: 's', advice: { explicitBucketBoundaries: [1, 2] } }).record(1.5);
  meter.createHistogram('default').record(6);
  meter.createObservableGauge('g', { description: 'A gauge.' }).addCallback((result) => result.observe(-3));
  const metrics = await ours();
  assert.deepEqual(
    metrics.map(({ descriptor: { name, unit, description }, dataPointType }) => [
      ...[name, unit, description, DataPointType[dataPointType]],
    ]),
    [
      ['c', '{task}', 'Tasks.', 'SUM'],
      ['u', '', '', 'SUM'],
      ['h', 's', '', 'HISTOGRAM'],
      ['default', '', '', 'HISTOGRAM'],
      ['g', '', 'A gauge.', 'GAUGE'],
    ],
  );
  assert.deepEqual(
    metrics.map((metric) => pointsOf(metric).map(({ attributes, total }) => [attributes, total])),
    [[[{ queue: 'q' }, 2]], [[{}, -2]], [[{}, 1.5]], [[{}, 6]], [[{}, -3]]],
  );
  assert.deepEqual(await sdkNames(), []);
});

test('all other instruments are the SDK’s', async (t) => {
  const { meter, ourNames, sdkNames } = meterOf(t);
  meter.createGauge('gauge').record(1);
  const observables = [
    meter.createObservableCounter('observable counter'),
    meter.createObservableUpDownCounter('observable up-down'),
  ];
  let calls = 0;
  const callback: BatchObservableCallback = (result) => {
    calls += 1;
    for (const observable of observables) result.observe(observable, 1);
  };
  meter.addBatchObservableCallback(callback, observables);
  assert.deepEqual(await ourNames(), []);
  assert.equal(calls, 0, 'we ask nobody on behalf of the SDK');
  assert.deepEqual(await sdkNames(), ['gauge', 'observable counter', 'observable up-down']);
  meter.removeBatchObservableCallback(callback, observables);
  await sdkNames();
  assert.equal(calls, 1);
});

test('a batch with both kinds of observables is called by each owner for its own, and removed from both', async (t) => {
  const { meter, ourNames, sdkNames } = meterOf(t);
  const observables: readonly Observable[] = [
    meter.createObservableCounter('theirs'),
    meter.createObservableGauge('ours'),
  ];
  const callback: BatchObservableCallback = (result) => {
    for (const observable of observables) result.observe(observable, 1);
  };
  meter.addBatchObservableCallback(callback, [...observables]);
  assert.deepEqual(await ourNames(), ['ours']);
  assert.deepEqual(await sdkNames(), ['theirs']);
  meter.removeBatchObservableCallback(callback, [...observables]);
  assert.deepEqual(await ourNames(), []);
});

test('measurements made by a callback are in the same collection', async (t) => {
  const { meter, ours } = meterOf(t);
  const histogram = meter.createHistogram('h');
  const counter = meter.createCounter('c');
  meter.createObservableGauge('gauge').addCallback(() => {
    histogram.record(1);
    counter.add(1);
  });
  assert.deepEqual(
    (await ours()).map((metric) => pointsOf(metric).map(({ total }) => total)),
    [[1], [1]],
  );
});

const view = (stream: View['stream']): View => ({ selector: { instrumentName: '*' }, stream });

/** Measures 1 with each kind of ours, of two workers. */
function measureAll(meter: Meter): void {
  const [counter, histogram] = [meter.createCounter('c'), meter.createHistogram('h')];
  const upDown = meter.createUpDownCounter('u');
  for (const worker of ['w1', 'w2']) {
    counter.add(1, { worker });
    upDown.add(1, { worker });
    histogram.record(1, { worker });
  }
  meter.createObservableGauge('g').addCallback((result) => {
    for (const worker of ['w1', 'w2']) result.observe(1, { worker });
  });
}

test('a dropped instrument measures nothing and has no points', async (t) => {
  const { meter, ourNames, sdkNames } = meterOf(t, {
    settings: { views: [view({ aggregation: { kind: 'drop' } })] },
  });
  measureAll(meter);
  assert.deepEqual(await ourNames(), []);
  assert.deepEqual(await sdkNames(), []);
});

test('an instrument selected by two views is two streams, each with all measurements', async (t) => {
  const { meter, ours } = meterOf(t, {
    combination: () => 'sum',
    settings: {
      views: [
        view({ description: 'As it is.' }),
        view({ description: 'Together.', attributeKeys: { excluded: ['worker'] } }),
      ],
    },
  });
  measureAll(meter);
  const parts = [
    [{ worker: 'w1' }, 1],
    [{ worker: 'w2' }, 1],
  ];
  assert.deepEqual(
    (await ours()).map((metric) => [
      metric.descriptor.name,
      metric.descriptor.description,
      pointsOf(metric).map(({ attributes, total }) => [attributes, total]),
    ]),
    ['c', 'h', 'u', 'g'].flatMap((name) => [
      [name, 'As it is.', parts],
      [name, 'Together.', [[{}, 2]]],
    ]),
  );
});

test('a bound series is measured in each stream of its instrument, or in none', async (t) => {
  for (const [views, expected] of [
    [[], [[1], [2]]],
    [
      [view({}), view({ description: 'Again.' })],
      [[1], [1], [2], [2]],
    ],
    [[view({ aggregation: { kind: 'drop' } })], []],
  ] as const) {
    const { meter, ours } = meterOf(t, { settings: { views } });
    meter.createCounter('c').bind({ worker: 'w1' }).add(1);
    meter.createHistogram('h').bind({ worker: 'w1' }).record(2);
    assert.deepEqual(
      (await ours()).map((metric) => pointsOf(metric).map(({ total }) => total)),
      expected,
    );
  }
});

test('a gauge is combined as its instrument says, whatever name a view gives it', async (t) => {
  const asked: string[] = [];
  const { meter, ours } = meterOf(t, {
    combination(instrument) {
      asked.push(instrument);
      return instrument === 'g' ? 'max' : 'last';
    },
    settings: { views: [view({ name: 'renamed', attributeKeys: { included: [] } })] },
  });
  meter.createObservableGauge('g').addCallback((result) => {
    for (const [worker, value] of [1, 3, 2].entries()) result.observe(value, { worker });
  });
  const [metric] = await ours();
  assert.equal(metric?.descriptor.name, 'renamed');
  assert.deepEqual(
    pointsOf(metric).map(({ total }) => total),
    [3],
  );
  assert.deepEqual(asked, ['g']);
});
