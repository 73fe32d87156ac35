/**
 * The most memory that the process takes when a client of its Redis sends as much as a Redis allows: to the list of replies, and as
 * one message to all subscribers, for which this Redis has no limit.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import { total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { bound } from '../bound.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { startRedis } from '../real/redis.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { event, publish } from './publish.ts';

const MIB_MAX = 512;
const GIANT_BYTES = 400 * 1024 * 1024;
const REPLIES = '_kombu.binding.reply.celery.pidbox';
const WORKERS = '_kombu.binding.celery.pidbox';
/** A worker that never replies. */
const WORKER = '\x06\x16\x06\x16w1@host.celery.pidbox';

async function started(t: TestContext) {
  const redis = await startRedis();
  t.after(() => redis.stop());
  const client = new Redis(redis.url);
  t.after(() => client.disconnect());
  await client.config('SET', 'client-output-buffer-limit', 'pubsub 0 0 0');
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: redis.url,
    CELERY_OTEL_COLLECTION_INTERVAL: '0.5',
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    OTEL_METRIC_EXPORT_INTERVAL: '500',
  });
  await bridge.logged(/connected to/u);
  const peakMiB = (): number => {
    const [, kib] = /VmHWM:\s+(\d+) kB/u.exec(readFileSync(`/proc/${bridge.pid}/status`, 'utf8')) ?? [];
    return Math.round(Number(kib) / 1024);
  };
  return { redis, client, sink, bridge, peakMiB };
}

test('a reply of 400 MB stays at the server, and is counted', { timeout: 180_000 }, async (t) => {
  const { client, sink, peakMiB } = await started(t);
  await client.sadd(WORKERS, WORKER);
  const list = await until('a question is open', async () => {
    const [member] = await client.smembers(REPLIES);
    return member?.split('\x06\x16').at(-1);
  });
  await client.lpush(list, Buffer.alloc(GIANT_BYTES, 'x'));
  await sink.waitFor(
    'celery-otel',
    (points) =>
      total(points, 'celery_otel.control.replies', { 'celery_otel.reply.outcome': 'too_large' }) > 0,
    DEADLINE_MS,
  );
  bound(t, 'memory for a giant reply', peakMiB(), MIB_MAX, 'MiB');
});

test('a message of 400 MB to all ends the session, and those after it are counted', {
  timeout: 180_000,
}, async (t) => {
  const { redis, client, sink, bridge, peakMiB } = await started(t);
  await client.publish('/0.celeryev/task.sent', Buffer.alloc(GIANT_BYTES, 'x'));
  await bridge.logged(/a reply has more than \d+ bytes[\s\S]*connected to/u);
  assert.ok(await publish(redis.url, [event('task-sent', { uuid: 'a', name: 'shop.pay', queue: 'orders' })]));
  await sink.waitFor('shop', (points) => total(points, 'celery.task.sent') > 0, DEADLINE_MS);
  bound(t, 'memory for a giant message', peakMiB(), MIB_MAX, 'MiB');
});
