import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, constants, deflateSync, zstdCompressSync } from 'node:zlib';
import { total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { borrowRabbitmq } from '../real/lent-rabbitmq.ts';
import { startBridge } from './bridge-process.ts';
import { event, publish, publishRaw } from './publish.ts';

const BYTES = 8 * 1024 * 1024;
const EACH = 20;

test('compression bombs neither stop a bridge with 256 MB nor keep a real event from being counted', async (t) => {
  const rabbitmq = await borrowRabbitmq();
  t.after(() => rabbitmq.remove());
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const env = {
    CELERY_BROKER_URL: rabbitmq.url,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
  };
  const bridge = startBridge(t, env, ['run'], ['--max-old-space-size=256']);
  await bridge.logged(/connected to/u);

  const texts = ['['.repeat(BYTES / 2) + ']'.repeat(BYTES / 2), `[${'{},'.repeat(BYTES / 3 - 2)}{}]`];
  const bombs = texts.flatMap((text) => [
    { body: zstdCompressSync(text), headers: { compression: 'application/zstd' } },
    {
      body: brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
      headers: { compression: 'application/x-brotli' },
    },
    { body: deflateSync(text), headers: { compression: 'application/x-gzip' } },
  ]);
  const message = { routingKey: 'task.multi', contentType: 'application/json', contentEncoding: 'utf-8' };
  const messages = bombs.flatMap((bomb) => Array.from({ length: EACH }, () => ({ ...message, ...bomb })));
  await publishRaw(rabbitmq.url, messages);
  await publish(rabbitmq.url, [event('task-sent', { name: 'shop.pay', queue: 'orders' })]);

  await sink.waitFor('shop', (points) => total(points, 'celery.task.sent') === 1, DEADLINE_MS);
  const points = await sink.waitFor(
    'celery-otel',
    (latest) => total(latest, 'celery_otel.input.dropped') >= messages.length,
    DEADLINE_MS,
  );
  const reason = { 'celery_otel.drop.reason': 'expands-too-far' };
  assert.equal(total(points, 'celery_otel.input.dropped', reason), messages.length);
  assert.ok(bridge.alive());
});
