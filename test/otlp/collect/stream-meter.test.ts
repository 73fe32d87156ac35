import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Meter } from '@opentelemetry/api';
import type { View } from '../../../src/otlp/collect/view.ts';
import { type CollectingOptions, collectingStreams } from './collecting-streams.ts';
import { observed } from './observed.ts';
import { pointsOf } from './reading.ts';

/** A meter, and what is collected of it. */
function meterOf(options: CollectingOptions = {}) {
  const streams = collectingStreams(options);
  const collect = async () => (await streams.read()).flatMap(({ metrics }) => metrics);
  return { meter: streams.meter('shop'), collect };
}

test('every other instrument takes measurements and exports none', async () => {
  const { meter, collect } = meterOf();
  meter.createGauge('gauge').record(1);
  meter.createObservableCounter('observable counter').addCallback((result) => result.observe(1));
  meter.createObservableUpDownCounter('observable up-down').addCallback((result) => result.observe(1));
  assert.deepEqual(await collect(), []);
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
  observed(meter, 'g', (observe) => {
    for (const worker of ['w1', 'w2']) observe(1, { worker });
  });
}

test('an instrument selected by two views is two streams, each with all measurements', async () => {
  const { meter, collect } = meterOf({
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
    (await collect()).map((metric) => [
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

test('a bound series is measured in each stream of its instrument, or in none', async () => {
  for (const [views, expected] of [
    [[], [[1], [2]]],
    [
      [view({}), view({ description: 'Again.' })],
      [[1], [1], [2], [2]],
    ],
    [[view({ aggregation: { kind: 'drop' } })], []],
  ] as const) {
    const { meter, collect } = meterOf({ settings: { views } });
    meter.createCounter('c').bind({ worker: 'w1' }).add(1);
    meter.createHistogram('h').bind({ worker: 'w1' }).record(2);
    assert.deepEqual(
      (await collect()).map((metric) => pointsOf(metric).map(({ total }) => total)),
      expected,
    );
  }
});

test('a gauge is combined as its instrument says, whatever name a view gives it', async () => {
  const asked: string[] = [];
  const { meter, collect } = meterOf({
    combination(instrument) {
      asked.push(instrument);
      return instrument === 'g' ? 'max' : 'sum';
    },
    settings: { views: [view({ name: 'renamed', attributeKeys: { included: [] } })] },
  });
  observed(meter, 'g', (observe) => {
    for (const [worker, value] of [1, 3, 2].entries()) observe(value, { worker });
  });
  const [metric] = await collect();
  assert.equal(metric?.descriptor.name, 'renamed');
  assert.deepEqual(
    pointsOf(metric).map(({ total }) => total),
    [3],
  );
  assert.deepEqual(asked, ['g']);
});
