/**
 * The command `check` against real clusters: healthy ones, and those with the faults that operators meet. Its output is
 * compared as a whole.
 */
import assert from 'node:assert/strict';
import { connect as connectTcp } from 'node:net';
import { createInterface } from 'node:readline';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'amqplib';
import { Redis as RedisClient } from 'ioredis';
import { type Receiver, startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { SYMPTOMS, withoutMarkdown } from '../../src/health/symptoms.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { startHttpReceiver } from '../otlp/send/http-receiver.ts';
import { BROKER_NAMES, type BrokerName } from '../real/brokers.ts';
import { celeryFlavours, runPython, SHOP_FOLDER } from '../real/celery.ts';
import { borrowRabbitmq, type Vhosts, vhostOf } from '../real/lent-rabbitmq.ts';
import { type Redis, startRedis } from '../real/redis.ts';
import { until } from '../until.ts';
import { type BridgeProcess, startBridge } from './bridge-process.ts';
import { event, publish } from './publish.ts';
import { employ, type ShopCluster } from './shop.ts';
import { endsOf, sendTasks } from './shop-tasks.ts';
import { ROUND_MS, type Watching, watchCheck } from './watched-check.ts';

const [oldest, newest = oldest] = celeryFlavours();
/** Of a watch that a test ends; it would end by itself after any deadline. */
const ENDLESS_S = (2 * DEADLINE_MS) / 1000;
/** Of one that is to end by itself. */
const SHORT_S = 4;
/** So long without an answer that what was read of the queues is not known any more. */
const LONG_MS = 20_000;
/** What a backend that never replies is given. */
const SLOW_MS = 500;
/** Of a worker’s clock. */
const FAST_S = 90;
/** Meanwhile, a check asks twice. */
const BEATS = 12;
const BEAT_MS = 300;
/** So that heartbeats come between tasks. */
const ROUNDS = 3;
/**
 * So many questions take as many heartbeats, too; on Redis, one poll finds the bindings of queues, and one after it their depths.
 */
const SOME_QUESTIONS = 4;

let rabbitmq: Vhosts;
let redis: Redis;
/** Without workers in any database: those of others would be named. */
let vacant: Redis;
let sink: Receiver;
let databases = 0;

before(async () => {
  [rabbitmq, redis, vacant, sink] = await Promise.all([
    borrowRabbitmq(),
    startRedis({
      tls: 'server-only',
      password: 'right',
      configuration: ['databases 64'],
      // It may subscribe, and do nothing else.
      users: ['blind on >right resetkeys &* -@all +subscribe +psubscribe +ping +select +client|setname'],
    }),
    startRedis({ password: 'right', configuration: ['databases 64'] }),
    startReceiver(),
  ]);
});

after(async () => {
  await Promise.all([rabbitmq?.remove(), redis?.stop(), vacant?.stop(), sink?.stop()]);
});

async function clusterOn(broker: BrokerName, flavour = newest): Promise<ShopCluster> {
  databases += 1;
  const database = redis.url.replace('://', '://:right@').replace(/0$/u, `${databases}`);
  return {
    flavour,
    backend: database,
    broker: broker === 'Redis' ? database : await rabbitmq.addVhost(`check-${databases}`),
  };
}

/** Where nobody is. */
async function vacantOn(name: BrokerName): Promise<string> {
  const { broker } = await clusterOn(name);
  return name === 'Redis' ? broker.replace(`:${redis.port}/`, `:${vacant.port}/`) : broker;
}

/** The output with all that differs between runs replaced, and the exit code. By default it has to end by itself. */
async function check(
  t: TestContext,
  env: Readonly<Record<string, string>>,
  seconds = ENDLESS_S,
  during: (started: BridgeProcess) => Promise<unknown> = async () => {},
) {
  const args = ['check', `--seconds=${seconds}`];
  const process = startBridge(
    t,
    { OTEL_SERVICE_NAME: 'shop', OTEL_EXPORTER_OTLP_ENDPOINT: sink.url, ...env },
    args,
  );
  await during(process);
  const { code, stdout } = await process.ended();
  assert.equal(process.log(), '');
  const text = stdout
    .replaceAll(/127\.0\.0\.1:\d+(?:\/[^\s/]+)?/gu, 'HOST')
    .replaceAll(/(?<= in )\d+(?= s)/gu, 'N')
    .replaceAll(/(?<=: Celery )[^,]+/gu, 'VERSION')
    .replace(/(?:: |, )\d+ not known(?=\.\n)/u, '');
  return { code, lines: text.split('\n') };
}

/** As {@link check}, with a watch that lasts until there was enough to see, however slow the machine is. */
async function checkUntil(
  t: TestContext,
  env: Readonly<Record<'CELERY_BROKER_URL', string> & Record<string, string>>,
  hasSeen: (watching: Watching) => Promise<unknown> = ({ begun }) => begun(),
) {
  const backend = await startReceiver();
  t.after(() => backend.stop());
  const watching = await watchCheck(t, env.CELERY_BROKER_URL);
  const given = { OTEL_EXPORTER_OTLP_ENDPOINT: backend.url, ...env, CELERY_BROKER_URL: watching.url };
  return check(t, given, ENDLESS_S, async ({ signal }) => {
    await Promise.all([
      hasSeen(watching),
      given.OTEL_EXPORTER_OTLP_ENDPOINT === backend.url &&
        until('the backend is asked', () => backend.exports() > 0),
    ]);
    signal('SIGINT');
  });
}

async function inRounds(act: () => Promise<unknown>): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    await delay(ROUND_MS);
    await act();
  }
}

/** What a report begins with; RabbitMQ also knows whether the exchange is there. */
const REACHED: Readonly<Record<BrokerName, readonly string[]>> = {
  RabbitMQ: ['shop', '  ✓ connected to amqp://guest:***@HOST', '  ✓ the exchange "celeryev" exists'],
  Redis: ['shop', '  ✓ connected to redis://:***@HOST'],
};
const NO_WORKERS = ['  ✗ no worker was seen in N s', '      Start a worker, or use the workers’ settings.'];
/** Of Debian’s Celery on Redis. */
/** Of a worker that is not asked what may stop it. */
const NOT_ASKED = [
  '  ✓ w1@shop: Celery VERSION, pool unknown',
  '  ? unknown for w1@shop: pools and workers of queues; Celery 5.2.6 on Redis does not get stats and active_queues',
  `      ${withoutMarkdown(SYMPTOMS['questions-withheld'].remedy)}`,
];
const DEAFNESS = [
  '  ? w1@shop may stop consuming after one reply that cannot be encoded',
  `      ${withoutMarkdown(SYMPTOMS['deaf-after-bad-reply'].remedy)}`,
];
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
const BACKEND = ['backend', '  ✓ http://HOST (grpc) accepts metrics', ''];
const SEND =
  'from shop_without_events import app; [app.send_task("shop.price_item", ["cup"], queue="orders") for _ in range(3)]; print("null")';
/** Several times, since a check needs some seconds to learn the queues. */
const SEND_SILENTLY = `
import time
from shop import app
app.conf.task_send_sent_event = False
for _ in range(6):
    for _ in range(5):
        app.send_task("shop.check_stock", ["cup"])
    time.sleep(1.5)
print("null")`;

/** The last line. What is not known has lines of its own. */
function found(down: number, degraded = 0): readonly string[] {
  const counts = [...(down > 0 ? [`${down} down`] : []), ...(degraded > 0 ? [`${degraded} degraded`] : [])];
  const verdict = down > 0 ? 'Down' : degraded > 0 ? 'Degraded' : 'Fine';
  return [
    [verdict, counts.join(', ')]
      .filter((part) => part !== '')
      .join(': ')
      .concat('.'),
    '',
  ];
}

/** RabbitMQ has no list of queues for clients. */
function lookedAt(name: BrokerName, queue: string): readonly string[] {
  const remedy = `      ${withoutMarkdown(SYMPTOMS['queues-known'].remedy)}`;
  return name === 'RabbitMQ' ? [`  ? RabbitMQ did not list its queues: looked at ${queue}`, remedy] : [];
}

describe('check', { concurrency: BROKER_NAMES.length + 1 }, () => {
  for (const name of BROKER_NAMES) {
    // Each starts two programs or more, which take a core for seconds.
    describe(name, { concurrency: 2 }, () => {
      test('a healthy cluster is fine, with a note about known dangers', async (t) => {
        const isExposed = name === 'Redis';
        // Of each danger to workers, the oldest Celery on Redis is the example.
        const cluster = await clusterOn(name, isExposed ? oldest : newest);
        await employ(t, { ...cluster, nodename: 'w1@shop', queues: ['orders'] });
        const orders = Array.from({ length: 5 }, () => ({ task: 'shop.check_stock', args: ['cup'] }));
        const { lines, code } = await checkUntil(
          t,
          { CELERY_BROKER_URL: cluster.broker },
          async ({ listens, asked }) => {
            await listens();
            await inRounds(() => sendTasks(cluster, orders));
            await asked(SOME_QUESTIONS);
          },
        );
        assert.deepEqual(lines, [
          ...REACHED[name],
          '  ✓ 1 worker: 1 sent heartbeats, 1 replied to remote control',
          ...(isExposed ? NOT_ASKED : ['  ✓ w1@shop: Celery VERSION, pool prefork of 2']),
          '  ✓ task events are on: w1@shop',
          '  ✓ clients send task-sent events',
          ...(isExposed ? ['  ✓ queue celery: 0 waiting, consumers unknown'] : DEFAULT_QUEUE[name]),
          `  ✓ queue orders: 0 waiting, ${isExposed ? 'consumers unknown' : '1 consumer'}`,
          ...lookedAt(name, 'orders'),
          ...(isExposed ? DEAFNESS : []),
          '',
          ...BACKEND,
          ...found(0),
        ]);
        assert.equal(code, 0);
      });

      test('without workers it says so, and fails', async (t) => {
        const broker = await vacantOn(name);
        const { lines, code } = await checkUntil(t, { CELERY_BROKER_URL: broker });
        const down = name === 'RabbitMQ' ? 2 : 1;
        assert.deepEqual(lines, [...EMPTY[name], ...BACKEND, ...found(down)]);
        assert.equal(code, 2);
        assert.deepEqual(await leftAt(name, broker), [], 'nothing stays at the broker');
      });

      test('workers without task events are named', async (t) => {
        const cluster = await clusterOn(name);
        const application = {
          ...{ ...cluster, folder: import.meta.dirname, app: 'shop_without_events' },
          env: { PYTHONPATH: SHOP_FOLDER },
        };
        await employ(t, { ...application, nodename: 'quiet@shop', queues: ['orders'], taskEvents: false });
        const { lines, code } = await checkUntil(
          t,
          { CELERY_BROKER_URL: cluster.broker },
          async ({ listens, asked }) => {
            await listens();
            // Heartbeats from before the tasks are needed, too.
            await asked(SOME_QUESTIONS);
            await inRounds(() => runPython(newest, '-c', [SEND], cluster, application));
            await asked(SOME_QUESTIONS);
          },
        );
        assert.deepEqual(lines, [
          ...REACHED[name],
          '  ✓ 1 worker: 1 sent heartbeats, 1 replied to remote control',
          '  ✓ quiet@shop: Celery VERSION, pool prefork of 2',
          '  ✗ quiet@shop ran tasks and sent no task events',
          '      Start them with celery worker -E, or set worker_send_task_events = True; the option enable_events of celery-otel switches them on without a restart.',
          '  ✓ clients send task-sent events',
          ...DEFAULT_QUEUE[name],
          '  ✓ queue orders: 0 waiting, 1 consumer',
          ...lookedAt(name, 'orders'),
          '',
          ...BACKEND,
          ...found(1),
        ]);
        assert.equal(code, 2);
      });

      test('clients without task-sent events are told, and told from tasks that waited before', async (t) => {
        const cluster = await clusterOn(name);
        // They last until the check listens, however slow the machine is.
        const order = { task: 'shop.check_stock', args: ['cup', 0.4] };
        const before = await sendTasks(cluster, Array(40).fill(order));
        const few = { queues: ['orders'], concurrency: 1, args: ['--prefetch-multiplier', '1'] };
        await employ(t, { ...cluster, ...few, nodename: 'w1@shop' });
        const aboutSent = (lines: readonly string[]) => lines.filter((line) => line.includes('task-sent'));
        const env = { CELERY_BROKER_URL: cluster.broker };
        const waited = await checkUntil(t, env, async ({ listens, asked }) => {
          await listens();
          await asked(2 * SOME_QUESTIONS);
        });
        assert.deepEqual(aboutSent(waited.lines), [
          '  ? too few tasks were sent to show whether clients send task-sent events',
        ]);
        await endsOf(cluster, before);
        const sent = await checkUntil(t, env, async ({ listens, asked }) => {
          await listens();
          await runPython(newest, '-c', [SEND_SILENTLY], cluster, { env: { PYTHONPATH: SHOP_FOLDER } });
          await asked(SOME_QUESTIONS);
        });
        assert.match(
          aboutSent(sent.lines).join(),
          /^ {2}\? \d+ tasks arrived, and no client sent a task-sent event$/u,
        );
      });

      test('over TLS the broker is reached if its certificate is trusted; and a clock that is fast is told', async (t) => {
        const { broker } = await clusterOn(name);
        const [tlsUrl = '', caFile] =
          name === 'Redis' ? [redis.tlsUrl, redis.certificates?.caFile] : [rabbitmq.tlsUrl, rabbitmq.caFile];
        const url = broker.replace('://', 's://').replace(/:\d+\//u, `:${new URL(tlsUrl).port}/`);
        const beat = () => {
          const timestamp = Date.now() / 1000 + FAST_S;
          return publish(broker, [event('worker-heartbeat', { hostname: 'fast@shop', timestamp })]);
        };
        const trusting = { CELERY_BROKER_URL: `${url}?ssl_ca_certs=${caFile}` };
        const [{ lines }, untrusted] = await Promise.all([
          check(t, trusting, ENDLESS_S, async ({ signal }) => {
            for (let received = 0; received < BEATS; await delay(BEAT_MS)) if (await beat()) received += 1;
            signal('SIGINT');
          }),
          check(t, { CELERY_BROKER_URL: url }),
        ]);
        const secure = (line = '') => line.replace('://', 's://');
        assert.equal(lines[1], secure(REACHED[name][1]));
        assert.ok(
          lines.includes('  ✓ 1 worker: 1 sent heartbeats, 0 replied to remote control'),
          lines.join(),
        );
        assert.match(
          lines.join(),
          /! the clock of fast@shop is (?:90|8\d) s fast, {6}Synchronize the clocks; /u,
        );
        assert.deepEqual(untrusted.lines, [
          'shop',
          `${secure(REACHED[name][1]).replace('✓ connected', '✗ TLS')} fails: the certificate of HOST is not trusted: set ssl_ca_certs to the file of its CA certificate, in broker_url or broker_use_ssl (self-signed certificate in certificate chain)`,
          '      Set ssl_ca_certs to the authority, correct the host and port in broker_url, or renew what has expired. If the broker refuses the client, set ssl_certfile and ssl_keyfile to a certificate that it trusts. See TLS (docs/configuration.md#tls-to-the-broker).',
          '',
          ...BACKEND,
          ...found(1),
        ]);
        assert.equal(untrusted.code, 2);
      });

      test('a wrong password is told', async (t) => {
        const { broker } = await clusterOn(name);
        const { lines, code } = await check(t, {
          CELERY_BROKER_URL: broker.replace(/:[^:/@]+@/u, ':wrong@'),
        });
        const refusal: Readonly<Record<BrokerName, string>> = {
          RabbitMQ:
            '  ✗ amqp://guest:***@HOST refuses the connection: the broker does not know this user, or the password is wrong: correct both in broker_url; # / ? @ in them are percent-encoded (Handshake terminated by server: 403 (ACCESS-REFUSED) with message "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details see the broker logfile.")',
          Redis:
            '  ✗ redis://:***@HOST refuses the connection: Redis does not know this user, or the password is wrong: correct both in broker_url; # / ? @ in them are percent-encoded (WRONGPASS invalid username-password pair or user is disabled.)',
        };
        assert.deepEqual(lines, [
          'shop',
          refusal[name],
          '      Fix what the line reports; see the permissions (docs/brokers.md#permissions).',
          '',
          ...BACKEND,
          ...found(1),
        ]);
        assert.equal(code, 2);
      });

      test('missing permissions are named', async (t) => {
        const { broker } = await clusterOn(name);
        const events = '^celeryev(\\..*)?$';
        const vhost = vhostOf(broker);
        if (name === 'RabbitMQ')
          await rabbitmq.allow('blind', 'right', { configure: events, write: events, read: events }, vhost);
        await makeExchanges(name, broker);
        const asBlind = broker.replace(/\/\/[^@]*@/u, '//blind:right@');
        const { lines, code } = await checkUntil(t, { CELERY_BROKER_URL: asBlind });
        const missing: Readonly<Record<BrokerName, readonly string[]>> = {
          RabbitMQ: [
            `  ? the user may not publish to the default exchange, so a broker that blocks publishers is not noticed: Channel closed by server: 403 (ACCESS-REFUSED) with message "ACCESS_REFUSED - access to exchange 'amq.default' in vhost '${vhost}' refused for user 'blind'"`,
            '      Grant the optional permission (docs/brokers.md#permissions), or raise lost_timeout.',
            ...NO_WORKERS,
            '  ! remote control failed: there is no exchange "reply.celery.pidbox" yet, and the user may not declare it; a Celery worker declares it with its first reply; or grant the user the configure permission',
            '      Fix what the line reports, grant the permissions (docs/brokers.md#permissions), or set control_commands: none.',
          ],
          Redis: [
            ...NO_WORKERS,
            "  ! remote control failed: NOPERM this user has no permissions to run the 'eval' command; docs/brokers.md has the permissions that the user needs",
            '      Fix what the line reports, grant the permissions (docs/brokers.md#permissions), or set control_commands: none.',
            "  ! the broker’s report on the queues is incomplete: NOPERM this user has no permissions to run the 'llen' command; docs/brokers.md has the permissions that the user needs; NOPERM this user has no permissions to run the 'smembers' command; docs/brokers.md has the permissions that the user needs",
            '      Fix what the line reports, or grant the permissions (docs/brokers.md#permissions).',
          ],
        };
        assert.deepEqual(lines, [
          ...REACHED[name].map((line) => line.replace(/(?<=:\/\/)[^@]*/u, 'blind:***')),
          ...missing[name],
          '',
          ...BACKEND,
          ...found(1, name === 'RabbitMQ' ? 1 : 2),
        ]);
        assert.equal(code, 2);
      });

      test('others that export the same service are counted', async (t) => {
        const { broker } = await clusterOn(name);
        const env = { CELERY_BROKER_URL: broker, OTEL_SERVICE_NAME: 'shop' };
        const run = async (more = {}) => {
          const bridge = startBridge(t, { ...env, ...more, OTEL_EXPORTER_OTLP_ENDPOINT: sink.url });
          await bridge.logged(/connected to/u);
        };
        const others = async () => {
          const { lines } = await checkUntil(t, env);
          return lines.filter((line) => line.includes('listen'));
        };
        assert.deepEqual(await others(), []);
        // Other events at the same broker, or in the same database.
        const apart =
          name === 'Redis' ? { CELERY_GLOBAL_KEYPREFIX: 'other:' } : { OTEL_SERVICE_NAME: 'mail' };
        await run(apart);
        assert.deepEqual(await others(), []);
        await run();
        assert.deepEqual(await others(), ['  ✓ an instance of celery-otel already listens to these events']);
        await run();
        assert.deepEqual(await others(), ['  ! 2 or more instances of celery-otel listen to these events']);
      });

      test('a solo worker that is busy is noticed', async (t) => {
        const cluster = await clusterOn(name);
        const solo = { ...cluster, nodename: 'solo@shop', queues: ['orders'], pool: 'solo' } as const;
        const started = await employ(t, solo);
        await sendTasks(cluster, [{ task: 'shop.check_stock', args: ['cup', 60] }]);
        // Its events wait until the task has ended, also those of this task.
        await until('it has the task', () => /check_stock\S* received/u.test(started.log()) || undefined);
        const env = { CELERY_BROKER_URL: cluster.broker };
        const { lines, code } = await checkUntil(t, env, ({ asked }) => asked(SOME_QUESTIONS));
        assert.deepEqual(lines, [
          ...REACHED[name],
          '  ✗ no worker was seen in N s, but questions reach one',
          '      Check again when the task has ended. Otherwise use the workers’ settings, and start them without --without-heartbeat.',
          // It may consume them. RabbitMQ tells of no queue that is not known.
          ...(name === 'Redis' ? ['celery', 'orders'] : []).map(
            (queue) => `  ✓ queue ${queue}: 0 waiting, consumers unknown`,
          ),
          '',
          ...BACKEND,
          ...found(1),
        ]);
        assert.equal(code, 2);
      });
    });
  }

  describe('of one broker', { concurrency: 3 }, () => {
    test('on Redis, the queue of a solo worker that is busy is not said to have no consumers', async (t) => {
      const cluster = await clusterOn('Redis');
      const args = ['--prefetch-multiplier', '1'];
      await employ(t, { ...cluster, nodename: 'w1@shop', queues: ['orders'], args });
      await employ(t, { ...cluster, nodename: 'solo@shop', queues: ['emails'], pool: 'solo', args });
      const order = { task: 'shop.check_stock', args: ['cup', 60], queue: 'emails' };
      await sendTasks(cluster, Array(5).fill(order));
      const about = async (env = {}) => {
        const { lines } = await checkUntil(
          t,
          { CELERY_BROKER_URL: cluster.broker, OTEL_SERVICE_NAME: `shop-${Object.keys(env).join()}`, ...env },
          ({ asked }) => asked(SOME_QUESTIONS),
        );
        return lines.filter((line) => /emails|w1@shop:|more worker|!|✗/u.test(line));
      };
      const [reported, more, mail] = [
        '  ✓ w1@shop: Celery VERSION, pool prefork of 2',
        '  ? 1 more worker received the commands, but returned neither state nor heartbeat',
        '  ✓ queue emails: 4 waiting, consumers unknown',
      ];
      // Less is asked, or more slowly.
      const [usual, less, slow] = await Promise.all([
        about(),
        about({ CELERY_OTEL_CONTROL_COMMANDS: 'stats' }),
        about({ CELERY_OTEL_TIMEOUT: '30' }),
      ]);
      assert.deepEqual(usual, [reported, more, mail]);
      assert.deepEqual(less, [reported, more, mail]);
      assert.deepEqual(slow.at(-1), mail);
      assert.ok(!slow.some((line) => /[!✗]/u.test(line)), slow.join('\n'));
    });

    test('a backend that refuses, one that is down and one that is slow are told', async (t) => {
      const broker = await vacantOn('Redis');
      const backend = await startHttpReceiver({ answer: (response) => response.writeHead(401).end('no') });
      t.after(() => backend.stop());
      const env = {
        CELERY_BROKER_URL: broker,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${backend.port}`,
      };
      const refused = await checkUntil(t, env, async ({ begun }) => {
        await Promise.all([begun(), until('it is asked', () => backend.requests.length > 0)]);
      });
      assert.deepEqual(refused.lines, [
        ...EMPTY.Redis,
        'backend',
        '  ✗ http://HOST/metrics (http/protobuf) refuses metrics: access denied: correct the credentials in otlp_headers (HTTP 401 Unauthorized)',
        '      Correct the headers, certificates or endpoint; see exporting (docs/exporting.md#when-something-fails).',
        '',
        ...found(2),
      ]);
      await backend.stop();
      const stuck = await startHttpReceiver({ answer: () => undefined });
      t.after(() => stuck.stop());
      const [down, slow] = await Promise.all([
        checkUntil(t, env),
        checkUntil(t, {
          ...{ ...env, OTEL_EXPORTER_OTLP_TIMEOUT: String(SLOW_MS) },
          OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${stuck.port}`,
        }),
      ]);
      assert.deepEqual(down.lines, [
        ...EMPTY.Redis,
        'backend',
        '  ✗ http://HOST/metrics (http/protobuf) is not available: nothing is listening on HOST here: start the backend, or correct the endpoint; in a container, localhost is the container itself (connect ECONNREFUSED HOST)',
        `      ${withoutMarkdown(SYMPTOMS['backend-unavailable'].remedy)}`,
        '',
        ...found(2),
      ]);
      assert.deepEqual(slow.lines, [
        ...EMPTY.Redis,
        'backend',
        `  ✗ http://HOST/metrics (http/protobuf) is not available: no reply within ${SLOW_MS} ms`,
        `      ${withoutMarkdown(SYMPTOMS['backend-unavailable'].remedy)}`,
        '',
        ...found(2),
      ]);
      assert.deepEqual([refused.code, down.code, slow.code], [2, 2, 2]);
    });

    for (const name of BROKER_NAMES)
      test(`${name}: workers that are elsewhere are named with the place`, async (t) => {
        const own = name === 'Redis' ? await startRedis() : undefined;
        t.after(() => own?.stop());
        const given = await clusterOn(name);
        const url = own?.url.replace(/0$/u, '7') ?? given.broker;
        const cluster = { ...given, broker: url, backend: own?.url ?? given.backend };
        await employ(t, { ...cluster, nodename: 'w1@shop', queues: ['orders'] });
        const about = async (env: Parameters<typeof checkUntil>[1], asked = SOME_QUESTIONS) => {
          const { lines } = await checkUntil(t, env, (watching) => watching.asked(asked));
          return lines.filter((line) => /event came|signs of/u.test(line));
        };
        if (name === 'RabbitMQ') await declareExchange(cluster.broker, 'otherev');
        const [ofEvents, ofAll] = await Promise.all([
          about({ CELERY_BROKER_URL: cluster.broker, CELERY_EVENT_EXCHANGE: 'otherev' }),
          own && about({ CELERY_BROKER_URL: own.url }),
        ]);
        assert.deepEqual(ofEvents, [
          name === 'RabbitMQ'
            ? '  ! w1@shop replied, but no event came from the exchange "otherev"; there is also "celeryev"'
            : // Without an event its version is not known, and a reply to a ping does not make a worker.
              '  ✗ no worker was seen in N s, but there are signs of workers in the exchange "celeryev"',
        ]);
        assert.deepEqual(
          ofAll,
          own && ['  ✗ no worker was seen in N s, but there are signs of workers in the database 7'],
        );
      });

    test('on RabbitMQ, an exchange of replies that a check declared does not stay', async (t) => {
      const cluster = await clusterOn('RabbitMQ');
      const args = ['--without-mingle', '--without-gossip'];
      await employ(t, { ...cluster, nodename: 'w1@shop', queues: ['orders'], args });
      const before = await leftAt('RabbitMQ', cluster.broker);
      assert.ok(!before.includes('reply.celery.pidbox'), 'no worker has declared it');
      const env = { CELERY_BROKER_URL: cluster.broker };
      const { lines } = await checkUntil(t, env, ({ asked }) => asked(SOME_QUESTIONS));
      assert.ok(
        lines.includes('  ✓ 1 worker: 1 sent heartbeats, 1 replied to remote control'),
        lines.join('\n'),
      );
      assert.deepEqual((await leftAt('RabbitMQ', cluster.broker)).toSorted(), before.toSorted());
      // It may be in use by then.
      const model = await connect(cluster.broker);
      model.on('error', () => undefined);
      const use = async (): Promise<true | undefined> => {
        const channel = await model.createChannel();
        channel.on('error', () => undefined);
        try {
          await channel.checkExchange('reply.celery.pidbox');
          const { queue } = await channel.assertQueue('', { exclusive: true });
          await channel.bindQueue(queue, 'reply.celery.pidbox', 'mine');
          return true;
        } catch {
          return undefined;
        }
      };
      await checkUntil(t, env, () => until('there is an exchange of replies', use));
      assert.ok((await leftAt('RabbitMQ', cluster.broker)).includes('reply.celery.pidbox'));
      await model.close();
    });

    test('a broker that hangs when a check ends, or is gone by then, is not blamed for what the end cut off, nor for a check that stood still', async (t) => {
      const watch = async (
        seconds: number,
        act: (broker: Redis, process: BridgeProcess) => Promise<unknown>,
      ) => {
        const broker = await startRedis();
        t.after(() => broker.stop());
        const client = new RedisClient(broker.url);
        client.on('error', () => undefined);
        t.after(() => client.disconnect());
        return check(t, { CELERY_BROKER_URL: broker.url }, seconds, async (process) => {
          await until(
            'a check is connected',
            async () => String(await client.client('LIST')).includes('-check') || undefined,
          );
          // Between two polls.
          await delay(1000);
          await act(broker, process);
        });
      };
      const [hanging, suspended, gone] = await Promise.all([
        watch(SHORT_S, async (broker) => broker.pause()),
        watch(SHORT_S, async (_, { signal }) => {
          signal('SIGSTOP');
          await delay(1.5 * SHORT_S * 1000);
          signal('SIGCONT');
        }),
        watch(ENDLESS_S, async (broker, { signal }) => {
          await broker.kill();
          // It tries to connect again.
          await delay(2 * ROUND_MS);
          signal('SIGINT');
        }),
      ]);
      assert.ok(!hanging.lines.some((line) => line.includes('!')), hanging.lines.join('\n'));
      assert.ok(!suspended.lines.some((line) => line.includes('not replied')), suspended.lines.join('\n'));
      assert.match(
        gone.lines[2] ?? '',
        /^ {2}✗ redis:\/\/HOST cannot be reached: nothing is listening on HOST any more: start the broker/u,
      );
      assert.equal(gone.code, 2);
    });

    describe('a broker that hangs once it is connected', { concurrency: BROKER_NAMES.length }, () => {
      for (const name of BROKER_NAMES) {
        test(`${name} is said not to answer, and nothing is said of its workers`, async (t) => {
          const { broker } = await clusterOn(name);
          await makeExchanges(name, broker);
          const { url, relay, listens } = await watchCheck(t, broker);
          const { lines, code } = await check(
            t,
            { CELERY_BROKER_URL: url },
            ENDLESS_S,
            async ({ signal }) => {
              await listens();
              // It has an answer by then, and time to miss others.
              await delay(ROUND_MS);
              relay.silence();
              await delay(LONG_MS);
              signal('SIGINT');
            },
          );
          const [service = '', reached = '', ...exchange] = REACHED[name];
          assert.deepEqual(
            lines.map((line) => line.replace(/(?<=for )\d+(?= s$)/u, 'N')),
            [
              ...[service, reached],
              reached.replace('✓ connected to', '✗').concat(' has not replied for N s'),
              '      Check the broker and its log, and run the check again.',
              ...exchange,
              '',
              ...BACKEND,
              ...found(1),
            ],
          );
          assert.equal(code, 2);
        });
      }
    });

    test('two workers of one name, one without remote control, tasks that outlast the visibility timeout and failures told twice are named', async (t) => {
      const cluster = await clusterOn('Redis');
      const mute = {
        folder: import.meta.dirname,
        app: 'shop_without_control',
        env: { PYTHONPATH: SHOP_FOLDER },
      };
      await Promise.all([
        employ(t, { ...cluster, nodename: 'twin@shop', queues: ['orders'] }),
        employ(t, { ...cluster, nodename: 'twin@shop', queues: ['orders'] }),
        employ(t, { ...cluster, ...mute, nodename: 'mute@shop', queues: ['emails'] }),
      ]);
      // The workers have the default: nothing is delivered twice.
      const env = { CELERY_BROKER_URL: cluster.broker, CELERY_VISIBILITY_TIMEOUT: '2' };
      const { lines, code } = await checkUntil(t, env, async ({ listens, asked }) => {
        await listens();
        const long = { task: 'shop.check_stock', args: ['cup', 3] };
        // Celery says twice that it exceeds its hard time limit.
        const yearly = { task: 'shop.write_yearly_report', args: [], queue: 'orders' };
        await sendTasks(cluster, [yearly, long, { ...long, countdown: 7200 }]);
        await asked(2 * SOME_QUESTIONS);
      });
      assert.deepEqual(
        lines
          .filter((line) => /^ {2}!|queue|workers:|twice|did not reply/u.test(line))
          // Its first heartbeat may come before the first question.
          .map((line) => line.replace('no reply within 1000 ms from mute@shop; ', ''))
          .map((line) => line.replace(/\d+(?= s(?: or more)?$)/u, 'N')),
        [
          '  ✓ 2 workers: 2 sent heartbeats, 1 replied to remote control',
          '  ? mute@shop did not reply to remote control',
          '  ! remote control: two workers have the name twin@shop',
          '  ✓ queue celery: 0 waiting, consumers unknown',
          '  ✓ queue orders: 0 waiting, 1 or more consumers',
          '  ✓ queue emails: 0 waiting, consumers unknown',
          '  ? failures sent twice, as Celery does after a hard time limit: 1; celery-otel counts each once',
          '  ! 1 task with an ETA beyond the visibility timeout of 2 s, the furthest in N s',
          '  ! tasks run longer than the visibility timeout of 2 s, for N s or more',
          '  ! 1 unacknowledged message will soon be redelivered',
        ],
      );
      assert.equal(code, 1);
    });

    test('a check asks nothing that can endanger workers or change them, whatever run is told to', async (t) => {
      const cluster = await clusterOn('Redis');
      const { broker } = cluster;
      await employ(t, { ...cluster, nodename: 'w1@shop', queues: ['orders'] });
      const { hostname, port, pathname, password } = new URL(broker);
      // Not with ioredis: it takes what other clients ask in the moment of its question for an answer.
      const spy = connectTcp(Number(port), hostname);
      t.after(() => spy.destroy());
      spy.write(`AUTH ${password}\r\nMONITOR\r\n`);
      const methods = new Set<string>();
      createInterface(spy).on('line', (line) => {
        const [, message] = /^\+\S+ \[.*\] "publish" "[^"]*[.]celery[.]pidbox" "(.*)"$/iu.exec(line) ?? [];
        if (message === undefined || !line.includes(`"${pathname}.celery.pidbox"`)) return;
        const { body } = JSON.parse(JSON.parse(`"${message}"`));
        methods.add(JSON.parse(Buffer.from(body, 'base64').toString()).method);
      });
      await checkUntil(
        t,
        {
          CELERY_BROKER_URL: broker,
          CELERY_OTEL_CONTROL_COMMANDS: 'stats,active_queues,active,reserved,scheduled',
          CELERY_OTEL_ENABLE_EVENTS: 'true',
        },
        async ({ asked }) => {
          await until('all is asked', () => methods.size >= SAFE.length);
          await asked(SAFE.length);
        },
      );
      assert.deepEqual([...methods].toSorted(), SAFE);
    });
  });
});

/** What a check may ask. */
const SAFE = ['active', 'active_queues', 'ping', 'stats'];

async function declareExchange(broker: string, exchange: string): Promise<void> {
  const model = await connect(broker);
  await (await model.createChannel()).assertExchange(exchange, 'topic', { durable: true });
  await model.close();
}

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
  return (await rabbitmq.names(vhostOf(broker))).filter((each) => !each.startsWith('amq.'));
}
