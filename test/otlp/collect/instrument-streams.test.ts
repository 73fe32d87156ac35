import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ValueType } from '@opentelemetry/api';
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics';
import type { Overflow } from '../../../src/otlp/collect/collected-metric.ts';
import type { View } from '../../../src/otlp/collect/view.ts';
import { collectingStreams } from './collecting-streams.ts';
import { observed } from './observed.ts';
import { pointsOf } from './reading.ts';

const SECONDS = { unit: 's', advice: { explicitBucketBoundaries: [1, 2] } };

/** Scope and the totals of each of its metrics. */
const totals = (scopes: readonly ScopeMetrics[]) =>
  scopes.map(({ scope, metrics }) => [
    scope,
    metrics.map((metric) => pointsOf(metric).map(({ total }) => total)),
  ]);

const seriesOf = (scopes: readonly ScopeMetrics[]) =>
  scopes.map(({ metrics }) =>
    metrics.flatMap((metric) => pointsOf(metric).map(({ attributes }) => attributes)),
  );

test('equal instruments of two scopes are separate, those of one scope share a stream', async () => {
  const { meter, read } = collectingStreams();
  meter('a', '1').createHistogram('h', SECONDS).record(1);
  meter('a', '1').createHistogram('H', SECONDS).record(2);
  meter('a', '2').createHistogram('h', SECONDS).record(4);
  meter('b', '1').createHistogram('h', SECONDS).record(8);
  meter('a', '1', 'https://example.com/1').createHistogram('h', SECONDS).record(16);
  assert.deepEqual(totals(await read()), [
    [{ name: 'a', version: '1' }, [[3]]],
    [{ name: 'a', version: '2' }, [[4]]],
    [{ name: 'b', version: '1' }, [[8]]],
    [{ name: 'a', version: '1', schemaUrl: 'https://example.com/1' }, [[16]]],
  ]);
});

test('a missing scope version equals an empty one', async () => {
  const { meter, read } = collectingStreams();
  meter('a').createCounter('c').add(1);
  meter('a', '').createCounter('c').add(2);
  meter('a', '', '').createCounter('c').add(4);
  assert.deepEqual(totals(await read()), [[{ name: 'a' }, [[7]]]]);
});

test('the same name with another kind, unit or value type is another instrument', async () => {
  const { meter, read } = collectingStreams();
  meter('a').createCounter('Of anything').add(1);
  meter('a').createCounter('of anything').add(2);
  meter('a').createCounter('of anything', { valueType: ValueType.INT }).add(4);
  meter('a').createCounter('of anything', { unit: 's' }).add(8);
  meter('a').createHistogram('of anything').record(16);
  observed(meter('a'), 'of anything', (observe) => observe(32));
  observed(meter('a'), 'Of Anything', (observe) => observe(64));
  assert.deepEqual(totals(await read()), [[{ name: 'a' }, [[3], [4], [8], [16], [64]]]]);
});

test('a histogram that is created again keeps its buckets', async () => {
  const { meter, read } = collectingStreams();
  meter('a').createHistogram('h', SECONDS).record(1);
  meter('a').createHistogram('h', { unit: 's' }).record(2);
  assert.deepEqual(totals(await read()), [[{ name: 'a' }, [[3]]]]);
});

test('a scope without points is omitted', async () => {
  const { meter, read } = collectingStreams();
  meter('quiet').createCounter('c');
  meter('loud').createCounter('c').add(1);
  assert.deepEqual(totals(await read()), [[{ name: 'loud' }, [[1]]]]);
});

test('after a collection each overflowing stream is reported, and whether that is new', async () => {
  const renamed: View = { selector: { instrumentName: 'c' }, stream: { name: 'd', cardinalityLimit: 2 } };
  const reported: Overflow[] = [];
  const { meter, read } = collectingStreams({
    settings: { limits: { counter: 3, histogram: 4, gauge: 5 }, views: [renamed] },
    onOverflow: (overflow) => reported.push(overflow),
  });
  const a = meter('a');
  const workers = Array.from({ length: 4 }, (_, worker) => ({ worker }));
  let gauges = 9;
  observed(a, 'g', (observe) => {
    for (let worker = 0; worker < gauges; worker += 1) observe(1, { worker });
  });
  for (const of of workers) a.createCounter('c').add(1, of);
  for (const of of workers.slice(1)) a.createHistogram('h', SECONDS).record(1, of);
  await read();
  const ofGauge = { metric: 'g', limit: 5 };
  assert.deepEqual(reported.splice(0), [
    { metric: 'd', limit: 2, isFirst: true },
    { ...ofGauge, isFirst: true },
  ]);
  await read();
  assert.deepEqual(reported.splice(0), [{ ...ofGauge, isFirst: false }], 'nothing was counted meanwhile');
  gauges = 4;
  await read();
  assert.deepEqual(reported, []);
});

test('retiring ends the series of one attribute value in all instruments of all scopes', async () => {
  const { meter, read, retire, tally } = collectingStreams();
  const workers = ['w1', 'w2', 'w3'].map((worker) => ({ worker }));
  const measure = () => {
    for (const attributes of workers) {
      meter('a').createCounter('c').add(1, attributes);
      meter('b').createHistogram('h', SECONDS).record(1, attributes);
    }
    meter('a').createCounter('c').add(1, { queue: 'w1' });
  };
  measure();
  retire('worker', new Set(['w1']));
  retire('worker', new Set(['w2', 'w4']));
  retire('queue', new Set(['w3']));
  assert.deepEqual(
    seriesOf(await read()),
    [[...workers, { queue: 'w1' }], workers],
    'once more, for their news',
  );
  assert.deepEqual(seriesOf(await read()), [[{ worker: 'w3' }, { queue: 'w1' }], [{ worker: 'w3' }]]);
  assert.equal(tally().retired, 4);
  measure();
  assert.deepEqual(seriesOf(await read()).at(-1), [{ worker: 'w3' }, { worker: 'w1' }, { worker: 'w2' }]);
  assert.equal(seriesOf(await read()).at(-1)?.length, 3, 'what came back stays');
});

test('only a text is such a value, and only what the attributes have themselves', async () => {
  const { meter, read, retire } = collectingStreams();
  meter('a').createCounter('c').add(1, { flag: true });
  retire('flag', new Set(['true']));
  retire('constructor', new Set(['w1']));
  await read();
  assert.equal((await read()).length, 1);
});

test('measurements of a retired worker before the collection end too', async () => {
  const { meter, read, retire, tally } = collectingStreams();
  const counter = meter('a').createCounter('c');
  const remove = observed(meter('a'), 'gauge', () => {
    retire('worker', new Set(['w1']));
    counter.add(1, { worker: 'w1' });
    remove();
  });
  assert.deepEqual(totals(await read()), [[{ name: 'a' }, [[1]]]]);
  assert.equal(tally().retired, 1);
  assert.deepEqual(await read(), []);
});

test('a failing callback is reported, and the rest is collected without it', async () => {
  const { meter, read, failures } = collectingStreams();
  const error = new Error('no gauges today');
  observed(meter('a'), 'g', (observe) => {
    observe(1);
    throw error;
  });
  observed(meter('b'), 'g', (observe) => observe(2));
  meter('b').createCounter('c').add(4);
  assert.deepEqual(totals(await read()), [
    [{ name: 'a' }, [[1]]],
    [{ name: 'b' }, [[4], [2]]],
  ]);
  assert.deepEqual(failures, [error]);
});
