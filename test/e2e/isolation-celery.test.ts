/**
 * Real Celery: three applications on one broker, two of them in one virtual host or database with their own names for
 * everything, one in its own with Celery's defaults. One bridge listens to all, and counts each as if it were alone.
 */
import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { after, before, describe, type TestContext, test } from 'node:test';
import { total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { BROKER_NAMES, type BrokerName } from '../real/brokers.ts';
import { type Cluster, celeryFlavours, runPython, SHOP_FOLDER } from '../real/celery.ts';
import { borrowRabbitmq, type Vhosts, vhostOf } from '../real/lent-rabbitmq.ts';
import { type Redis, startRedis } from '../real/redis.ts';
import { eventCounts, placeOrders, readShopReport, type ShopReport } from '../real/shop-report.ts';
import { startBridge } from './bridge-process.ts';
import { countedTasks, startedByWorker } from './counted.ts';
import { serviceFile } from './service-file.ts';
import { employ } from './shop.ts';

/** All workers have the same name: they are in different clusters. */
const NODENAME = `celery@${hostname()}`;
const [flavour] = celeryFlavours();

/** A Celery application, and its orders. */
interface Application {
  readonly name: string;
  readonly cluster: Cluster;
  /** Whether its exchanges and queues are named after it. */
  readonly isApart: boolean;
  readonly orders: number;
  /** A kind of `place_orders.py`. */
  readonly only: string;
}

let rabbitmq: Vhosts;
let redis: Redis;

before(async () => {
  [rabbitmq, redis] = await Promise.all([borrowRabbitmq(), startRedis()]);
});

after(() => Promise.all([rabbitmq?.remove(), redis?.stop()]));

const database = (index: number): string => redis.url.replace(/0$/u, String(index));
const on = (broker: string, results: number): Cluster => ({ broker, backend: database(results) });

interface Places {
  /** Two in one place, and one in its own; each with its own database for results. */
  clusters(): Promise<readonly [Cluster, Cluster, Cluster]>;
  /** Where the bridge makes a queue to listen: how its name is given, and what lists the queues. */
  readonly queues?: { readonly option: string; readonly list: () => Promise<string> };
}

const PLACES: Readonly<Record<BrokerName, Places>> = {
  RabbitMQ: {
    clusters: async () => [on(rabbitmq.url, 1), on(rabbitmq.url, 2), on(await rabbitmq.addVhost('mail'), 3)],
    queues: {
      option: 'event_queue_prefix',
      list: async () => (await rabbitmq.names(vhostOf(rabbitmq.url))).join('\n'),
    },
  },
  // A subscription has no queue.
  Redis: { clusters: async () => [on(database(4), 4), on(database(4), 5), on(database(6), 6)] },
};

describe('applications that share a broker', { concurrency: BROKER_NAMES.length }, () => {
  for (const broker of BROKER_NAMES) {
    test(`Celery ${flavour.version}: three applications on one ${broker}, two of them in one place, each count their own`, async (t) => {
      const { clusters, queues } = PLACES[broker];
      const [shop, billing, mail] = await clusters();
      const applications: readonly Application[] = [
        { name: 'shop', cluster: shop, isApart: true, orders: 12, only: 'usual' },
        { name: 'billing', cluster: billing, isApart: true, orders: 9, only: 'basket' },
        { name: 'mail', cluster: mail, isApart: false, orders: 30, only: 'receipt' },
      ];
      const sink = await startReceiver();
      t.after(() => sink.stop());
      const services = applications.map(({ name, cluster, isApart }) => [
        name,
        {
          broker_url: cluster.broker,
          ...(isApart && { event_exchange: `${name}.celeryev` }),
          ...(isApart && queues && { [queues.option]: `${name}.celeryev` }),
        },
      ]);
      const file = serviceFile(t, {
        services: Object.fromEntries(services),
        endpoint: sink.url,
        intervalMs: 500,
      });
      const bridge = startBridge(t, {}, ['run', '--config', file]);
      await bridge.logged(/(?:connected to[\s\S]*){3}/u);

      await Promise.all(applications.map((application) => employFor(t, application)));
      const reports = await Promise.all(applications.map(order));
      for (const [index, { name, orders }] of applications.entries()) {
        const report = reports[index];
        assert.ok(report !== undefined && report.orders === orders);
        const counts = eventCounts(report);
        const succeeded = Object.values(counts).reduce((sum, count) => sum + count.succeeded, 0);
        assert.ok(succeeded >= orders);
        const points = await sink.waitFor(
          name,
          (latest) => total(latest, 'celery.task.succeeded') >= succeeded,
          DEADLINE_MS,
        );
        assert.deepEqual(countedTasks(points), counts, name);
        assert.deepEqual(startedByWorker(points), report.workers, name);
        assert.equal(total(points, 'celery.worker.up'), 1, `${name} has one worker`);
      }
      const listed = (await queues?.list())?.split('\n');
      // That of its events, and the one by which instances find each other.
      for (const name of ['shop', 'billing']) {
        const named = listed?.filter((queue) => queue.startsWith(`${name}.celeryev.celery-otel.`));
        assert.ok(named === undefined || named.length === 2, name);
      }
      bridge.signal('SIGTERM');
      assert.equal((await bridge.ended()).code, 0);
    });
  }
});

function employFor(t: TestContext, { name, cluster, isApart }: Application) {
  const apart = { folder: import.meta.dirname, app: 'shop_apart', queues: [name], env: environmentOf(name) };
  return employ(t, { ...cluster, ...(isApart && apart), flavour, nodename: NODENAME, pool: 'solo' });
}

/** Places its orders and returns Celery’s report. */
async function order({ name, cluster, isApart, orders, only }: Application): Promise<ShopReport> {
  if (!isApart) return placeOrders({ ...cluster, flavour, orders, only });
  const document = await runPython(
    flavour,
    'shop_apart.py',
    ['--orders', String(orders), '--only', only],
    cluster,
    { folder: import.meta.dirname, env: environmentOf(name) },
  );
  return readShopReport(document);
}

function environmentOf(name: string): NodeJS.ProcessEnv {
  return { SHOP_NAME: name, PYTHONPATH: SHOP_FOLDER };
}
