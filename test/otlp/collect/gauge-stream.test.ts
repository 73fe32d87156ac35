/** What gauges export of what is observed, and which series have a place. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attributes, ValueType } from '@opentelemetry/api';
import { DataPointType } from '@opentelemetry/sdk-metrics';
import { gaugeOf } from './collected-gauge.ts';
import { OVERFLOW } from './collected-stream.ts';
import { readTotals, whole } from './reading.ts';

const frozen = (worker: string): Attributes => Object.freeze({ worker });

test('points have the observed values and the time of the collection, and no start', () => {
  const { observe, collect } = gaugeOf();
  observe(1, { worker: 'w1' });
  observe(-0.5, { worker: 'w2' });
  const metric = whole(collect(1_700_000_000_250));
  assert.equal(metric?.dataPointType, DataPointType.GAUGE);
  assert.deepEqual(metric?.descriptor, {
    name: 'g',
    description: 'A gauge.',
    unit: '{worker}',
    valueType: ValueType.DOUBLE,
  });
  const times = { startTime: [0, 0], endTime: [1_700_000_000, 250_000_000] };
  assert.deepEqual(metric?.dataPoints, [
    { attributes: { worker: 'w1' }, ...times, value: 1 },
    { attributes: { worker: 'w2' }, ...times, value: -0.5 },
  ]);
});

test('a value that was read before the collection has the time at which it was read, the newest if combined', () => {
  const { observe, collect } = gaugeOf({ combination: 'sum', keeps: (key) => key === 'queue' });
  observe(1, { queue: 'q', worker: 'w1' }, 2500);
  observe(2, { queue: 'q', worker: 'w2' }, 1250);
  observe(3, { queue: 'r' });
  const timesOf = (ms: number) => whole(collect(ms))?.dataPoints.map(({ endTime }) => endTime);
  assert.deepEqual(timesOf(1_700_000_010_000), [
    [1_700_000_008, 750_000_000],
    [1_700_000_010, 0],
  ]);
  observe(1, { queue: 'q' });
  assert.deepEqual(timesOf(1_700_000_020_000), [[1_700_000_020, 0]], 'an age is of one observation');
});

test('a value that is not finite is dropped, and reported', () => {
  const { observe, read, tally } = gaugeOf();
  for (const value of [Number.NaN, Infinity, -Infinity]) observe(value, { worker: 'w1' });
  assert.deepEqual(read(), []);
  assert.equal(tally().refused, 3);
});

test('a value out of range of its type is dropped, alone, combined or in the overflow', () => {
  const { observe, read, tally } = gaugeOf({
    descriptor: { name: 'g', description: '', unit: '', valueType: ValueType.INT },
    combination: 'sum',
    limit: 2,
    keeps: (key) => key === 'queue',
  });
  observe(2 ** 53, { queue: 'q' });
  observe(-1e20, { queue: 'q' });
  for (const queue of ['q', 'r', 's']) {
    for (const value of [2 ** 52, 2 ** 52, 7]) observe(value, { queue, worker: value });
  }
  assert.deepEqual(read(), [
    [{ queue: 'q' }, 2 ** 52 + 7],
    [OVERFLOW, 2 ** 52 + 7],
  ]);
  assert.equal(tally().refused, 6);
});

test('fractions of an integer gauge are cut off', () => {
  const { observe, read } = gaugeOf({
    descriptor: { name: 'g', description: '', unit: '', valueType: ValueType.INT },
  });
  observe(1.5, { worker: 'w1' });
  observe(-1.5, { worker: 'w2' });
  assert.deepEqual(read(), [
    [{ worker: 'w1' }, 1],
    [{ worker: 'w2' }, -1],
  ]);
});

test('an object changed afterwards is another series, and does not change the first one', () => {
  const { observe, read } = gaugeOf();
  const attributes: Attributes = { worker: 'w1' };
  observe(1, attributes);
  attributes['worker'] = 'w2';
  observe(2, attributes);
  assert.deepEqual(read(), [
    [{ worker: 'w1' }, 1],
    [{ worker: 'w2' }, 2],
  ]);
});

test('a collected metric does not change, in any split, during the next observations', () => {
  const { observe, collect, read } = gaugeOf();
  const workers = ['w1', 'w2', 'w3'].map(frozen);
  for (const attributes of workers) observe(1, attributes);
  const metric = collect();
  for (const attributes of workers) observe(2, attributes);
  assert.deepEqual(readTotals(metric?.slice(1, 3)), [
    [{ worker: 'w2' }, 1],
    [{ worker: 'w3' }, 1],
  ]);
  assert.equal(read().length, 3);
  metric?.acknowledge(0, 3);
  assert.deepEqual(readTotals(metric?.slice(0, 1)), [[{ worker: 'w1' }, 1]]);
});

test('a series with the attributes of the overflow makes no second overflow point', () => {
  const { observe, read } = gaugeOf({ combination: 'sum', limit: 2 });
  observe(1, OVERFLOW);
  for (const worker of ['w1', 'w2']) observe(2, frozen(worker));
  assert.deepEqual(read(), [
    [{ worker: 'w1' }, 2],
    [OVERFLOW, 3],
  ]);
});

test('in order, a new series takes the place of one that is observed after it', () => {
  const { observe, read } = gaugeOf({ combination: 'max in order', limit: 3 });
  for (const round of [
    ['a', 'b', 'c'],
    ['new', 'a', 'b', 'c'],
    ['c', 'd', 'e', 'f', 'new'],
  ]) {
    for (const worker of round) observe(1, frozen(worker));
    const workers = read().map(([{ worker }]) => worker);
    assert.deepEqual(workers, [...round.slice(0, 2), undefined]);
  }
});

test('each observation of what overflows is counted', () => {
  const { observe, read, tally } = gaugeOf({ limit: 3 });
  for (const [index, worker] of ['a', 'b', 'c', 'd', 'd', 'e'].entries()) observe(index, { worker });
  assert.deepEqual(read(), [
    [{ worker: 'a' }, 0],
    [{ worker: 'b' }, 1],
    [OVERFLOW, 5],
  ]);
  assert.equal(tally().overflowed, 4);
  for (const [index, worker] of ['a', 'x', 'y', 'x', 'z', 'z'].entries()) observe(index, { worker });
  assert.deepEqual(read(), [
    [{ worker: 'a' }, 0],
    [{ worker: 'x' }, 3],
    [OVERFLOW, 5],
  ]);
  assert.equal(tally().overflowed, 4 + 3);
});
