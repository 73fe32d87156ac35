import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attributes } from '@opentelemetry/api';
import { DataPointType } from '@opentelemetry/sdk-metrics';
import { EXEMPLARS_MAX } from '../../src/otlp/aggregate/reservoir.ts';
import { createProvider } from '../../src/otlp/provider.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { observed } from './collect/observed.ts';
import { ENCODINGS, serialised } from './export/serialised.ts';
import { otlpSettings } from './settings.ts';

const RECEIVED_BYTES_MAX = 4 * 1024 * 1024;
const SERIES = 2500;

/** Each is of one series. */
const ATTRIBUTES: Readonly<Record<string, (index: number) => Attributes>> = {
  'of a usual length': (index) => ({
    'celery.task.name': `shop.tasks.task_${index}`,
    'celery.queue.name': 'orders',
    'celery.worker.name': `celery@worker-${index % 100}.shop.svc.cluster.local`,
  }),
  'of control characters': (index) => ({ worker: `${index}`.padEnd(600, '\u0001') }),
  'of emoji': (index) => ({ '😀': `${index}`.padEnd(400, '😀') }),
  'of halves of characters': (index) => ({ worker: `${index}`.padEnd(600, '\ud83d') }),
  'of quotation marks': (index) => ({ worker: `${index}`.padEnd(300, '"') }),
  'of 10,000 characters': (index) => ({ worker: `${index}`.padEnd(index % 100 === 0 ? 10_000 : 10, 'é') }),
  'that are many': (index) =>
    Object.fromEntries(Array.from({ length: 20 }, (_, key) => [`key.${key}`, `${index} ${key}`])),
};

const INSTRUMENTS = {
  counters: { histograms: 'explicit_bucket_histogram', boundaries: [] },
  'histograms with 160 explicit buckets': {
    histograms: 'explicit_bucket_histogram',
    boundaries: Array.from({ length: 159 }, (_, index) => 1.1 ** (index - 80)),
  },
  'histograms with 160 exponential buckets': {
    histograms: 'base2_exponential_bucket_histogram',
    boundaries: [],
  },
} as const;

for (const [instrument, { histograms, boundaries }] of Object.entries(INSTRUMENTS)) {
  for (const [kind, attributesOf] of Object.entries(ATTRIBUTES)) {
    test(`${SERIES} ${instrument} with attributes ${kind} are in requests below 4 MiB, all of them`, async () => {
      const provider = createProvider({
        name: 'shop',
        resource: serviceResource('shop', { team: 'checkout' }),
        settings: otlpSettings('', {
          streams: { histograms, limits: { counter: 10_000, histogram: 10_000, gauge: 10 } },
        }).streams,
        onFailure: assert.ifError,
      });
      const meter = provider.getMeter('celery-otel', '1.2.3');
      if (instrument === 'counters') {
        const counter = meter.createCounter('celery.task.sent');
        for (let index = 0; index < SERIES; index += 1) counter.add(index / 7, attributesOf(index));
      } else {
        const advice = { explicitBucketBoundaries: [...boundaries] };
        const histogram = meter.createHistogram('celery.task.runtime', { unit: 's', advice });
        for (let index = 0; index < SERIES; index += 1) {
          const attributes = Object.freeze(attributesOf(index));
          // The buckets between them take as many bytes when they are empty.
          for (const exponent of [-80, 0, 78]) histogram.record(1.1 ** exponent, attributes);
        }
      }
      let points = 0;
      for (const request of await provider.collect()) {
        const metrics = request.data();
        for (const encoding of ENCODINGS) {
          const { length } = serialised(metrics, encoding);
          assert.ok(length < RECEIVED_BYTES_MAX, `${length} bytes of ${encoding}`);
        }
        for (const metric of metrics.scopeMetrics.flatMap((scope) => scope.metrics)) {
          points += metric.dataPoints.length;
          const isSum = metric.dataPointType === DataPointType.SUM;
          assert.equal(isSum, instrument === 'counters');
        }
      }
      assert.equal(points, SERIES);
    });
  }
}

test('requests with as many exemplars as there can be are below 4 MiB, and none is missing', async () => {
  const boundaries = Array.from({ length: 33 }, (_, index) => index);
  const provider = createProvider({
    name: 'shop',
    resource: serviceResource('shop', { team: 'checkout' }),
    settings: otlpSettings('').streams,
    onFailure: assert.ifError,
  });
  const histogram = provider.getMeter('celery-otel').createHistogram('celery.task.runtime', {
    advice: { explicitBucketBoundaries: boundaries },
  });
  const context = {
    traceId: 'f'.repeat(32),
    spanId: 'f'.repeat(16),
    attributes: { 'celery.task.id': '\u0001'.repeat(300) },
  };
  for (let index = 0; index < 1999; index += 1) {
    const attributes = { worker: `${index}` };
    histogram.record(1, attributes);
    const offer = histogram.bindExemplars?.(attributes) ?? assert.fail('it has no exemplars');
    for (const value of boundaries) offer(value, context);
  }
  let exemplars = 0;
  for (const request of await provider.collect()) {
    const metrics = request.data();
    for (const encoding of ENCODINGS) {
      const { length } = serialised(metrics, encoding);
      assert.ok(length < RECEIVED_BYTES_MAX, `${length} bytes of ${encoding}`);
    }
    exemplars += [...(metrics.exemplars?.values() ?? [])].flat().length;
  }
  assert.equal(exemplars, 1999 * EXEMPLARS_MAX);
});

test('ordinary points fill a request by their number, not by their estimated size', async () => {
  const provider = createProvider({
    name: 'shop',
    resource: serviceResource('shop', {}),
    settings: otlpSettings('').streams,
    onFailure: assert.ifError,
  });
  const attributesOf = ATTRIBUTES['of a usual length'];
  assert.ok(attributesOf !== undefined);
  const histogram = provider.getMeter('celery-otel').createHistogram('celery.task.runtime', {
    advice: { explicitBucketBoundaries: Array.from({ length: 14 }, (_, index) => index) },
  });
  for (let index = 0; index < 1500; index += 1) histogram.record(1, attributesOf(index));
  assert.deepEqual(
    (await provider.collect()).map(({ items }) => items),
    [1000, 500],
  );
});

test('requests of gauges are below 4 MiB, too, whatever their attributes are', async () => {
  const provider = createProvider({
    name: 'shop',
    resource: serviceResource('shop', {}),
    settings: otlpSettings('').streams,
    onFailure: assert.ifError,
  });
  observed(provider.getMeter('celery-otel'), 'celery.worker.up', (observe) => {
    for (let index = 0; index < 1000; index += 1) observe(1, { worker: `${index}`.padEnd(10_000, 'é') });
  });
  let points = 0;
  for (const request of await provider.collect()) {
    points += request.items;
    const { length } = serialised(request.data(), 'protobuf');
    assert.ok(length < RECEIVED_BYTES_MAX, `${length} bytes`);
  }
  assert.equal(points, 1000);
});
