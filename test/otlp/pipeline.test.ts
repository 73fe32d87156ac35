/** What a pipeline exports, retries and reports, and how it ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { total } from '../../examples/demo/otlp-points.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { observed } from './collect/observed.ts';
import { count, pipelineTo, receiver } from './pipeline-to.ts';

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
}

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

test('services whose counts could not be sent by the deadline are reported', async (t) => {
  const { pipeline, open } = pipelineTo(t, 'http://127.0.0.1:1', { exporter: { timeoutMs: 30_000 } });
  const groups = [[open('shop'), open('billing')], [open('celery-otel')]];
  for (const provider of groups.flat()) count(provider, 1);
  assert.deepEqual(await pipeline.close(groups, 500), new Set(['shop', 'billing', 'celery-otel']));
});
