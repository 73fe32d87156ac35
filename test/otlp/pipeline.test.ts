/** What a pipeline exports, retries and reports, and how it ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { observed } from './collect/observed.ts';
import { count, pipelineTo, receiver, silentUrl } from './pipeline-to.ts';

const TEMPORALITIES = ['cumulative', 'delta'] as const;

test('closing exports all counts, under each resource', async (t) => {
  const sink = await receiver(t);
  const { pipeline, outcomes, open } = pipelineTo(t, sink.url);
  const [shop, billing] = [open('shop'), open('billing')];
  count(shop, 5);
  count(billing, 7);
  assert.deepEqual(await pipeline.close([[shop], [billing]], DEADLINE_MS), new Set());
  const [point] = sink.latest('shop');
  assert.equal(point?.metric, 'celery.task.sent');
  assert.equal(point?.unit, '{task}');
  assert.equal(point?.scope, 'celery-otel');
  assert.equal(point?.value, 5);
  assert.equal(point?.monotonic, true);
  assert.equal(point?.temporality, 'cumulative');
  assert.equal(point?.resource['team'], 'checkout');
  assert.equal(point?.resource['telemetry.sdk.name'], 'opentelemetry');
  assert.equal(total(sink.latest('billing'), 'celery.task.sent'), 7);
  assert.deepEqual(
    outcomes.map(({ name, outcome, items }) => [name, outcome, items]),
    [
      ['shop', 'success', 1],
      ['billing', 'success', 1],
    ],
    'the one group after the other, each once',
  );
});

for (const temporality of TEMPORALITIES) {
  test(`counts during an outage arrive once the backend is back, and only once (${temporality})`, async (t) => {
    let refuse = true;
    const arrived: number[] = [];
    const sink = await receiver(t, {
      refuse: () => (refuse ? { code: status.UNAVAILABLE, details: 'come back later' } : undefined),
      onExport: ({ points }) => arrived.push(total(points, 'celery.task.sent')),
    });
    const { pipeline, outcomes, open } = pipelineTo(t, sink.url, {
      streams: { temporality },
      schedule: { intervalMs: 50 },
    });
    const shop = open('shop');
    pipeline.start();
    count(shop, 3);
    await t.waitFor(() => assert.ok(outcomes.length >= 2), { timeout: DEADLINE_MS });
    assert.match(outcomes[0]?.reason ?? '', /come back later/u);
    count(shop, 4);
    refuse = false;
    await t.waitFor(() => assert.ok(arrived.length > 0), { timeout: DEADLINE_MS });
    assert.deepEqual(await pipeline.close([[shop]], DEADLINE_MS), new Set());
    const sum = arrived.reduce((before, each) => before + each, 0);
    assert.equal(temporality === 'delta' ? sum : arrived.at(-1), 7);
  });

  test(`a histogram and a gauge are exported correctly (${temporality})`, async (t) => {
    const sink = await receiver(t);
    const { pipeline, open } = pipelineTo(t, sink.url, { streams: { temporality } });
    const shop = open('shop');
    const beganMs = Date.now();
    const meter = shop.getMeter('celery-otel', '1.2.3');
    const histogram = meter.createHistogram('celery.task.runtime', {
      unit: 's',
      advice: { explicitBucketBoundaries: [0.5, 1] },
    });
    for (const value of [0.25, 0.5, 8]) histogram.record(value, { queue: 'q' });
    observed(meter, 'celery.worker.up', (observe) => observe(1, { worker: 'w1' }));
    await pipeline.close([[shop]], DEADLINE_MS);
    const points = sink.latest('shop');
    assert.deepEqual(
      points.map(({ metric }) => metric),
      ['celery.task.runtime', 'celery.worker.up'],
    );
    const [point, up] = points;
    assert.deepEqual([up?.kind, up?.value, up?.attributes], ['gauge', 1, { worker: 'w1' }]);
    assert.equal(point?.kind, 'histogram');
    assert.equal(point?.temporality, temporality);
    assert.deepEqual(point?.attributes, { queue: 'q' });
    assert.equal(point?.value, 3);
    assert.equal(point?.sum, 8.75);
    assert.deepEqual(point?.bounds, [0.5, 1]);
    assert.deepEqual(point?.bucketCounts, [2, 0, 1]);
    // Times are whole nanoseconds on the wire, too many digits for a number: a millisecond may be lost in reading. Another
    // one may be taken off, since an interval that begins and ends in one millisecond is not empty.
    assert.ok(point.startMs >= beganMs - 2 && point.timeMs >= point.startMs, `${point.startMs}`);
  });
}

test('retired workers are exported once more and then end', async (t) => {
  const exports: (readonly Point[])[] = [];
  const sink = await receiver(t, { onExport: ({ points }) => exports.push(points) });
  const { pipeline, open } = pipelineTo(t, sink.url, { schedule: { intervalMs: 50 } });
  const shop = open('shop');
  const meter = shop.getMeter('celery-otel', '1.2.3');
  const counter = meter.createCounter('celery.task.sent');
  const histogram = meter.createHistogram('celery.task.runtime');
  const measure = (...workers: readonly string[]) => {
    for (const worker of workers) {
      counter.add(1, { worker });
      histogram.record(1, { worker });
    }
  };
  const seriesOf = (points: readonly Point[]) =>
    points.map(({ metric, attributes: { worker } }) => `${metric} ${worker}`).sort();
  const seriesOfWorkers = (...workers: readonly string[]) =>
    workers.flatMap((worker) => [`celery.task.runtime ${worker}`, `celery.task.sent ${worker}`]).sort();
  measure('w1', 'w2');
  shop.retire('worker', new Set(['w1', 'w3']));
  pipeline.start();
  await sink.waitFor('shop', (points) => points.length === 2, DEADLINE_MS);
  assert.deepEqual(exports.map(seriesOf).slice(0, 2), [seriesOfWorkers('w1', 'w2'), seriesOfWorkers('w2')]);
  measure('w1');
  const back = await sink.waitFor('shop', (points) => points.length === 4, DEADLINE_MS);
  const started = (points: readonly Point[] | undefined) =>
    points?.find(({ metric, attributes: { worker } }) => `${metric} ${worker}` === 'celery.task.sent w1');
  assert.equal(started(back)?.value, 1);
  assert.ok((started(back)?.startMs ?? 0) > (started(exports[0])?.startMs ?? Infinity));
});

test('a large export is sent in several requests, and each arrives', async (t) => {
  const sizes: number[] = [];
  const sink = await receiver(t, { onExport: ({ points }) => sizes.push(points.length) });
  const { pipeline, outcomes, open } = pipelineTo(t, sink.url, { schedule: { pointsPerRequestMax: 40 } });
  const shop = open('shop');
  const counter = shop.getMeter('celery-otel').createCounter('celery.task.sent');
  for (let task = 0; task < 100; task += 1) counter.add(1, { task });
  assert.deepEqual(await pipeline.close([[shop]], DEADLINE_MS), new Set());
  assert.deepEqual(sizes, [40, 40, 20]);
  assert.equal(outcomes[0]?.items, 100);
});

test('the exporter’s own metrics are recorded in the given provider', async (t) => {
  const sink = await receiver(t);
  const { pipeline, open } = pipelineTo(t, sink.url);
  const [shop, self] = [open('shop'), open('celery-otel')];
  pipeline.observe(self);
  count(shop, 1);
  assert.deepEqual(await pipeline.close([[shop], [self]], DEADLINE_MS), new Set());
  const names = new Set(sink.latest('celery-otel').map(({ metric }) => metric));
  assert.ok(names.has('otel.sdk.exporter.metric_data_point.exported'), [...names].join());
});

test('a failing observable callback is reported with its provider, and the rest is exported', async (t) => {
  const sink = await receiver(t);
  const { pipeline, defects, open } = pipelineTo(t, sink.url);
  const shop = open('shop');
  const error = new Error('no gauges today');
  observed(shop.getMeter('celery-otel'), 'broken', () => {
    throw error;
  });
  count(shop, 1);
  assert.deepEqual(await pipeline.close([[shop]], DEADLINE_MS), new Set());
  assert.deepEqual(defects, [['shop', error]]);
  assert.equal(sink.latest('shop').length, 1);
});

test('a backend that is gone, or never responds, is given up at the deadline, and the affected services are reported', async (t) => {
  for (const url of ['http://127.0.0.1:1', await silentUrl(t)]) {
    const { pipeline, open } = pipelineTo(t, url, {
      exporter: { timeoutMs: 30_000 },
      schedule: { timeoutMs: 30_000 },
    });
    const groups = [[open('shop'), open('billing')], [open('celery-otel')]];
    for (const provider of groups.flat()) count(provider, 1);
    const unsent = await pipeline.close(groups, 500);
    assert.deepEqual(unsent, new Set(['shop', 'billing', 'celery-otel']), url);
  }
});

test('an export that never ends is not awaited beyond the deadline, and no other begins', async (t) => {
  const asked = Promise.withResolvers<void>();
  const sink = await receiver(t, {
    hold() {
      asked.resolve();
      return new Promise(() => {});
    },
  });
  const { pipeline, open } = pipelineTo(t, sink.url, { schedule: { intervalMs: 20 } });
  const shop = open('shop');
  count(shop, 1);
  pipeline.start();
  await asked.promise;
  assert.deepEqual(await pipeline.close([[shop]], 300), new Set(['shop']));
  assert.equal(sink.exports(), 0);
});

test('closing waits for an export in progress, and then exports once more', async (t) => {
  const held = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const sink = await receiver(t, {
    async hold() {
      asked.resolve();
      await held.promise;
    },
  });
  const { pipeline, open } = pipelineTo(t, sink.url, { schedule: { intervalMs: 20 } });
  const shop = open('shop');
  count(shop, 1);
  pipeline.start();
  await asked.promise;
  const closed = pipeline.close([[shop]], DEADLINE_MS);
  count(shop, 2);
  held.resolve();
  assert.deepEqual(await closed, new Set());
  assert.equal(total(sink.latest('shop'), 'celery.task.sent'), 3);
  assert.equal(sink.exports(), 2);
});
