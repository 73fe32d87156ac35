import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
import { createNewestPoints } from '../../examples/demo/newest-points.ts';
import { decodePoints, type Point } from '../../examples/demo/otlp-points.ts';
import { createProvider } from '../../src/otlp/provider.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { otlpSettings } from '../otlp/settings.ts';

const FULL = 1000;

/** Points of a metric at a time, one for each number. */
function points(
  metric: string,
  timeMs: number,
  from: number,
  to: number,
  service = 'shop',
): readonly Point[] {
  return Array.from({ length: to - from }, (_, index) => ({
    resource: { 'service.name': service },
    scope: 'celery-otel',
    metric,
    unit: '{task}',
    kind: 'sum',
    temporality: 'cumulative',
    monotonic: true,
    attributes: { nth: String(from + index) },
    value: timeMs,
    sum: 0,
    bounds: [],
    bucketCounts: [],
    startMs: 0,
    timeMs,
  }));
}

/** How many points of each value there are. */
function seen(of: readonly Point[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...Map.groupBy(of, ({ value }) => value)].map(([value, { length }]) => [value, length]),
  );
}

test('an export of one request replaces the one before', () => {
  const newest = createNewestPoints();
  assert.deepEqual(newest.of('shop'), []);
  newest.take(points('sent', 1, 0, 3), 100);
  newest.take(points('sent', 2, 1, 3), 100);
  assert.deepEqual(seen(newest.of('shop')), { 2: 2 });
  newest.take(points('failed', 3, 0, 1), 100);
  assert.deepEqual(seen(newest.of('shop')), { 3: 1 }, 'with delta the next one may have other series');
});

test('while an export is incomplete no series is missing; then the series that it lacks have ended', () => {
  const newest = createNewestPoints();
  newest.take(points('sent', 1, 0, FULL), 100);
  newest.take(points('sent', 1, FULL, 2 * FULL), 100);
  newest.take(points('failed', 2, 0, 300), 100);
  assert.deepEqual(seen(newest.of('shop')), { 1: 2000, 2: 300 });
  newest.take(points('sent', 11, 0, FULL), 100);
  assert.deepEqual(seen(newest.of('shop')), { 1: 1000, 2: 300, 11: 1000 });
  newest.take(points('sent', 11, FULL, 2 * FULL), 100);
  assert.deepEqual(seen(newest.of('shop')), { 2: 300, 11: 2000 });
  newest.take(points('failed', 12, 0, 299), 100);
  assert.deepEqual(seen(newest.of('shop')), { 11: 2000, 12: 299 });
});

test('an export whose last request is full is complete when the next one begins', () => {
  const newest = createNewestPoints();
  for (const timeMs of [1, 2, 3]) {
    newest.take(points('sent', timeMs, 0, FULL), 100);
    newest.take(points('failed', timeMs, 0, FULL), 100);
    assert.deepEqual(seen(newest.of('shop')), { [timeMs]: 2000 });
  }
  newest.take(points('sent', 4, 0, 10), 100);
  assert.deepEqual(seen(newest.of('shop')), { 4: 10 });
});

test('a request that was split by size is followed by others', () => {
  const newest = createNewestPoints();
  newest.take(points('sent', 1, 0, 700), 3_400_000);
  newest.take(points('sent', 1, 700, 900), 900_000);
  assert.deepEqual(seen(newest.of('shop')), { 1: 900 });
  newest.take(points('sent', 2, 0, 5), 100);
  assert.deepEqual(seen(newest.of('shop')), { 2: 5 });
});

for (const [what, instrument, characters] of [
  ['of long names', 'counter', 255],
  ['of names in all languages', 'counter', 0],
  ['of exponential histograms', 'histogram', 1],
] as const) {
  test(`an export ${what} that our exporter splits by size is one export`, async () => {
    const provider = createProvider({
      name: 'shop',
      resource: serviceResource('shop', {}),
      onFailure: assert.ifError,
      settings: {
        ...otlpSettings('').streams,
        histograms: 'base2_exponential_bucket_histogram',
        limits: { counter: 5000, histogram: 5000, gauge: 5000 },
      },
    });
    const meter = provider.getMeter('test');
    const counter = meter.createCounter('sent');
    const histogram = meter.createHistogram('run');
    const filling = characters === 0 ? '订'.repeat(255) : 'x'.repeat(characters);
    for (let nth = 0; nth < 1200; nth += 1) {
      const attributes = { nth, task: filling, queue: filling, worker: filling };
      if (instrument === 'counter') counter.add(1, attributes);
      else histogram.record(1, attributes);
    }
    const newest = createNewestPoints();
    let sent = 0;
    for (const request of await provider.collect()) {
      assert.ok(request.items < FULL, 'it is cut by its size');
      const bytes = ProtobufMetricsSerializer.serializeRequest(request.data());
      assert.ok(bytes !== undefined);
      newest.take(decodePoints(bytes), bytes.length);
      sent += request.items;
      assert.equal(newest.of('shop').length, sent);
    }
    assert.equal(sent, 1200);
  });
}

test('a request with more points than ours is a complete export of another sender', () => {
  const newest = createNewestPoints();
  newest.take(points('sent', 1, 0, 3 * FULL), 4_000_000);
  newest.take(points('sent', 2, 0, 2 * FULL), 3_000_000);
  assert.deepEqual(seen(newest.of('shop')), { 2: 2000 });
});

test('a retried request adds nothing and ends nothing', () => {
  const newest = createNewestPoints();
  newest.take(points('sent', 1, 0, FULL), 100);
  newest.take(points('sent', 1, 0, FULL), 100);
  newest.take(points('failed', 1, 0, 5), 100);
  newest.take(points('failed', 1, 0, 5), 100);
  assert.deepEqual(seen(newest.of('shop')), { 1: 1005 });
});

test('services are separate, even within one request', () => {
  const newest = createNewestPoints();
  newest.take([...points('sent', 1, 0, 2), ...points('sent', 1, 0, 3, 'mail')], 100);
  newest.take(points('sent', 2, 0, 1, 'mail'), 100);
  assert.deepEqual([seen(newest.of('shop')), seen(newest.of('mail'))], [{ 1: 2 }, { 2: 1 }]);
  assert.deepEqual(newest.services(), ['shop', 'mail']);
});
