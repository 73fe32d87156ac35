import assert from 'node:assert/strict';
import { test } from 'node:test';
import { total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { REJECTION_REASONS } from '../../src/celery/rejection.ts';
import { startRabbitmq } from '../real/rabbitmq.ts';
import { startBridge } from './bridge-process.ts';
import { hostileMessages } from './hostile-messages.ts';
import { event, publish, publishRaw } from './publish.ts';

const MESSAGES = 100_000;
const SEED = 20_261_121;

test('100,000 hostile messages leave it running, each counted under its reason', {
  timeout: 180_000,
}, async (t) => {
  const rabbitmq = await startRabbitmq();
  t.after(() => rabbitmq.remove());
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: rabbitmq.url,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
  });
  await bridge.logged(/connected to/u, 10_000);

  const { messages, expected } = hostileMessages(SEED, MESSAGES);
  // In portions below the limit of the bridge's queue, so that RabbitMQ drops none.
  for (let from = 0; from < messages.length; from += 20_000) {
    await publishRaw(rabbitmq.url, messages.slice(from, from + 20_000));
    const until = Math.min(from + 20_000, messages.length);
    await sink.waitFor(
      'celery-otel',
      (points) => total(points, 'celery_otel.input.dropped') >= until,
      60_000,
    );
  }

  const points = sink.latest('celery-otel');
  const counted = Object.keys(expected).map((reason) => [
    reason,
    total(points, 'celery_otel.input.dropped', { 'celery_otel.drop.reason': reason }),
  ]);
  assert.deepEqual(withOneOfCompression(Object.fromEntries(counted)), withOneOfCompression(expected));
  assert.equal(
    total(points, 'celery_otel.input.dropped'),
    MESSAGES,
    'nothing was counted under another reason',
  );
  assert.deepEqual(
    Object.keys(expected).sort(),
    Object.keys(REJECTION_REASONS).sort(),
    'every reason was tried',
  );

  await publish(rabbitmq.url, [event('task-sent', { name: 'shop.after_all_that', queue: 'orders' })]);
  const after = await sink.waitFor('shop', (latest) => total(latest, 'celery.task.sent') === 1, 10_000);
  assert.equal(
    after.find((point) => point.metric === 'celery.task.sent')?.attributes['celery.task.name'],
    'shop.after_all_that',
  );
  assert.ok(bridge.alive());
  const lines = bridge.log().split('\n').length;
  assert.ok(lines < 200, `the flood made ${lines} log lines`);
});

/** So many corrupt bodies exceed the time for decompression, and are no longer looked into. */
function withOneOfCompression(reasons: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const { 'corrupt-compression': corrupt = 0, 'expands-too-far': tooFar = 0, ...others } = reasons;
  return { ...others, compression: corrupt + tooFar };
}
