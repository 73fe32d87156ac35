import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attributes, ValueType } from '@opentelemetry/api';
import { KINDS_OF_STREAM, STREAMS } from './collected-stream.ts';
import { readTotals } from './reading.ts';

for (const kind of KINDS_OF_STREAM) {
  const make = STREAMS[kind];

  test(`${kind}: a value that is not a finite number is dropped, also as the first of a series`, () => {
    const { measure, read } = make();
    for (const value of [Number.NaN, Infinity]) measure(value, { task: 'a' });
    assert.deepEqual(read(), []);
    measure(1, { task: 'a' });
    for (const value of [Number.NaN, Infinity]) measure(value, { task: 'a' });
    assert.deepEqual(read(), [[{ task: 'a' }, 1]]);
  });

  test(`${kind}: negative values are dropped, and fractions of integers cut off`, () => {
    const { measure, read } = make({
      descriptor: { name: 'tries', description: '', unit: '', valueType: ValueType.INT },
    });
    for (const value of [-1, -0.5, -Infinity, 1.5]) measure(value);
    assert.deepEqual(read(), [[{}, 1]]);
  });

  test(`${kind}: a value that would overflow the sum is dropped and reported, and later ones count`, () => {
    const { measure, bind, read, tally } = make();
    const bound = bind({ task: 'b' });
    for (const value of [1.7e308, 1.7e308, 2]) {
      measure(value, { task: 'a' });
      bound(value);
    }
    assert.deepEqual(read(), [
      [{ task: 'a' }, 1.7e308],
      [{ task: 'b' }, 1.7e308],
    ]);
    assert.equal(tally().refused, 2);
  });

  test(`${kind}: equal attributes are one series, in any order and object`, () => {
    const { measure, read } = make();
    const first = Object.freeze({ task: 'a', queue: 'q' });
    for (const attributes of [first, { ...first }, { queue: 'q', task: 'a' }, first]) measure(1, attributes);
    measure(1, { task: 'a', queue: 'Q' });
    assert.deepEqual(read(), [
      [{ task: 'a', queue: 'q' }, 4],
      [{ task: 'a', queue: 'Q' }, 1],
    ]);
  });

  test(`${kind}: attributes that differ in type, place or quotation marks are different series`, () => {
    const { measure, read } = make();
    const all = [{ a: 1 }, { a: '1' }, { a: true }, { b: 'a' }, { a: 'b' }, { a: ['b', 'c'] }, { a: 'b,c' }];
    for (const each of [...all, { a: '","b":"' }, { a: '', b: '' }]) measure(1, each);
    assert.equal(read().length, 9);
  });

  test(`${kind}: later changes of an attributes object neither change the series nor stay in it`, () => {
    const { measure, read } = make();
    const attributes: Attributes = { task: 'a' };
    measure(1, attributes);
    attributes['task'] = 'b';
    measure(1, attributes);
    measure(1, attributes);
    assert.deepEqual(read(), [
      [{ task: 'a' }, 1],
      [{ task: 'b' }, 2],
    ]);
  });

  test(`${kind}: attributes removed by a view do not separate series, and no measurement is lost`, () => {
    const { measure, read } = make({ keeps: (key) => key === 'task' });
    const frozen = Object.freeze({ task: 'a', worker: 'w1' });
    for (const attributes of [frozen, { worker: 'w2', task: 'a' }, frozen, { task: 'b' }, { worker: 'w1' }])
      measure(1, attributes);
    measure(4);
    assert.deepEqual(read(), [
      [{ task: 'a' }, 3],
      [{ task: 'b' }, 1],
      [{}, 5],
    ]);
  });

  test(`${kind}: a collected metric can be split anywhere, without later measurements`, () => {
    const { measure, collected } = make();
    for (const worker of [1, 2, 3]) measure(worker, { worker });
    const metric = collected();
    measure(100, { worker: 1 });
    const workersOf = (from: number, to: number) => readTotals(metric?.slice(from, to));
    assert.equal(metric?.pointCount, 3);
    assert.deepEqual(workersOf(0, 1), [[{ worker: 1 }, 1]]);
    assert.deepEqual(workersOf(1, 3), [
      [{ worker: 2 }, 2],
      [{ worker: 3 }, 3],
    ]);
    assert.deepEqual(workersOf(2, 2), []);
    const { dataPoints: _, ...said } = metric.slice(0, 1);
    const { dataPoints: __, ...saidOfTheRest } = metric.slice(1, 3);
    assert.deepEqual(said, saidOfTheRest);
  });
}

test('an up-down counter can fall, and stays finite', () => {
  const { measure, read } = STREAMS['up-down counter']({
    descriptor: { name: 'busy', description: '', unit: '', valueType: ValueType.INT },
  });
  for (const value of [2, -5, -1.5, Number.NaN, -Infinity]) measure(value, { worker: 'w1' });
  assert.deepEqual(read(), [[{ worker: 'w1' }, -4]]);
});
