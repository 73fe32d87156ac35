import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Attributes, ValueType } from '@opentelemetry/api';
import { type InstrumentRow, METRICS, SELF_METRICS } from '../../src/meter/catalog.ts';
import { createInstruments } from '../../src/meter/instruments.ts';
import type { Pace } from '../../src/timing/cooperative.ts';
import { collectingMeter } from './collecting.ts';

const FACTS = { stability: 'development', enabled: true, description: 'Something.' } as const;
const TABLE = {
  counted: {
    ...FACTS,
    instrument: 'counter',
    unit: '{thing}',
    valueType: 'int',
    attributes: ['error.type'],
  },
  measured: {
    ...FACTS,
    instrument: 'histogram',
    unit: 's',
    valueType: 'double',
    attributes: ['error.type'],
    optionalAttributes: ['celery.task.requeue'],
    buckets: [1, 2],
  },
  seen: { ...FACTS, instrument: 'gauge', unit: 's', valueType: 'double', attributes: ['error.type'] },
} as const satisfies Record<string, InstrumentRow>;

/** Instruments of the table above, which say one thing of each when `feed` is called and at each collection. */
function instrumentsOf(t: TestContext, isOn: (name: string) => boolean) {
  const { meter, collect } = collectingMeter(t);
  const made: string[] = [];
  for (const method of ['createCounter', 'createHistogram', 'createObservableGauge'] as const) {
    t.mock.method(
      meter,
      method,
      new Proxy(meter[method], {
        apply(target, self, args) {
          made.push(String(args[0]));
          return Reflect.apply(target, self, args);
        },
      }),
    );
  }
  let collections = 0;
  const instruments = createInstruments({
    meter,
    table: TABLE,
    isOn,
    onCollect: (observe) => {
      collections += 1;
      observe('seen', 1.5, ['A']);
      observe('seen', undefined, ['B']);
    },
  });
  const feed = () => {
    instruments.add('counted', ['A']);
    instruments.counterSeries('counted', ['A']).add(2);
    instruments.histogramSeries('measured', ['A', undefined]).record(1.5);
    instruments.histogramSeries('measured', ['A', true]).record(1.5);
  };
  return { feed, collect, made, instruments, collections: () => collections };
}

const values = (points: Awaited<ReturnType<ReturnType<typeof instrumentsOf>['collect']>>) =>
  points.map(({ metric, attributes, value }) => ({ metric, attributes, value }));

test('each metric is recorded with the attributes of its row, without unknown ones', async (t) => {
  const { feed, collect, made } = instrumentsOf(t, () => true);
  feed();
  assert.deepEqual(values(await collect()), [
    { metric: 'counted', attributes: { 'error.type': 'A' }, value: 3 },
    { metric: 'measured', attributes: { 'error.type': 'A' }, value: 1 },
    { metric: 'measured', attributes: { 'error.type': 'A', 'celery.task.requeue': true }, value: 1 },
    { metric: 'seen', attributes: { 'error.type': 'A' }, value: 1.5 },
  ]);
  assert.deepEqual(made, ['counted', 'measured', 'seen']);
});

for (const off of ['counted', 'measured'] as const) {
  test(`a disabled metric (${off}) has no instrument, and the others have one`, async (t) => {
    const { feed, collect, made } = instrumentsOf(t, (name) => name !== off);
    feed();
    const metrics = new Set((await collect()).map(({ metric }) => metric));
    const others = ['counted', 'measured', 'seen'].filter((name) => name !== off);
    assert.deepEqual([...metrics], others);
    assert.deepEqual(made, others);
  });
}

test('counters are handed over at collection even if every gauge is off', async (t) => {
  const { feed, collect, collections, made } = instrumentsOf(t, (name) => name !== 'seen');
  feed();
  assert.deepEqual([...new Set((await collect()).map(({ metric }) => metric))], ['counted', 'measured']);
  assert.equal(collections(), 1);
  assert.ok(!made.includes('seen'));
});

test('closing hands over uncollected counts, and detaches', async (t) => {
  for (const isOn of [() => true, (name: string) => name !== 'seen']) {
    const { feed, collect, collections, instruments } = instrumentsOf(t, isOn);
    feed();
    instruments.close();
    assert.equal((await collect()).find(({ metric }) => metric === 'counted')?.value, 3);
    assert.equal(collections(), 0);
  }
});

test('additions while a collection reads the gauges are part of it', async (t) => {
  const { meter, collect } = collectingMeter(t);
  const instruments = createInstruments({
    meter,
    table: TABLE,
    isOn: () => true,
    onCollect: () => {
      instruments.counterSeries('counted', ['A']).add(1);
    },
  });
  const one = { metric: 'counted', attributes: { 'error.type': 'A' } };
  assert.deepEqual(values(await collect()), [{ ...one, value: 1 }]);
  assert.deepEqual(values(await collect()), [{ ...one, value: 2 }]);
});

test('failing gauges keep no counter from being handed over', async (t) => {
  const { meter, collect } = collectingMeter(t);
  const amounts: number[] = [];
  t.mock.method(meter, 'createCounter', () => ({ add: (amount: number) => amounts.push(amount) }));
  const instruments = createInstruments({
    meter,
    table: TABLE,
    isOn: () => true,
    onCollect: () => {
      throw new Error('unreadable');
    },
  });
  instruments.counterSeries('counted', ['A']).add(3);
  await assert.rejects(collect());
  assert.deepEqual(amounts, [3]);
});

const OPT_IN_TABLE = {
  counted: {
    ...FACTS,
    instrument: 'counter',
    unit: '{thing}',
    valueType: 'int',
    attributes: ['error.type'],
    optInAttributes: ['celery.worker.name', 'celery.task.requeue'],
  },
  measured: {
    ...FACTS,
    instrument: 'histogram',
    unit: 's',
    valueType: 'double',
    attributes: ['error.type'],
    optionalAttributes: ['celery.queue.name'],
    optInAttributes: ['celery.worker.name'],
    buckets: [1, 2],
  },
  seen: {
    ...FACTS,
    instrument: 'gauge',
    unit: 's',
    valueType: 'double',
    attributes: [],
    optInAttributes: ['celery.worker.name'],
  },
} as const satisfies Record<string, InstrumentRow>;

/** The points of the table above, two workers having said the same. */
async function pointsOfTwoWorkers(t: TestContext, wants?: (name: string, key: string) => boolean) {
  const { meter, collect } = collectingMeter(t);
  const instruments = createInstruments({
    meter,
    table: OPT_IN_TABLE,
    isOn: () => true,
    ...(wants === undefined ? {} : { wants }),
    onCollect: (observe) => observe('seen', 1, ['w1']),
  });
  for (const worker of ['w1', 'w2']) {
    instruments.add('counted', ['A', worker, true]);
    instruments.histogramSeries('measured', ['A', undefined, worker]).record(1);
  }
  return values(await collect());
}

test('opt-in attributes are on no point and split no series unless they are requested', async (t) => {
  assert.deepEqual(await pointsOfTwoWorkers(t), [
    { metric: 'counted', attributes: { 'error.type': 'A' }, value: 2 },
    { metric: 'measured', attributes: { 'error.type': 'A' }, value: 2 },
    { metric: 'seen', attributes: {}, value: 1 },
  ]);
});

test('an opt-in attribute is requested by metric and by key', async (t) => {
  assert.deepEqual(await pointsOfTwoWorkers(t, (name) => name === 'measured'), [
    { metric: 'counted', attributes: { 'error.type': 'A' }, value: 2 },
    { metric: 'measured', attributes: { 'error.type': 'A', 'celery.worker.name': 'w1' }, value: 1 },
    { metric: 'measured', attributes: { 'error.type': 'A', 'celery.worker.name': 'w2' }, value: 1 },
    { metric: 'seen', attributes: {}, value: 1 },
  ]);
  assert.deepEqual(await pointsOfTwoWorkers(t, (_, key) => key === 'celery.task.requeue'), [
    { metric: 'counted', attributes: { 'error.type': 'A', 'celery.task.requeue': true }, value: 2 },
    { metric: 'measured', attributes: { 'error.type': 'A' }, value: 2 },
    { metric: 'seen', attributes: {}, value: 1 },
  ]);
  assert.deepEqual(
    (await pointsOfTwoWorkers(t, (name, key) => name === 'seen' && key === 'celery.worker.name')).at(-1),
    { metric: 'seen', attributes: { 'celery.worker.name': 'w1' }, value: 1 },
  );
});

const ROWS: readonly [string, InstrumentRow][] = Object.entries({ ...METRICS, ...SELF_METRICS });
for (const [name, row] of ROWS) {
  test(`${name} is exported as its row says`, async (t) => {
    const { meter, collect } = collectingMeter(t);
    const table: Readonly<Record<string, InstrumentRow>> = { [name]: row };
    const instruments = createInstruments({
      meter,
      table,
      isOn: () => true,
      onCollect: (observe) => observe(name, 1, []),
    });
    instruments.add(name, []);
    instruments.histogramSeries(name, []).record(1);
    const [point, ...more] = await collect();
    assert.deepEqual(more, []);
    assert.equal(point?.metric, name);
    assert.equal(point.unit, row.unit);
    assert.equal(point.description, row.description);
    assert.equal(point.valueType, row.valueType === 'int' ? ValueType.INT : ValueType.DOUBLE);
    assert.equal(point.monotonic, row.instrument === 'counter' ? true : undefined);
    assert.deepEqual(point.boundaries, row.buckets ?? []);
  });
}

test('a collection hands over in portions at its pace, and leaves later additions to the next', async (t) => {
  const { meter, collect } = collectingMeter(t);
  const handedOver: string[] = [];
  t.mock.method(meter, 'createCounter', () => ({
    add: (_amount: number, attributes: Attributes) => handedOver.push(String(attributes['error.type'])),
  }));
  const atPauses: number[] = [];
  const paces: Pace[] = [];
  const instruments = createInstruments({
    meter,
    table: TABLE,
    isOn: () => true,
    onCollect: (_observe, pace) => {
      paces.push(pace);
    },
    newPace: () => async () => {
      atPauses.push(handedOver.length);
      instruments.counterSeries('counted', [`meanwhile ${atPauses.length}`]).add(1);
    },
  });
  for (let index = 0; index < 1_200; index += 1)
    instruments.counterSeries('counted', [`series ${index}`]).add(1);
  await collect();
  assert.equal(paces.length, 1, 'who collects has the same pace');
  assert.deepEqual(atPauses, [500, 1_000, 1_202], 'in the room that is left, what came first');
  await collect();
  assert.equal(handedOver.length, 1_203);
});
