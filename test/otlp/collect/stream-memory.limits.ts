import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Attributes } from '@opentelemetry/api';
import { AggregationTemporality } from '@opentelemetry/sdk-metrics';
import { bound } from '../../bound.ts';
import { gaugeOf } from './collected-gauge.ts';
import { KINDS_OF_STREAM, OVERFLOW, ofWorker, STREAMS } from './collected-stream.ts';
import { collectingStreams } from './collecting-streams.ts';
import { heapBytes } from './memory.ts';

const { DELTA } = AggregationTemporality;
const WORKERS = 25_000;
const PER_COLLECTION = 100;
const LIMIT = 10;
/** Data kept for each worker would exceed 20 of them. */
const GROWTH_BYTES_MAX = 256 * 1024;

const workersOf = (collection: number): readonly Attributes[] =>
  Array.from({ length: PER_COLLECTION }, (_, index) =>
    Object.freeze({ worker: `celery@worker-${collection}-${index}`, queue: 'orders' }),
  );

/** Bounds the growth of the heap from the first collections to the later ones, in units of what any of them may take. */
async function boundGrowth(
  t: TestContext,
  what: string,
  collect: (collection: number) => void | Promise<void>,
  units = 1,
): Promise<void> {
  const collections = WORKERS / PER_COLLECTION;
  const warmUp = collections / 10;
  let beforeBytes = 0;
  for (let collection = 0; collection < collections; collection += 1) {
    if (collection === warmUp) beforeBytes = heapBytes();
    await collect(collection);
  }
  const grown = heapBytes() - beforeBytes;
  bound(t, `heap for ${what}`, grown / 1024, (units * GROWTH_BYTES_MAX) / 1024, 'KiB');
}

test('gauges of 25,000 changing workers take no memory, and new ones get places', async (t) => {
  const { observe, read } = gaugeOf({ combination: 'sum', limit: LIMIT });
  await boundGrowth(t, 'gauges of 25,000 changing workers', (collection) => {
    const workers = workersOf(collection);
    for (const attributes of workers) observe(1, attributes);
    assert.deepEqual(read(), [
      ...workers.slice(0, LIMIT - 1).map((attributes) => [attributes, 1]),
      [OVERFLOW, PER_COLLECTION - LIMIT + 1],
    ]);
  });
});

test('gauges behind a view keep little of ended series, even if their attributes stay in memory', async (t) => {
  const limit = PER_COLLECTION + 1;
  const { observe, read } = gaugeOf({ combination: 'sum', limit, keeps: (key) => key === 'worker' });
  const kept = Array.from({ length: WORKERS / PER_COLLECTION }, (_, collection) => workersOf(collection));
  const collect = (collection: number) => {
    for (const attributes of kept[collection] ?? []) observe(1, attributes);
    assert.equal(read().length, PER_COLLECTION);
  };
  // All of them would be 4 MiB.
  await boundGrowth(t, 'gauges behind a view, of 25,000 ended workers', collect, 4);
});

for (const kind of KINDS_OF_STREAM) {
  const make = STREAMS[kind];

  test(`${kind}: 25,000 workers that are retired take no memory, and new ones get places`, async (t) => {
    const { measure, read, tally } = make({ limit: PER_COLLECTION * 2 + 1 });
    await boundGrowth(t, `${kind}, of 25,000 retired workers`, (collection) => {
      for (const attributes of workersOf(collection)) measure(1, attributes);
      const gone = ofWorker(...workersOf(collection - 1).map(({ worker }) => String(worker)));
      const points = read(gone);
      assert.equal(points.length, PER_COLLECTION);
      assert.equal(points[0]?.[0]['worker'], `celery@worker-${collection}-0`);
    });
    assert.equal(tally().retired, WORKERS - PER_COLLECTION);
  });

  for (const [how, options, points] of [
    ['that are never retired', { limit: LIMIT }, LIMIT],
    [
      'that change, with delta temporality',
      { temporality: DELTA, limit: PER_COLLECTION + 1 },
      PER_COLLECTION,
    ],
  ] as const) {
    test(`${kind}: 25,000 workers ${how} take no memory`, async (t) => {
      const { measure, read } = make(options);
      await boundGrowth(t, `${kind}, of 25,000 workers ${how}`, (collection) => {
        for (const attributes of workersOf(collection)) measure(1, attributes);
        assert.equal(read().length, points);
      });
    });
  }

  test(`${kind}: with delta temporality 25,000 workers take no memory during an outage`, async (t) => {
    const { measure, attemptTotals } = make({ temporality: DELTA, limit: LIMIT });
    await boundGrowth(t, `${kind}, delta, of 25,000 workers in an outage`, (collection) => {
      for (const attributes of workersOf(collection)) measure(1, attributes);
      assert.equal(attemptTotals().length, LIMIT);
    });
  });
}

test('retiring 25,000 workers takes no memory during an outage', async (t) => {
  const { meter, attempt, retire } = collectingStreams();
  meter('celery-otel').createCounter('celery.task.sent').add(1, { queue: 'orders' });
  const collect = async (collection: number) => {
    retire('worker', new Set(workersOf(collection).map(({ worker }) => String(worker))));
    await attempt();
  };
  // The test runner keeps some hundred bytes of each collection, since it is asynchronous.
  await boundGrowth(t, 'retiring 25,000 workers in an outage', collect, 2);
});
