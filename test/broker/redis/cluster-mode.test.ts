/**
 * A Redis in cluster mode is refused, and with all keys in one slot it is listened to, polled and asked like any other. A worker is
 * played by its keys.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis as Client } from 'ioredis';
import type { RedisUrl } from '../../../src/broker/broker-url.ts';
import type { ControlQuestion } from '../../../src/broker/control/control.ts';
import { RedisControl } from '../../../src/broker/redis/control.ts';
import { QueuePoll } from '../../../src/broker/redis/queue-poll.ts';
import { DEADLINE_MS } from '../../deadline.ts';
import { freePort } from '../../real/free-port.ts';
import { startRedis } from '../../real/redis.ts';
import { until } from '../../until.ts';
import { SETTINGS } from '../broker-settings.ts';
import { addressOf, observeSession } from '../observed-session.ts';
import { POLL_KEYS } from '../poll-keys.ts';
import { redisTransport } from './redis-transport.ts';

const PREFIX = '{q}:';
const REPLIES = `${PREFIX}_kombu.binding.reply.celery.pidbox`;

test('without a hash tag it is refused; with one, polls and questions stay within its slot', async (t) => {
  const redis = await startRedis({
    configuration: ['cluster-enabled yes', `cluster-port ${await freePort()}`],
  });
  t.after(() => redis.stop());
  const client = new Client(redis.url, { protocol: 2 });
  const listener = new Client(redis.url, { protocol: 2 });
  t.after(() => {
    client.disconnect();
    listener.disconnect();
  });
  await client.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
  // The state of a cluster is only ok some time after its slots were given.
  await until('the cluster takes writes', () =>
    client.lpush(`${PREFIX}orders`, 'a', 'b').catch(() => undefined),
  );
  const member = '\u0006\u0016\u0006\u0016a@pod.celery.pidbox';
  await client.sadd(`${PREFIX}_kombu.binding.celery.pidbox`, member);
  await client.sadd(`${PREFIX}_kombu.binding.orders`, 'orders\u0006\u0016\u0006\u0016orders');

  const settings = { ...SETTINGS.redis, eventExchange: 'celeryev', globalKeyprefix: PREFIX };
  const address = addressOf(redis.url);
  assert.ok('db' in address);
  const url: RedisUrl = address;
  const { signal } = new AbortController();
  const refused = await observeSession(t, redisTransport(), { url }).ended;
  assert.ok(refused.kind === 'refused');
  assert.match(refused.reason, /only if a hash tag in global_keyprefix.*not in cluster mode/u);
  const session = observeSession(t, redisTransport({ globalKeyprefix: PREFIX }), { url });
  await session.ready();
  await client.publish(`${PREFIX}/0.celeryev/worker.heartbeat`, '{}');
  assert.equal((await session.delivered(1)).length, 1);

  const poll = new QueuePoll(url, settings, DEADLINE_MS);
  t.after(() => poll.end());
  const { queues, incomplete } = await poll.read(
    { queues: ['orders'], unackedByQueue: true, namespace: 'celery', redis: POLL_KEYS },
    signal,
  );
  assert.deepEqual([queues[0]?.length, incomplete], [2, []]);

  const heard: string[] = [];
  listener.on('message', (channel: string) => heard.push(channel));
  await listener.subscribe(`${PREFIX}/0.celery.pidbox`);
  const control = new RedisControl(url, settings, DEADLINE_MS, 100_000);
  const question: ControlQuestion = {
    ...{ command: 'ping', namespace: 'celery', timeoutMs: 300, take: () => false },
    redis: { owner: 'test', separator: undefined },
  };
  const { receivers } = await control.ask(question, signal);
  assert.equal(receivers, 1);
  await until('the question was heard', () => heard.length === 1);
  await control.end();
  assert.equal(await client.exists(REPLIES), 0);
});
