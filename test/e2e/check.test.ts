/**
 * The command `check` against real clusters: healthy ones, and those with the faults that operators meet. Its output is
 * compared as a whole.
 */
import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'amqplib';
import { Redis as RedisClient } from 'ioredis';
import { type Receiver, startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { startHttpReceiver } from '../otlp/send/http-receiver.ts';
import { BROKER_NAMES, type BrokerName } from '../real/brokers.ts';
import { type CeleryWorker, celeryFlavours, runPython, SHOP_FOLDER, startWorker } from '../real/celery.ts';
import { type RabbitMq, startRabbitmq } from '../real/rabbitmq.ts';
import { type Redis, startRedis } from '../real/redis.ts';
import { startBridge } from './bridge-process.ts';
import type { ShopCluster } from './shop-clusters.ts';
import { sendTasks } from './shop-tasks.ts';

const flavour = celeryFlavours().reduce((_, newest) => newest);
/** Long enough for a busy machine to start Python, run tasks, and report them in heartbeats. */
const LONG_S = 10;
const SHORT_S = 2;
/** Then a check has begun to listen. */
const LISTENING_MS = 2500;

let rabbitmq: RabbitMq;
let redis: Redis;
let sink: Receiver;
let databases = 0;

before(async () => {
  [rabbitmq, redis, sink] = await Promise.all([
    startRabbitmq(),
    startRedis({
      password: 'right',
      configuration: ['databases 64'],
      // It may subscribe, and do nothing else.
      users: ['blind on >right resetkeys &* -@all +subscribe +psubscribe +ping +select +client|setname'],
    }),
    startReceiver(),
  ]);
  await rabbitmq.ctl('add_user', 'blind', 'right');
});

after(async () => {
  await Promise.all([rabbitmq?.remove(), redis?.stop(), sink?.stop()]);
});

async function clusterOn(broker: BrokerName): Promise<ShopCluster> {
  databases += 1;
  const database = redis.url.replace('://', '://:right@').replace(/0$/u, `${databases}`);
  return {
    flavour,
    backend: database,
    broker: broker === 'Redis' ? database : await rabbitmq.addVhost(`check-${databases}`),
  };
}

/** The output with all that differs between runs replaced, and the exit code. */
async function check(
  t: TestContext,
  env: Readonly<Record<string, string>>,
  seconds = SHORT_S,
  during: () => Promise<unknown> = async () => {},
) {
  const args = ['check', `--seconds=${seconds}`, '--strict'];
  const process = startBridge(
    t,
    { OTEL_SERVICE_NAME: 'shop', OTEL_EXPORTER_OTLP_ENDPOINT: sink.url, ...env },
    args,
  );
  await Promise.all([during(), process.ended(60_000)]);
  const { code, stdout } = await process.ended(1000);
  assert.equal(process.log(), '');
  const text = stdout
    .replaceAll(/127\.0\.0\.1:\d+(?:\/[^\s/]+)?/gu, 'HOST')
    .replaceAll(/(?<= in )\d+(?= s)/gu, 'N')
    .replaceAll(flavour.version, 'VERSION');
  return { code, lines: text.split('\n') };
}

async function worker(t: TestContext, options: Parameters<typeof startWorker>[0]): Promise<CeleryWorker> {
  const started = await startWorker(options);
  t.after(() => started.kill());
  return started;
}

/** What a report begins with; RabbitMQ also knows whether the exchange is there. */
const REACHED: Readonly<Record<BrokerName, readonly string[]>> = {
  RabbitMQ: ['shop', '  ✓ connected to amqp://guest:***@HOST', '  ✓ the exchange "celeryev" is there'],
  Redis: ['shop', '  ✓ connected to redis://:***@HOST'],
};
const NO_WORKERS = ['  ✗ no worker was seen in N s', '      Start a worker, or use the workers’ settings.'];
/** With Redis, a queue that does not exist is empty. */
const DEFAULT_QUEUE: Readonly<Record<BrokerName, readonly string[]>> = {
  RabbitMQ: [],
  Redis: ['  ✓ queue celery: 0 waiting, 0 consumers'],
};
/** Without any worker so far. */
const NO_EXCHANGE = [
  '  ✗ there is no exchange "celeryev" at amqp://guest:***@HOST',
  '      Start a worker, or use the workers’ settings.',
];
const EMPTY: Readonly<Record<BrokerName, readonly string[]>> = {
  RabbitMQ: [...REACHED.RabbitMQ.slice(0, 2), ...NO_EXCHANGE, ...NO_WORKERS, ''],
  Redis: [...REACHED.Redis, ...NO_WORKERS, ...DEFAULT_QUEUE.Redis, ''],
};
const BACKEND = ['backend', '  ✓ http://HOST (grpc) accepts exports', ''];
const SEND =
  'from shop_without_events import app; [app.send_task("shop.price_item", ["cup"], queue="orders") for _ in range(3)]; print("null")';

function found(failures: string, warnings: string): readonly string[] {
  return [`Found: ${failures}, ${warnings}.`, ''];
}

describe('check', { concurrency: BROKER_NAMES.length }, () => {
  for (const name of BROKER_NAMES) {
    describe(name, { concurrency: 1 }, () => {
      test('a healthy cluster has neither failures nor warnings', { timeout: 120_000 }, async (t) => {
        const cluster = await clusterOn(name);
        await worker(t, { ...cluster, nodename: 'w1@shop', queues: ['orders'] });
        const orders = Array.from({ length: 5 }, () => ({ task: 'shop.check_stock', args: ['cup'] }));
        const { lines, code } = await check(t, { CELERY_BROKER_URL: cluster.broker }, LONG_S, async () => {
          await delay(LISTENING_MS);
          await sendTasks(cluster, orders);
        });
        assert.deepEqual(lines, [
          ...REACHED[name],
          '  ✓ 1 worker: 1 sent heartbeats, 1 replied to remote control',
          '  ✓ w1@shop: Celery VERSION, pool prefork of 2',
          '  ✓ task events are on: w1@shop',
          '  ✓ clients send task-sent events',
          ...DEFAULT_QUEUE[name],
          '  ✓ queue orders: 0 waiting, 1 consumer',
          '',
          ...BACKEND,
          ...found('no failures', 'no warnings'),
        ]);
        assert.equal(code, 0);
      });

      test('without workers it says so, and fails', { timeout: 60_000 }, async (t) => {
        const { broker } = await clusterOn(name);
        const { lines, code } = await check(t, { CELERY_BROKER_URL: broker });
        const failures = name === 'RabbitMQ' ? '2 failures' : '1 failure';
        assert.deepEqual(lines, [...EMPTY[name], ...BACKEND, ...found(failures, 'no warnings')]);
        assert.equal(code, 2);
        assert.deepEqual(await leftAt(name, broker), [], 'nothing stays at the broker');
      });

      test('workers without task events are named', { timeout: 120_000 }, async (t) => {
        const cluster = await clusterOn(name);
        const application = {
          ...{ ...cluster, folder: import.meta.dirname, app: 'shop_without_events' },
          env: { PYTHONPATH: SHOP_FOLDER },
        };
        await worker(t, { ...application, nodename: 'quiet@shop', queues: ['orders'], taskEvents: false });
        const { lines, code } = await check(t, { CELERY_BROKER_URL: cluster.broker }, LONG_S, async () => {
          await delay(LISTENING_MS);
          await runPython(flavour, '-c', [SEND], cluster, application);
        });
        assert.deepEqual(lines, [
          ...REACHED[name],
          '  ✓ 1 worker: 1 sent heartbeats, 1 replied to remote control',
          '  ✓ quiet@shop: Celery VERSION, pool prefork of 2',
          '  ✗ quiet@shop ran tasks and sent no task events',
          '      Start them with celery worker -E, or set worker_send_task_events = True; enable_events of celery-otel switches them on without a restart.',
          '  ✓ clients send task-sent events',
          ...DEFAULT_QUEUE[name],
          '  ✓ queue orders: 0 waiting, 1 consumer',
          '',
          ...BACKEND,
          ...found('1 failure', 'no warnings'),
        ]);
        assert.equal(code, 2);
      });

      test('a wrong password is told', { timeout: 60_000 }, async (t) => {
        const { broker } = await clusterOn(name);
        const { lines, code } = await check(t, {
          CELERY_BROKER_URL: broker.replace(/:[^:/@]+@/u, ':wrong@'),
        });
        const refusal: Readonly<Record<BrokerName, string>> = {
          RabbitMQ:
            '  ✗ amqp://guest:***@HOST refuses the connection: Handshake terminated by server: 403 (ACCESS-REFUSED) with message "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details see the broker logfile."',
          Redis:
            '  ✗ redis://:***@HOST refuses the connection: WRONGPASS invalid username-password pair or user is disabled.',
        };
        assert.deepEqual(lines, [
          'shop',
          refusal[name],
          '      Correct broker_url, or grant the permissions (docs/brokers.md#permissions).',
          '',
          ...BACKEND,
          ...found('1 failure', 'no warnings'),
        ]);
        assert.equal(code, 2);
      });

      test('missing permissions are named', { timeout: 60_000 }, async (t) => {
        const { broker } = await clusterOn(name);
        const events = '^celeryev(\\..*)?$';
        const vhost = new URL(broker).pathname.slice(1);
        if (name === 'RabbitMQ')
          await rabbitmq.ctl('set_permissions', '-p', vhost, 'blind', events, events, events);
        await makeExchanges(name, broker);
        const asBlind = broker.replace(/\/\/[^@]*@/u, '//blind:right@');
        const { lines, code } = await check(t, { CELERY_BROKER_URL: asBlind });
        const missing: Readonly<Record<BrokerName, readonly string[]>> = {
          RabbitMQ: [
            `  ! the user may not publish to the default exchange: Channel closed by server: 403 (ACCESS-REFUSED) with message "ACCESS_REFUSED - access to exchange 'amq.default' in vhost '${vhost}' refused for user 'blind'"`,
            '      Grant the optional permission (docs/brokers.md#permissions), or raise lost_timeout.',
            '  ! the workers could not be asked: there is no exchange "reply.celery.pidbox" yet, and we may not declare it; a Celery worker declares it with its first reply; or grant the user the configure permission',
            '      Grant the permissions (docs/brokers.md#permissions), or set control_commands: none.',
          ],
          Redis: [
            "  ! the workers could not be asked: NOPERM this user has no permissions to run the 'srem' command; docs/brokers.md has the permissions that the user needs",
            '      Grant the permissions (docs/brokers.md#permissions), or set control_commands: none.',
            "  ! the broker did not tell all about the queues: NOPERM this user has no permissions to run the 'llen' command; docs/brokers.md has the permissions that the user needs",
            '      Grant the permissions (docs/brokers.md#permissions).',
          ],
        };
        assert.deepEqual(lines, [
          ...REACHED[name].map((line) => line.replace(/(?<=:\/\/)[^@]*/u, 'blind:***')),
          ...missing[name],
          ...NO_WORKERS,
          '',
          ...BACKEND,
          ...found('1 failure', '2 warnings'),
        ]);
        assert.equal(code, 2);
      });

      test('a backend that refuses, and one that is down, are told', { timeout: 60_000 }, async (t) => {
        const { broker } = await clusterOn(name);
        const backend = await startHttpReceiver({ answer: (response) => response.writeHead(401).end('no') });
        t.after(() => backend.stop());
        const env = {
          CELERY_BROKER_URL: broker,
          OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
          OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${backend.port}`,
        };
        const failures = name === 'RabbitMQ' ? '3 failures' : '2 failures';
        const refused = await check(t, env);
        assert.deepEqual(refused.lines, [
          ...EMPTY[name],
          'backend',
          '  ✗ http://HOST/metrics (http/protobuf) refuses exports: access denied: correct the credentials in otlp_headers (HTTP 401 Unauthorized)',
          '      Correct the headers, certificates or endpoint; see exporting (docs/exporting.md#when-something-fails).',
          '',
          ...found(failures, 'no warnings'),
        ]);
        await backend.stop();
        const down = await check(t, env);
        assert.deepEqual(down.lines, [
          ...EMPTY[name],
          'backend',
          '  ✗ http://HOST/metrics (http/protobuf) cannot be reached: nothing is listening on HOST: start the backend, or correct the endpoint (in a container, localhost is the container itself) (connect ECONNREFUSED HOST)',
          '      Correct the endpoint or the protocol, or start the backend; see exporting (docs/exporting.md#when-something-fails).',
          '',
          ...found(failures, 'no warnings'),
        ]);
        assert.deepEqual([refused.code, down.code], [2, 2]);
      });

      test('others that export the same service are counted', { timeout: 120_000 }, async (t) => {
        const { broker } = await clusterOn(name);
        const env = { CELERY_BROKER_URL: broker, OTEL_SERVICE_NAME: 'shop' };
        const run = async () => {
          const bridge = startBridge(t, { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: sink.url });
          await bridge.logged(/connected to/u, 10_000);
        };
        const others = async () => (await check(t, env)).lines.filter((line) => line.includes('listen'));
        assert.deepEqual(await others(), []);
        await run();
        assert.deepEqual(await others(), ['  ✓ a celery-otel listens to these events already']);
        await run();
        assert.deepEqual(await others(), ['  ✗ 2 or more celery-otel listen to these events']);
      });

      test('a solo worker that is busy is noticed', { timeout: 120_000 }, async (t) => {
        const cluster = await clusterOn(name);
        await worker(t, { ...cluster, nodename: 'solo@shop', queues: ['orders'], pool: 'solo' });
        await sendTasks(cluster, [{ task: 'shop.check_stock', args: ['cup', 60] }]);
        const { lines, code } = await check(t, { CELERY_BROKER_URL: cluster.broker }, LONG_S);
        // Events of the task may still have come.
        assert.deepEqual(
          lines.filter((line) => !line.includes('queue orders')),
          [
            ...REACHED[name],
            '  ✗ no worker was seen in N s, but questions reach one',
            '      Check again when the task has ended. Otherwise use the workers’ settings, and start them without --without-heartbeat.',
            ...DEFAULT_QUEUE[name],
            '',
            ...BACKEND,
            ...found('1 failure', 'no warnings'),
          ],
        );
        assert.equal(code, 2);
      });
    });
  }
});

/** As workers do. */
async function makeExchanges(name: BrokerName, broker: string): Promise<void> {
  if (name === 'Redis') return;
  const model = await connect(broker);
  const channel = await model.createChannel();
  await channel.assertExchange('celeryev', 'topic', { durable: true });
  await channel.assertExchange('celery.pidbox', 'fanout', { durable: false });
  await model.close();
}

/** Exchanges, queues and keys at the broker that are not its own. */
async function leftAt(name: BrokerName, broker: string): Promise<readonly string[]> {
  if (name === 'Redis') {
    const client = new RedisClient(broker);
    const keys = await client.keys('*');
    client.disconnect();
    return keys;
  }
  const vhost = new URL(broker).pathname.slice(1);
  const [exchanges, queues] = await Promise.all([
    rabbitmq.ctl('list_exchanges', '-p', vhost, 'name'),
    rabbitmq.ctl('list_queues', '-p', vhost, 'name'),
  ]);
  return `${exchanges}\n${queues}`.split('\n').filter((line) => !/^(?:name|amq\..*)?$/u.test(line));
}
