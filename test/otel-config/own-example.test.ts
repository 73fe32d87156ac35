/**
 * `otel-config/celery-otel.yaml` unchanged: two services on a real broker, one with TLS, and one whose broker is not there,
 * exported to a receiver that checks all settings of the file.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { startBridge } from '../e2e/bridge-process.ts';
import { event, publish } from '../e2e/publish.ts';
import { startRabbitmq } from '../real/rabbitmq.ts';

const FILE = fileURLToPath(new URL('../../otel-config/celery-otel.yaml', import.meta.url));

test('the example runs, with its services, resources, views, headers and temporality', async (t) => {
  const rabbitmq = await startRabbitmq({ tls: true });
  t.after(() => rabbitmq.remove());
  const metadata: Readonly<Record<string, string>>[] = [];
  const sink = await startReceiver({ onExport: (received) => metadata.push(received.metadata) });
  t.after(() => sink.stop());
  const env = {
    SHOP_BROKER_URL: rabbitmq.url,
    BILLING_BROKER_URL: `${rabbitmq.tlsUrl}?ssl_ca_certs=${rabbitmq.caFile}`,
    STOCK_BROKER_URL: 'sentinel://127.0.0.1:1',
    STOCK_SENTINEL_PASSWORD: 'hunter2',
    OTLP_ENDPOINT: sink.url,
    OTLP_HEADERS: 'x-team=checkout',
    DEPLOYMENT_ENVIRONMENT: 'test',
  };
  const bridge = startBridge(t, env, ['run', '--config', FILE]);
  await bridge.logged(/(?:connected to[\s\S]*){2}/u);
  await publish(rabbitmq.url, lives('shop.pay', 3));
  await publish(rabbitmq.url, lives('billing.invoice', 2), 'billing.celeryev');

  const succeeded = (amount: number) => (points: readonly Point[]) =>
    total(points, 'celery.task.succeeded') === amount;
  const shop = await sink.waitFor('shop', succeeded(3), DEADLINE_MS);
  const billing = await sink.waitFor('billing', succeeded(2), DEADLINE_MS);
  const self = await sink.waitFor('celery-otel', (points) => points.length > 0, DEADLINE_MS);

  for (const points of [shop, billing, self]) {
    assert.ok(points.every(({ resource }) => resource['deployment.environment.name'] === 'test'));
  }
  assert.ok(billing.every(({ resource }) => resource['service.namespace'] === 'money'));
  assert.ok(shop.every(({ resource }) => resource['service.namespace'] === undefined));
  const counters = [...shop, ...billing].filter(
    ({ kind, metric }) => kind === 'sum' && metric.startsWith('celery.task.'),
  );
  assert.ok(counters.every((point) => point.temporality === 'cumulative'));
  assert.ok(counters.every(({ attributes }) => attributes['celery.worker.name'] === undefined));
  assert.deepEqual(
    shop.filter(({ metric }) => metric === 'celery.task.runtime').map(({ kind, value }) => [kind, value]),
    [['exponentialHistogram', 3]],
  );
  const prefetched = shop.filter(({ metric }) => metric === 'celery.task.prefetch_time');
  assert.deepEqual(
    prefetched.map(({ attributes }) => attributes['celery.worker.name']),
    ['w1@test'],
    'the attribute that the file asks for',
  );
  assert.equal(total(shop, 'celery.task.sent'), 3);
  assert.ok(!billing.some(({ metric }) => metric === 'celery.task.sent'), 'switched off for this service');
  assert.ok(metadata.every((each) => each['x-team'] === 'checkout'));
  assert.ok(metadata.length > 0);
});

function lives(name: string, amount: number) {
  return Array.from({ length: amount }, (_, index) => {
    const of = { uuid: `${name}-${index}` };
    return [
      event('task-sent', { ...of, name, queue: 'celery' }),
      event('task-received', { ...of, name }),
      event('task-started', of),
      event('task-succeeded', { ...of, runtime: 0.5 + index, result: 'None' }),
    ];
  }).flat();
}
