/** Idle series while others overflow. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attributes } from '@opentelemetry/api';
import { MONOTONIC_SUM } from '../../../src/otlp/aggregate/sum.ts';
import { idlest } from '../../../src/otlp/collect/idle-series.ts';
import { SeriesTable } from '../../../src/otlp/collect/series-table.ts';
import { KINDS_OF_STREAM, OVERFLOW, ofWorker, STREAMS, type StreamOptions } from './collected-stream.ts';
import { dueInDisorder, dueOf } from './due-series.ts';

const RETENTION_MS = 100;

const frozen = (worker: string): Attributes => Object.freeze({ worker });

/** A stream whose time is the test’s. */
function idleStream(kind: keyof typeof STREAMS, options: StreamOptions = {}) {
  const clock = { ms: 1000 };
  const now = () => clock.ms;
  const stream = STREAMS[kind]({
    ...{ limit: 3, retentionMs: RETENTION_MS, nowMs: now, steadyMs: now },
    ...options,
  });
  const measureAll = (...workers: readonly string[]): void => {
    for (const worker of workers) stream.measure(1, frozen(worker));
  };
  return { ...stream, clock, measureAll };
}

/** Of a collection: who has a point, the overflow among them. */
const workersIn = (points: readonly (readonly [Attributes, number])[]) =>
  points.map(([{ worker = 'overflow' }]) => worker);

for (const kind of KINDS_OF_STREAM) {
  test(`${kind}: the series idle for longest is exported once more and replaced by a new one`, () => {
    const { read, clock, measureAll, tally } = idleStream(kind);
    measureAll('a', 'b');
    read();
    clock.ms += 50;
    measureAll('b');
    read();
    clock.ms += RETENTION_MS + 50;
    measureAll('new');
    assert.deepEqual(
      read(),
      [
        [{ worker: 'a' }, 1],
        [{ worker: 'b' }, 2],
        [OVERFLOW, 1],
      ],
      'once more',
    );
    assert.equal(tally().retired, 1);
    measureAll('new');
    assert.deepEqual(read(), [
      [{ worker: 'b' }, 2],
      [OVERFLOW, 1],
      [{ worker: 'new' }, 1],
    ]);
  });

  test(`${kind}: no more series end than overflowed, however often each was measured`, () => {
    const { read, clock, measure, measureAll } = idleStream(kind, { limit: 6 });
    measureAll('a', 'b', 'c', 'd', 'e');
    read();
    clock.ms += RETENTION_MS;
    for (let times = 0; times < 10; times += 1) {
      measureAll('x', 'y');
      measure(1, { worker: 'x' });
    }
    read();
    assert.deepEqual(workersIn(read()), ['c', 'd', 'e', 'overflow']);
  });

  test(`${kind}: a series that overflows repeatedly with the same object is admitted once another is idle`, () => {
    const { bind, read, clock, measure, measureAll } = idleStream(kind, { limit: 2 });
    const shared = frozen('new');
    const bound = bind(frozen('bound'));
    measureAll('a');
    measure(1, shared);
    bound(1);
    read();
    clock.ms += RETENTION_MS;
    measure(1, shared);
    read();
    measure(1, shared);
    assert.deepEqual(workersIn(read()), ['overflow', 'new']);
    clock.ms += RETENTION_MS;
    bound(1);
    read();
    bound(1);
    assert.deepEqual(workersIn(read()), ['overflow', 'bound']);
  });

  test(`${kind}: it stays until its last point has arrived, and no other ends instead meanwhile`, () => {
    const { attemptTotals, exported, read, clock, measureAll, tally } = idleStream(kind);
    measureAll('a', 'b');
    read();
    clock.ms += RETENTION_MS;
    for (let round = 0; round < 5; round += 1) {
      measureAll('new');
      assert.deepEqual(workersIn(attemptTotals()), ['a', 'b', 'overflow']);
      clock.ms += RETENTION_MS;
    }
    assert.equal(tally().retired, 0);
    exported();
    measureAll('new');
    assert.deepEqual(read(), [
      [{ worker: 'b' }, 1],
      [OVERFLOW, 5],
      [{ worker: 'new' }, 1],
    ]);
  });

  test(`${kind}: a free place, of a forgotten worker, is used before another series ends`, () => {
    const { read, clock, measureAll } = idleStream(kind);
    measureAll('a', 'b');
    read();
    clock.ms += RETENTION_MS;
    measureAll('new');
    read(ofWorker('b'));
    measureAll('new');
    assert.deepEqual(workersIn(read()), ['a', 'overflow', 'new']);
  });
}

test('a non-monotonic series never ends for idleness, since it would begin anew at 0', () => {
  const { read, clock, measureAll } = idleStream('up-down counter', { limit: 2 });
  measureAll('a');
  read();
  clock.ms += 10 * RETENTION_MS;
  measureAll('new');
  read();
  assert.deepEqual(workersIn(read()), ['a', 'overflow']);
});

test('by default no series ends for idleness', () => {
  const { read, clock, measureAll } = idleStream('counter', { limit: 2, retentionMs: undefined });
  measureAll('a');
  read();
  clock.ms += 1e9;
  measureAll('new');
  read();
  assert.deepEqual(workersIn(read()), ['a', 'overflow']);
});

test('the idlest of many series are found', () => {
  const many = 10_000;
  const found = idlest(dueInDisorder(many), 1000, many).map(({ measuredMs }) => measuredMs);
  assert.deepEqual(
    found.sort((a, b) => a - b),
    Array.from({ length: 1000 }, (_, index) => index),
  );
});

test('of equally idle series, only as many end as are needed', () => {
  const table = new SeriesTable({
    ...{ limit: 20, keeps: undefined, begin: () => MONOTONIC_SUM.begin() },
    start: (key) => ({ wallMs: 0, steadyMs: key.length % 2, isFixed: false }),
  });
  for (let index = 5; index < 15; index += 1) table.of({ index });
  const due = Array.from(table.all(), (series) => dueOf(series));
  const found = (count: number, beforeMs: number) =>
    idlest(due, count, beforeMs).map(({ attributes }) => attributes['index']);
  const [odd, even] = [found(20, 0), found(20, 1).filter((index) => !found(20, 0).includes(index))];
  assert.deepEqual([odd.length, even.length], [5, 5]);
  assert.deepEqual(found(3, 1), odd.slice(0, 3));
  assert.deepEqual(found(7, 1), [...odd, ...even.slice(0, 2)]);
  assert.deepEqual(found(20, -1), []);
  assert.deepEqual(found(0, 1), []);
});
