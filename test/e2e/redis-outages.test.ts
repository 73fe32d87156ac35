/**
 * A Redis that cuts off our subscriber again and again, stops answering, or is replaced by its sentinels, while tasks go on:
 * the bridge subscribes again in time, and what it missed is counted.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis as Client } from 'ioredis';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { envelopeOf } from '../broker/redis/redis-publisher.ts';
import { startRedis } from '../real/redis.ts';
import { MASTER_NAME, startSentinels } from '../real/sentinels.ts';
import { startBridge } from './bridge-process.ts';
import { event } from './publish.ts';
import { receivedTotals } from './received-totals.ts';

const WORKER = 'w1@shop';
const PACE_MS = 10;
const HEARTBEAT_TASKS = 20;
const KILLS = 10;
const BACK_WITHIN_MS = 2000;
const HEALTH_CHECK_S = 1;
const SOCKET_TIMEOUT_S = 1;
/** The sentinels agree after a second, and need some more to promote the replica. */
const FAILOVER_MS = 10_000;
const AFTER_FAILOVER_MS = 5000;

/** Each task starts and succeeds; heartbeats tell how many there were. They go to whoever is the master. */
function startTasks(t: TestContext, url: string) {
  let client = clientOf(url);
  let clock = 0;
  let tasks = 0;
  const send = (type: string, fields: object): void => {
    clock += 1;
    const body = Buffer.from(JSON.stringify({ ...event(type, { hostname: WORKER, ...fields }), clock }));
    const routingKey = type.replace('-', '.');
    const envelope = envelopeOf('celeryev', {
      ...{ routingKey, contentType: 'application/json', contentEncoding: 'utf-8', headers: {}, body },
    });
    // A worker’s event is lost as well if its broker is away.
    client.publish(`/0.celeryev/${routingKey}`, envelope).catch(() => undefined);
  };
  const beat = () => send('worker-heartbeat', { active: 0, freq: 2, processed: tasks });
  const timer = setInterval(() => {
    tasks += 1;
    const { uuid } = event('task-received');
    send('task-received', { uuid, name: 'shop.pay' });
    send('task-started', { uuid });
    send('task-succeeded', { uuid, runtime: 0.01 });
    if (tasks % HEARTBEAT_TASKS === 0) beat();
  }, PACE_MS);
  send('worker-online', { active: 0, freq: 2, processed: 0 });
  const stop = () => {
    clearInterval(timer);
    client.disconnect();
  };
  t.after(stop);
  return {
    moveTo(next: string) {
      client.disconnect();
      client = clientOf(next);
    },
    /** Resolves when the last event is published, with the number of tasks. */
    async finish(): Promise<number> {
      clearInterval(timer);
      beat();
      await client.ping();
      return tasks;
    },
  };
}

function clientOf(url: string): Client {
  return new Client(url, { protocol: 2, retryStrategy: () => 50 }).on('error', () => undefined);
}

/** A bridge, and what it has exported. */
async function startListening(t: TestContext, url: string) {
  const totals = receivedTotals();
  const counts = () => ({
    started: totals.of('shop', 'celery.task.started'),
    lost: totals.of('shop', 'celery.worker.events.lost'),
    connections: totals.of('celery-otel', 'celery_otel.broker.connections'),
  });
  let falls = 0;
  const receiver = await startReceiver({
    onExport({ points }) {
      const before = counts();
      totals.take(points);
      const { started, lost, connections } = counts();
      if (started < before.started || lost < before.lost || connections < before.connections) falls += 1;
    },
  });
  t.after(() => receiver.stop());
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: url,
    ...(url.startsWith('sentinel') ? { CELERY_MASTER_NAME: MASTER_NAME } : {}),
    CELERY_HEALTH_CHECK_INTERVAL: String(HEALTH_CHECK_S),
    CELERY_SOCKET_TIMEOUT: String(SOCKET_TIMEOUT_S),
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_METRIC_EXPORT_INTERVAL: '500',
  });
  await bridge.logged(/connected to/u);
  return { bridge, counts, falls: () => falls };
}

/** What a check says. */
async function check(t: TestContext, url: string): Promise<string> {
  const env = { CELERY_BROKER_URL: url, CELERY_MASTER_NAME: MASTER_NAME, OTEL_SERVICE_NAME: 'shop' };
  return (await startBridge(t, env, ['check', '--seconds=1']).ended()).stdout;
}

async function until(what: string, timeoutMs: number, is: () => boolean | Promise<boolean>): Promise<number> {
  const startMs = performance.now();
  while (!(await is())) {
    assert.ok(performance.now() - startMs < timeoutMs, `${what}: not within ${timeoutMs} ms`);
    await delay(20);
  }
  return performance.now() - startMs;
}

/** The id of our subscribed connection at the server; undefined if there is none. */
async function subscriber(client: Client): Promise<string | undefined> {
  const list = String(await client.call('CLIENT', 'LIST', 'TYPE', 'pubsub'));
  return /\bid=(?<id>\d+)\b.*\bpsub=[1-9]/u.exec(list)?.groups?.['id'];
}

test(`a subscriber that is cut off ${KILLS} times is back within ${BACK_WITHIN_MS} ms each time, and each gap is counted`, {
  timeout: 90_000,
}, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.stop());
  const { bridge, counts, falls } = await startListening(t, redis.url);
  const tasks = startTasks(t, redis.url);
  const admin = clientOf(redis.url);
  t.after(() => admin.disconnect());
  const tookMs: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    await delay(300);
    const before = await subscriber(admin);
    assert.notEqual(before, undefined);
    await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    const isBack = async () => ![undefined, before].includes(await subscriber(admin));
    tookMs.push(await until('it is subscribed again', BACK_WITHIN_MS, isBack));
  }
  t.diagnostic(`${tookMs.map((ms) => Math.round(ms)).join(' ')} ms`);
  const processed = await tasks.finish();
  await until('all tasks are counted', 15_000, () => counts().started + counts().lost === processed);
  await until('all sessions are counted', 5000, () => counts().connections === KILLS + 1);
  assert.equal(falls(), 0);
  assert.ok(counts().started > processed / 2 && bridge.alive());
});

test('a server that stops answering under load is noticed in time and connected again, and the gap is counted', {
  timeout: 60_000,
}, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.stop());
  const { bridge, counts, falls } = await startListening(t, redis.url);
  const tasks = startTasks(t, redis.url);
  await delay(1000);
  redis.pause();
  await bridge.logged(/no answer within 2000 ms/u);
  redis.resume();
  await until('it is connected again', 10_000, () => counts().connections === 2);
  await delay(1000);
  const processed = await tasks.finish();
  await until('all tasks are counted', 15_000, () => counts().started + counts().lost === processed);
  assert.equal(falls(), 0);
});

test('a master that dies under load is replaced by its sentinels, and events are counted again soon after', {
  timeout: 90_000,
}, async (t) => {
  const sentinels = await startSentinels();
  t.after(() => sentinels.stop());
  const { bridge, counts, falls } = await startListening(t, sentinels.url);
  const tasks = startTasks(t, (await sentinels.master()).url);
  await until('tasks are counted', 10_000, () => counts().started > 100);
  const checked = await check(t, sentinels.url);
  assert.match(checked, /✓ connected to sentinel:\/\/\S+\n {2}✓ 1 worker: 1 sent heartbeats/u);
  const failing = sentinels.failOver();
  const startMs = performance.now();
  const master = await failing;
  const failoverMs = performance.now() - startMs;
  assert.ok(failoverMs < FAILOVER_MS, `${failoverMs} ms`);
  tasks.moveTo(master.url);
  const before = counts().started;
  const backMs = await until('events flow again', AFTER_FAILOVER_MS, () => counts().started > before);
  t.diagnostic(`failover ${Math.round(failoverMs)} ms, events ${Math.round(backMs)} ms later`);
  const processed = await tasks.finish();
  await until('all tasks are counted', 15_000, () => counts().started + counts().lost === processed);
  assert.deepEqual([falls(), counts().connections, bridge.alive()], [0, 2, true]);
});
