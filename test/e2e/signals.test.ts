import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis as Client } from 'ioredis';
import { total } from '../../examples/demo/otlp-points.ts';
import { type Receiver, startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { BROKER_NAMES } from '../real/brokers.ts';
import { borrowRabbitmq, type Vhosts, vhostOf } from '../real/lent-rabbitmq.ts';
import { type Redis, startRedis } from '../real/redis.ts';
import { startBridge } from './bridge-process.ts';
import { borrowBehindRelay } from './broker-behind-relay.ts';
import { event, publish } from './publish.ts';

let rabbitmq: Vhosts;
let redis: Redis;

before(async () => {
  [rabbitmq, redis] = await Promise.all([borrowRabbitmq(), startRedis()]);
});

after(() => Promise.all([rabbitmq?.remove(), redis?.stop()]));

/** What differs between the brokers. */
const BROKERS = {
  RabbitMQ: {
    url: () => rabbitmq.url,
    /** Where a server would be at that port of this host. */
    at: (port: number) => `amqp://127.0.0.1:${port}`,
    connections: () => rabbitmq.connections(vhostOf(rabbitmq.url)),
  },
  Redis: {
    url: () => redis.url,
    at: (port: number) => `redis://127.0.0.1:${port}`,
    async connections() {
      const client = new Client(redis.url, { protocol: 2 });
      const list = await client.call('CLIENT', 'LIST');
      client.disconnect();
      return String(list);
    },
  },
};

async function receiver(t: TestContext): Promise<Receiver> {
  const started = await startReceiver();
  t.after(() => started.stop());
  return started;
}

const NEVER_IN_THIS_TEST_MS = '3600000';

/** A server that accepts connections and never responds. */
async function silentServer(t: TestContext): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}

const GONE = 'http://127.0.0.1:1';

describe('the process', { concurrency: BROKER_NAMES.length }, () => {
  for (const name of BROKER_NAMES)
    describe(name, { concurrency: 3 }, () => {
      const { url, at, connections } = BROKERS[name];

      for (const signal of ['SIGTERM', 'SIGINT'] as const) {
        test(`${signal} exports the last counts and exits with 0`, async (t) => {
          const sink = await receiver(t);
          // It hears all events of its exchange.
          const exchange = `celeryev-${signal}`;
          const bridge = startBridge(t, {
            CELERY_BROKER_URL: url(),
            CELERY_EVENT_EXCHANGE: exchange,
            OTEL_SERVICE_NAME: 'shop',
            OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
            OTEL_METRIC_EXPORT_INTERVAL: NEVER_IN_THIS_TEST_MS,
          });
          await bridge.logged(/connected to/u);
          const events = [event('task-sent'), event('task-sent'), event('worker-heartbeat')];
          // It is logged when it is read, and those before it are read by then.
          await publish(url(), [...events, event('task-sent', { timestamp: 'yesterday' })], exchange);
          await bridge.logged(/bad-timestamp/u);
          assert.equal(sink.exports(), 0);
          bridge.signal(signal);
          const { code, stdout } = await bridge.ended();
          assert.equal(code, 0);
          assert.equal(stdout, '', 'standard output stays clean');
          assert.equal(sink.exports(), 2, 'one export for the service, one for the bridge itself');
          assert.equal(total(sink.latest('shop'), 'celery.task.sent'), 2);
          assert.equal(total(sink.latest('shop'), 'celery.worker.up'), 1);
          assert.match(bridge.log(), /everything counted was exported/u);
        });
      }

      test('it exits with 0 in time when the broker and the backend are gone', async (t) => {
        const bridge = startBridge(t, {
          CELERY_BROKER_URL: at(1),
          OTEL_SERVICE_NAME: 'shop',
          OTEL_EXPORTER_OTLP_ENDPOINT: GONE,
        });
        await bridge.logged(/retrying within/u);
        bridge.signal('SIGTERM');
        assert.equal((await bridge.ended()).code, 0);
      });

      test('it exits with 0 in time when the broker and the backend never respond', async (t) => {
        const port = await silentServer(t);
        const bridge = startBridge(t, {
          CELERY_BROKER_URL: at(port),
          OTEL_SERVICE_NAME: 'shop',
          OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        });
        await bridge.logged(/connecting to/u);
        bridge.signal('SIGTERM');
        assert.equal((await bridge.ended()).code, 0);
      });

      test('a second signal ends it at once, unless it follows immediately', async (t) => {
        const port = await silentServer(t);
        const bridge = startBridge(t, {
          CELERY_BROKER_URL: url(),
          OTEL_SERVICE_NAME: 'shop',
          OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        });
        await bridge.logged(/connected to/u);
        await publish(url(), [event('task-sent')]);
        bridge.signal('SIGTERM');
        await bridge.logged(/stopping shop/u);
        bridge.signal('SIGINT');
        bridge.signal('SIGTERM');
        await sleep(1100);
        assert.ok(bridge.alive());
        bridge.signal('SIGTERM');
        assert.equal((await bridge.ended()).code, 143);
      });

      test('it starts before its broker and waits for it', async (t) => {
        const sink = await receiver(t);
        const late = await borrowBehindRelay(t, name);
        t.after(() => late.remove());
        await late.stop();
        const bridge = startBridge(t, {
          CELERY_BROKER_URL: late.url,
          OTEL_SERVICE_NAME: 'shop',
          OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
          OTEL_METRIC_EXPORT_INTERVAL: '200',
        });
        await bridge.logged(/retrying within/u);
        await late.start();
        await bridge.logged(/connected to/u);
        await publish(late.url, [event('task-sent')]);
        await sink.waitFor('shop', (points) => total(points, 'celery.task.sent') === 1, DEADLINE_MS);
      });

      test('its connection has the product’s name, for the broker’s operator', async (t) => {
        const bridge = startBridge(t, {
          CELERY_BROKER_URL: url(),
          OTEL_SERVICE_NAME: 'shop',
          OTEL_EXPORTER_OTLP_ENDPOINT: GONE,
        });
        await bridge.logged(/connected to/u);
        assert.match(await connections(), /celery-otel/u);
      });
    });
});
