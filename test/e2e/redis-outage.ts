/** Tasks on a Redis that fails, and a bridge that counts them: what the tests and the limits of such outages have in common. */
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis as Client } from 'ioredis';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { envelopeOf } from '../broker/redis/redis-publisher.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { MASTER_NAME, type Sentinels, startSentinels } from '../real/sentinels.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { event } from './publish.ts';
import { receivedTotals } from './received-totals.ts';

const WORKER = 'w1@shop';
const PACE_MS = 10;
const HEARTBEAT_TASKS = 20;
/** So many heartbeats are enough for a check to see the worker. */
const HEARD = 5;
export const KILLS = 10;

/** How soon the bridge doubts a server that does not answer. */
export interface Doubt {
  readonly healthCheckS: number;
  readonly socketTimeoutS: number;
}
export const EARLY: Doubt = { healthCheckS: 1, socketTimeoutS: 1 };
/** Later than any busy machine makes it wait, so that only what a test does ends a connection. */
export const LATE: Doubt = { healthCheckS: 60, socketTimeoutS: 30 };

/** Each task starts and succeeds; heartbeats tell how many there were. They go to whoever is the master. */
export function startTasks(t: TestContext, url: string) {
  let client = clientOf(url);
  let clock = 0;
  let tasks = 0;
  const heartbeatReceivers: number[] = [];
  const send = (type: string, fields: object): void => {
    clock += 1;
    const body = Buffer.from(JSON.stringify({ ...event(type, { hostname: WORKER, ...fields }), clock }));
    const routingKey = type.replace('-', '.');
    const envelope = envelopeOf('celeryev', {
      ...{ routingKey, contentType: 'application/json', contentEncoding: 'utf-8', headers: {}, body },
    });
    // A worker’s event is lost as well if its broker is away.
    client.publish(`/0.celeryev/${routingKey}`, envelope).then(
      (receivers) => {
        if (type === 'worker-heartbeat') heartbeatReceivers.push(receivers);
      },
      () => undefined,
    );
  };
  const beat = () => send('worker-heartbeat', { active: 0, processed: tasks });
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
    /** Resolves once there is one more who receives heartbeats than at the call, and some have come to it. */
    async heardByOneMore(): Promise<void> {
      const before = await until('heartbeats are received', () => heartbeatReceivers.at(-1));
      await until(
        'one more receives heartbeats',
        () => heartbeatReceivers.slice(-HEARD).every((receivers) => receivers > before),
        () => heartbeatReceivers.slice(-HEARD),
      );
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
export async function startListening(t: TestContext, url: string, doubt: Doubt) {
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
    CELERY_HEALTH_CHECK_INTERVAL: String(doubt.healthCheckS),
    CELERY_SOCKET_TIMEOUT: String(doubt.socketTimeoutS),
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_METRIC_EXPORT_INTERVAL: '500',
  });
  await bridge.logged(/connected to/u);
  return {
    ...{ bridge, counts },
    /** How often a total was less than before. */
    falls: () => falls,
    /** Resolves once each of so many tasks is counted as started, or as lost. */
    counted: (tasks: number) =>
      until(
        'all tasks are counted',
        () => counts().started + counts().lost === tasks,
        () => ({ ...counts(), tasks }),
      ),
  };
}

/** Cuts off the subscriber again and again. @returns how long each time it took to be back, milliseconds */
export async function cutOffAgainAndAgain(t: TestContext, url: string): Promise<readonly number[]> {
  const admin = clientOf(url);
  t.after(() => admin.disconnect());
  const tookMs: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    // Some tasks in between.
    await delay(300);
    const before = await until('it is subscribed', () => subscriber(admin));
    await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    const cutOffMs = performance.now();
    await until('it is subscribed again', async () => ![undefined, before].includes(await subscriber(admin)));
    tookMs.push(performance.now() - cutOffMs);
  }
  t.diagnostic(`${tookMs.map((ms) => Math.round(ms)).join(' ')} ms`);
  return tookMs;
}

/** The id of our subscribed connection at the server; undefined if there is none. */
async function subscriber(client: Client): Promise<string | undefined> {
  const list = String(await client.call('CLIENT', 'LIST', 'TYPE', 'pubsub'));
  return /\bid=(?<id>\d+)\b.*\bpsub=[1-9]/u.exec(list)?.groups?.['id'];
}

/** Tasks on a master, which dies under them. @returns what was counted, and how long the change and the return took */
export async function failOver(t: TestContext) {
  const sentinels: Sentinels = await startSentinels();
  t.after(() => sentinels.stop());
  const listening = await startListening(t, sentinels.url, LATE);
  const { counts } = listening;
  const tasks = startTasks(t, (await sentinels.master()).url);
  await until('tasks are counted', () => counts().started > 100, counts);
  const checked = await check(t, sentinels.url, tasks.heardByOneMore());
  const diedMs = performance.now();
  const master = await sentinels.failOver();
  const failoverMs = performance.now() - diedMs;
  tasks.moveTo(master.url);
  const before = counts().started;
  const movedMs = performance.now();
  await until('events flow again', () => counts().started > before, counts);
  const backMs = performance.now() - movedMs;
  t.diagnostic(`failover ${Math.round(failoverMs)} ms, events ${Math.round(backMs)} ms later`);
  return { ...listening, tasks, checked, failoverMs, backMs };
}

/** What a check says that has seen enough by then. */
async function check(t: TestContext, url: string, hasSeen: Promise<void>): Promise<string> {
  const env = { CELERY_BROKER_URL: url, CELERY_MASTER_NAME: MASTER_NAME, OTEL_SERVICE_NAME: 'shop' };
  const process = startBridge(t, env, ['check', `--seconds=${(2 * DEADLINE_MS) / 1000}`]);
  await hasSeen;
  process.signal('SIGINT');
  return (await process.ended()).stdout;
}
