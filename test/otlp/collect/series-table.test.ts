import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MONOTONIC_SUM } from '../../../src/otlp/aggregate/sum.ts';
import { SeriesTable } from '../../../src/otlp/collect/series-table.ts';

function tableOf(limit: number, keeps?: (key: string) => boolean) {
  return new SeriesTable({
    ...{ limit, keeps, begin: MONOTONIC_SUM.begin },
    start: (key) => ({ wallMs: key.length, steadyMs: 0, isFixed: false }),
  });
}

const OVERFLOW = { 'otel.metric.overflow': true };
const found = (table: SeriesTable<number>) => [...table.all()].map(({ attributes }) => attributes);

for (const limit of [1, 2, 5]) {
  test(`of ${limit} places one is for the overflow, which is one series`, () => {
    const table = tableOf(limit);
    const series = Array.from({ length: 20 }, (_, worker) => table.of({ worker }));
    assert.equal(new Set(series).size, limit);
    assert.deepEqual(found(table).at(-1), OVERFLOW);
    assert.deepEqual(
      series.map(({ isOverflow }) => isOverflow),
      series.map((_, index) => index >= limit - 1),
    );
  });
}

test('a series with the attributes of the overflow is in it, and takes no other place', () => {
  const table = tableOf(2);
  assert.ok(table.of(OVERFLOW).isOverflow);
  assert.ok(!table.of({ worker: 1 }).isOverflow);
  assert.equal(table.of({ worker: 2 }), table.of(OVERFLOW));
});

test('ended series free their places, and are no longer found by their objects', () => {
  const table = tableOf(3);
  const [first, second, third] = [1, 2, 3].map((worker) => Object.freeze({ worker }));
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  const ended = table.of(first);
  table.of(second);
  assert.ok(table.of(third).isOverflow);
  table.end([ended]);
  assert.ok(ended.hasEnded);
  assert.deepEqual(found(table), [{ worker: 2 }, OVERFLOW]);
  assert.ok(!table.of(third).isOverflow, 'what overflowed has a place of its own');
  assert.ok(table.of(first).isOverflow, 'and for the first one there is none');
});

test('overflowing series are counted once each since the last query', () => {
  const table = tableOf(3);
  const kept = Object.freeze({ worker: 5 });
  for (const worker of [1, 2, 3, 4, 3, 5]) table.of({ worker });
  table.of(kept);
  assert.equal(table.takeRefused(), 3);
  assert.equal(table.takeRefused(), 0);
  table.of(kept);
  table.of({ worker: 5 });
  assert.equal(table.takeRefused(), 1, 'also by an object that was looked up before');
});

test('a series that got a place, or is the overflow itself, is not counted', () => {
  const table = tableOf(2);
  const first = table.of({ worker: 1 });
  table.of({ worker: 2 });
  table.of(OVERFLOW);
  table.end([first]);
  assert.equal(table.free, 1);
  table.of({ worker: 2 });
  assert.equal(table.free, 0);
  assert.equal(table.takeRefused(), 0);
});

test('up to a thousand overflowing series are counted individually', () => {
  const table = tableOf(2);
  for (let worker = 0; worker < 3000; worker += 1) table.of({ worker });
  assert.equal(table.takeRefused(), 1000);
});
