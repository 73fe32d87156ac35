import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BatchObservableCallback } from '@opentelemetry/api';
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

test('a callback is awaited once a collection, however often it is added, until it is removed during one', async () => {
  const { meter, collect } = meterOf();
  const gauge = meter.createObservableGauge('g');
  const stranger = meterOf().meter.createObservableGauge('g');
  let calls = 0;
  const callback: BatchObservableCallback = async (result) => {
    await nextTurn();
    calls += 1;
    for (const each of [gauge, stranger]) result.observe(each, calls);
    if (calls === 2) meter.removeBatchObservableCallback(callback, [gauge]);
  };
  for (let times = 0; times < 2; times += 1) meter.addBatchObservableCallback(callback, [gauge]);
  const values = async () => (await collect()).map((metric) => pointsOf(metric).map(({ total }) => total));
  assert.deepEqual([await values(), await values(), await values()], [[[1]], [[2]], []]);
});

const view = (stream: View['stream']): View => ({ selector: { instrumentName: '*' }, stream });

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
