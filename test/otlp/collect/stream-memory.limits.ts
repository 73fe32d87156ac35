import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attributes } from '@opentelemetry/api';
import { AggregationTemporality } from '@opentelemetry/sdk-metrics';
import { bound } from '../../bound.ts';
import { gaugeOf } from './collected-gauge.ts';
import { KINDS_OF_STREAM, OVERFLOW, ofWorker, STREAMS } from './collected-stream.ts';
import { collectingStreams } from './collecting-streams.ts';
import { heapBytes } from './memory.ts';

const WORKERS = 25_000;
const PER_COLLECTION = 100;
const LIMIT = 10;
/** Data kept for each worker would exceed 20 of them. */
const GROWTH_BYTES_MAX = 256 * 1024;

const workersOf = (collection: number): readonly Attributes[] =>
  Array.from({ length: PER_COLLECTION }, (_, index) =>
    Object.freeze({ worker: `celery@worker-${collection}-${index}`, queue: 'orders' }),
  );

/** The growth of the heap from the first collections to the later ones. */
async function growthBytes(collect: (collection: number) => void | Promise<void>): Promise<number> {
  const collections = WORKERS / PER_COLLECTION;
  const warmUp = collections / 10;
  let beforeBytes = 0;
  for (let collection = 0; collection < collections; collection += 1) {
    if (collection === warmUp) beforeBytes = heapBytes();
    await collect(collection);
  }
  return heapBytes() - beforeBytes;
}

test('gauges of 25,000 changing workers take no memory, and new ones get places', async (t) => {
  const { observe, read } = gaugeOf({ combination: 'sum', limit: LIMIT });
  const grown = await growthBytes((collection) => {
    const workers = workersOf(collection);
    for (const attributes of workers) observe(1, attributes);
    assert.deepEqual(read(), [
      ...workers.slice(0, LIMIT - 1).map((attributes) => [attributes, 1]),
      [OVERFLOW, PER_COLLECTION - LIMIT + 1],
    ]);
  });
  bound(t, 'heap for gauges of 25,000 changing workers', grown / 1024, GROWTH_BYTES_MAX / 1024, 'KiB');
});

test('gauges behind a view keep little of ended series, even if their attributes stay in memory', async (t) => {
  const limit = PER_COLLECTION + 1;
  const { observe, read } = gaugeOf({ combination: 'sum', limit, keeps: (key) => key === 'worker' });
  const kept = Array.from({ length: WORKERS / PER_COLLECTION }, (_, collection) => workersOf(collection));
  const grown = await growthBytes((collection) => {
    for (const attributes of kept[collection] ?? []) observe(1, attributes);
    assert.equal(read().length, PER_COLLECTION);
  });
  // All of them would be 4 MiB.
  bound(
    t,
    'heap for gauges behind a view, of 25,000 ended workers',
    grown / 1024,
    (4 * GROWTH_BYTES_MAX) / 1024,
    'KiB',
  );
});

for (const kind of KINDS_OF_STREAM) {
  const make = STREAMS[kind];

  test(`${kind}: 25,000 workers that are retired take no memory, and new ones get places`, async (t) => {
    const { measure, read, tally } = make({ limit: PER_COLLECTION * 2 + 1 });
    const grown = await growthBytes((collection) => {
      for (const attributes of workersOf(collection)) measure(1, attributes);
      const gone = ofWorker(...workersOf(collection - 1).map(({ worker }) => String(worker)));
      const points = read(gone);
      assert.equal(points.length, PER_COLLECTION);
      assert.equal(points[0]?.[0]['worker'], `celery@worker-${collection}-0`);
    });
    bound(t, `heap for ${kind}, of 25,000 retired workers`, grown / 1024, GROWTH_BYTES_MAX / 1024, 'KiB');
    const { unmarked: _, ...tallied } = tally();
    assert.deepEqual(tallied, {
      live: PER_COLLECTION,
      retired: WORKERS - PER_COLLECTION,
      overflowed: 0,
      refused: 0,
    });
  });

  test(`${kind}: 25,000 workers that are never retired take no memory beyond their limit`, async (t) => {
    const { measure, read } = make({ limit: LIMIT });
    const grown = await growthBytes((collection) => {
      for (const attributes of workersOf(collection)) measure(1, attributes);
      assert.equal(read().length, LIMIT);
    });
    bound(
      t,
      `heap for ${kind}, of 25,000 workers beyond their limit`,
      grown / 1024,
      GROWTH_BYTES_MAX / 1024,
      'KiB',
    );
  });

  test(`${kind}: with delta temporality 25,000 changing workers take no memory, and get places`, async (t) => {
    const { measure, read } = make({ temporality: AggregationTemporality.DELTA, limit: PER_COLLECTION + 1 });
    const grown = await growthBytes((collection) => {
      for (const attributes of workersOf(collection)) measure(1, attributes);
      assert.equal(read().length, PER_COLLECTION);
    });
    bound(
      t,
      `heap for ${kind}, delta, of 25,000 changing workers`,
      grown / 1024,
      GROWTH_BYTES_MAX / 1024,
      'KiB',
    );
  });

  test(`${kind}: with delta temporality 25,000 workers take no memory during an outage`, async (t) => {
    const { measure, attemptTotals } = make({ temporality: AggregationTemporality.DELTA, limit: LIMIT });
    const grown = await growthBytes((collection) => {
      for (const attributes of workersOf(collection)) measure(1, attributes);
      assert.equal(attemptTotals().length, LIMIT);
    });
    bound(
      t,
      `heap for ${kind}, delta, of 25,000 workers in an outage`,
      grown / 1024,
      GROWTH_BYTES_MAX / 1024,
      'KiB',
    );
  });
}

test('retiring 25,000 workers takes no memory during an outage', async (t) => {
  const { meter, attempt, retire } = collectingStreams();
  meter('celery-otel').createCounter('celery.task.sent').add(1, { queue: 'orders' });
  const grown = await growthBytes(async (collection) => {
    retire('worker', new Set(workersOf(collection).map(({ worker }) => String(worker))));
    await attempt();
  });
  // The test runner keeps some hundred bytes of each collection, since it is asynchronous.
  bound(
    t,
    'heap for retiring 25,000 workers in an outage',
    grown / 1024,
    (2 * GROWTH_BYTES_MAX) / 1024,
    'KiB',
  );
});
