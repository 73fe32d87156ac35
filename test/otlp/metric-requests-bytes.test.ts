import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXEMPLARS_MAX } from '../../src/otlp/aggregate/reservoir.ts';
import { createProvider } from '../../src/otlp/provider.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { observed } from './collect/observed.ts';
import { ENCODINGS, serialised } from './export/serialised.ts';
import { otlpSettings } from './settings.ts';

const RECEIVED_BYTES_MAX = 4 * 1024 * 1024;

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
  const histogram = provider.getMeter('celery-otel').createHistogram('celery.task.runtime', {
    advice: { explicitBucketBoundaries: Array.from({ length: 14 }, (_, index) => index) },
  });
  for (let index = 0; index < 1500; index += 1) {
    histogram.record(1, {
      'celery.task.name': `shop.tasks.task_${index}`,
      'celery.queue.name': 'orders',
      'celery.worker.name': `celery@worker-${index % 100}.shop.svc.cluster.local`,
    });
  }
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
