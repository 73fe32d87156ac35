/** Instruments with bound series: counts are recorded at once, and nothing is handed over. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Attributes, Meter } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { type BindableCounter, type BindableHistogram, isBindable } from '../../src/meter/bindable.ts';
import type { InstrumentRow } from '../../src/meter/catalog.ts';
import { guardedProvider } from '../../src/meter/guarded-provider.ts';
import { createInstruments } from '../../src/meter/instruments.ts';
import { createProvider } from '../../src/otlp/provider.ts';
import { otlpSettings } from '../otlp/settings.ts';
import { collectingMeter } from './collecting.ts';

const FACTS = {
  stability: 'development',
  enabled: true,
  description: 'Something.',
  attributes: ['error.type'],
} as const;
const TABLE = {
  counted: { ...FACTS, instrument: 'counter', unit: '{thing}', valueType: 'int' },
  measured: { ...FACTS, instrument: 'histogram', unit: 's', valueType: 'double', buckets: [1, 2] },
} as const satisfies Record<string, InstrumentRow>;

/** An SDK meter whose instruments can be bound, and a log of their use. */
function bindableMeter(t: TestContext): {
  meter: Meter;
  done: readonly string[];
  collect: () => Promise<unknown>;
} {
  const { meter, collect } = collectingMeter(t);
  const done: string[] = [];
  const doing = (what: string) => (value: number) => done.push(`${what} ${value}`);
  const typeOf = (attributes: Attributes) => String(attributes['error.type']);
  const counter: BindableCounter = {
    add: doing('unbound'),
    bind(attributes) {
      done.push(`bound ${typeOf(attributes)}`);
      return { add: doing(typeOf(attributes)) };
    },
  };
  const histogram: BindableHistogram = {
    record: doing('unbound'),
    bind: (attributes) => ({ record: doing(`${typeOf(attributes)} took`) }),
  };
  t.mock.method(meter, 'createCounter', () => counter);
  t.mock.method(meter, 'createHistogram', () => histogram);
  return { meter, done, collect };
}

test('a bound series takes additions at once, and a collection hands nothing over', async (t) => {
  const { meter, done, collect } = bindableMeter(t);
  const instruments = createInstruments({ meter, table: TABLE, isOn: () => true, onCollect: () => {} });
  const series = instruments.counterSeries('counted', ['A']);
  series.add(1);
  series.add(0);
  instruments.histogramSeries('measured', ['B']).record(1.5);
  instruments.add('counted', ['A'], 2);
  const expected = ['bound A', 'A 1', 'A 0', 'B took 1.5', 'unbound 2'];
  assert.deepEqual(done, expected);
  await collect();
  instruments.close();
  assert.deepEqual(done, expected);
});

test('an attached provider only needs the API', (t) => {
  const { meter } = bindableMeter(t);
  assert.ok(isBindable(meter.createCounter('counted')));
  const guarded = guardedProvider({ getMeter: () => meter }, assert.ifError).getMeter('test');
  assert.ok(!isBindable(guarded.createCounter('counted')));
});

for (const [temporality, since, startS] of [
  ['cumulative', 'its first count', 1_700_000_005],
  // Its first interval has no gap before it.
  ['delta', 'the collection before', 1_700_000_000],
] as const) {
  test(`in our provider a series begins with ${since}, and so before its first point (${temporality})`, async () => {
    let nowMs = 1_700_000_000_000;
    const provider = createProvider({
      name: 'shop',
      resource: resourceFromAttributes({}),
      settings: otlpSettings('', { streams: { temporality } }).streams,
      onFailure: assert.ifError,
      nowMs: () => nowMs,
    });
    const meter = provider.getMeter('celery-otel');
    const { add, histogramSeries } = createInstruments({
      meter,
      table: TABLE,
      isOn: () => true,
      onCollect: () => {},
    });
    nowMs += 5000;
    add('counted', ['A']);
    histogramSeries('measured', ['A']).record(1.5);
    nowMs += 55_000;
    const metrics = (await provider.collect()).flatMap((request) =>
      request.data().scopeMetrics.flatMap((scope) => scope.metrics),
    );
    assert.deepEqual(
      metrics.map(({ descriptor, dataPoints: [point] }) => [
        descriptor.name,
        point?.startTime,
        point?.endTime,
      ]),
      ['counted', 'measured'].map((name) => [name, [startS, 0], [1_700_000_060, 0]]),
    );
  });
}

test('counts of a worker after it was retired are exported, and then end', async () => {
  const provider = createProvider({
    name: 'shop',
    resource: resourceFromAttributes({}),
    settings: otlpSettings('').streams,
    onFailure: assert.ifError,
  });
  const { add, close } = createInstruments({
    meter: provider.getMeter('celery-otel'),
    table: TABLE,
    isOn: () => true,
    onCollect: () => {
      provider.retire('error.type', new Set(['A']));
      add('counted', ['A']);
    },
  });
  const points = async () => {
    const requests = await provider.collect();
    for (const request of requests) request.acknowledge();
    return requests.reduce((sum, request) => sum + request.items, 0);
  };
  assert.equal(await points(), 1);
  close();
  assert.equal(await points(), 0);
  assert.equal(provider.tally().retired, 1);
});
