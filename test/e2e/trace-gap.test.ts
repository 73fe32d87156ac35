/** The command `trace` on a live Redis: what it says at first, and how it ends if a broken connection has hidden the end of runs. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis as RedisClient } from 'ioredis';
import { startRedis } from '../real/redis.ts';
import { startBridge } from './bridge-process.ts';
import { event, publish } from './publish.ts';

/** As workers do. */
const BEAT_MS = 2000;

test('after a gap, runs that have no end are unknown, and neither lost nor waited for', async (t) => {
  const redis = await startRedis();
  t.after(() => redis.stop());
  const root = randomUUID();
  const env = {
    CELERY_BROKER_URL: redis.url,
    CELERY_OTEL_WORKER_TIMEOUT: '6',
    CELERY_OTEL_LOST_TIMEOUT: '6',
  };
  const trace = startBridge(t, env, ['trace', root, '--log-level', 'info']);
  await trace.logged(/only events from now on are seen: .*celery-otel run exported it/u);
  await trace.logged(/connected to/u);
  let clock = 0;
  /** Each is later than those before. */
  const next = (type: string, fields: Readonly<Record<string, unknown>>) => {
    clock += 1;
    return event(type, { ...fields, clock });
  };
  const beat = (hostname: string, active: number) =>
    next('worker-heartbeat', { hostname, active, processed: 1 });
  const begin = (hostname: string, uuid: string, name: string) => [
    beat(hostname, 0),
    next('task-received', { hostname, uuid, name, root_id: root, parent_id: uuid === root ? null : root }),
    next('task-started', { hostname, uuid }),
    beat(hostname, 1),
  ];
  const begun = [
    ...begin('alive@shop', root, 'shop.order'),
    ...begin('silent@shop', randomUUID(), 'shop.pay'),
  ];
  // What is dropped is logged, so all before it has been read.
  const unreadable = next('task-started', { hostname: 'alive@shop', uuid: '' });
  assert.ok(await publish(redis.url, [...begun, unreadable]), 'it hears them');
  await trace.logged(/not counted/u);
  const client = new RedisClient(redis.url);
  t.after(() => client.disconnect());
  await client.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await trace.logged(/connected to.*connected to/su);
  // One worker goes on without its task, and the other is not heard of again.
  const ended = trace.ended();
  const isOver = ended.then(() => true);
  while (!(await Promise.race([isOver, delay(BEAT_MS)]))) await publish(redis.url, [beat('alive@shop', 0)]);
  const { code, stdout } = await ended;
  assert.equal(code, 0, trace.log());
  assert.match(
    stdout,
    /^trace \S+ {2}2 task runs .*\nshop\.order .* unknown {2}alive@shop\n└ shop\.pay .* unknown {2}silent@shop\n$/u,
  );
});
