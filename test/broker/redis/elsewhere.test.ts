/** Where workers are that are not heard: other databases, prefixes and exchanges, as kombu’s bindings show them. */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { Redis as RedisClient } from 'ioredis';
import { databasesIn } from '../../../src/broker/redis/elsewhere.ts';
import type { RedisTransportSettings } from '../../../src/broker/redis/transport.ts';
import { DEADLINE_MS } from '../../deadline.ts';
import { type Redis, startRedis } from '../../real/redis.ts';
import { addressOf, observeSession } from '../observed-session.ts';
import { redisTransport } from './redis-transport.ts';

const SEP = '\u0006\u0016';
const NOWHERE = { places: [], exchanges: [] };

let redis: Redis;
before(async () => {
  redis = await startRedis({
    users: [
      'blind on >right allchannels resetkeys -@all +psubscribe +ping +select',
      // As docs/brokers.md says.
      'limited on >right resetchannels &/0.celeryev/* resetkeys ~_kombu.binding.* -@all +psubscribe +ping +select +sscan +scan +type +info +client|setname',
    ],
  });
});
after(() => redis.stop());

/** As a worker binds its queues, which kombu undoes when it ends. */
async function addWorker(t: TestContext, database: number, prefix = '', exchange = 'celeryev') {
  const client = new RedisClient(redis.port, '127.0.0.1', { db: database });
  const key = (name: string) => `${prefix}_kombu.binding.${name}`;
  await client.sadd(key('celery.pidbox'), `${SEP}${SEP}w1@shop.celery.pidbox`);
  await client.sadd(key(exchange), `worker.#${SEP}${SEP}celeryev.1`);
  await client.sadd(key('celery'), `celery${SEP}${SEP}celery`);
  t.after(async () => {
    await client.flushdb();
    client.disconnect();
  });
  return client;
}

async function lookFrom(
  t: TestContext,
  database: number,
  settings: Partial<RedisTransportSettings> = {},
  user = '',
) {
  const url = addressOf(`redis://${user}127.0.0.1:${redis.port}/${database}`);
  const { session, end } = observeSession(t, redisTransport(settings), { url, isObserver: true });
  const found = await (await session()).elsewhere?.(AbortSignal.timeout(DEADLINE_MS));
  await end();
  return found;
}

test('another database is found, among many other keys, and another prefix in any', async (t) => {
  const client = await addWorker(t, 3);
  const many = Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [`result-${index}`, 'x']));
  await client.mset(many);
  await addWorker(t, 4, 'shop:');
  assert.deepEqual(await lookFrom(t, 0), {
    ...NOWHERE,
    places: [
      { database: 3, prefix: undefined },
      { database: 4, prefix: 'shop:' },
    ],
  });
  assert.deepEqual((await lookFrom(t, 4))?.places, [
    { database: undefined, prefix: 'shop:' },
    { database: 3, prefix: undefined },
  ]);
});

test('where workers are, nothing else is looked at but the exchange of their events', async (t) => {
  await addWorker(t, 0, '', 'shopev');
  await addWorker(t, 3);
  assert.deepEqual(await lookFrom(t, 0), { ...NOWHERE, exchanges: ['shopev'] });
  assert.deepEqual(await lookFrom(t, 0, { eventExchange: 'shopev' }), NOWHERE);
  assert.deepEqual(await lookFrom(t, 3), NOWHERE);
});

test('a queue that was bound once, and replies to other programs, are no workers', async (t) => {
  const client = await addWorker(t, 3);
  await client.del('_kombu.binding.celery.pidbox', '_kombu.binding.celeryev');
  await client.sadd('_kombu.binding.reply.celery.pidbox', `1${SEP}${SEP}1.reply.celery.pidbox`);
  assert.deepEqual(await lookFrom(t, 0), NOWHERE);
});

test('the permissions that celery-otel needs are enough to find another database', async (t) => {
  await addWorker(t, 3);
  await addWorker(t, 4, 'shop:', 'shopev');
  const places = [
    { database: 3, prefix: undefined },
    { database: 4, prefix: 'shop:' },
  ];
  assert.deepEqual(await lookFrom(t, 0, {}, 'limited:right@'), { ...NOWHERE, places });
});

test('a user who may not look finds nothing, and nothing fails', async (t) => {
  await addWorker(t, 3);
  assert.deepEqual(await lookFrom(t, 0, {}, 'blind:right@'), NOWHERE);
});

test('only so many databases are looked at', () => {
  const keyspace = Array.from({ length: 100 }, (_, db) => `db${db}:keys=1,expires=0,avg_ttl=0`).join('\r\n');
  const found = databasesIn(`# Keyspace\r\n${keyspace}\r\n`, 1);
  assert.deepEqual([found.length, found[0], found[1]], [32, 0, 2]);
});
