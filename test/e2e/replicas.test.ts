/** Two replicas of a container, with one nodename and one pid: counters of events are exact, and nothing is guessed of one of them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { BROKER_NAMES } from '../real/brokers.ts';
import { celeryFlavours, startWorker } from '../real/celery.ts';
import { startBridge } from './bridge-process.ts';
import { shopClusters } from './shop-clusters.ts';
import { endsOf, sendTasks } from './shop-tasks.ts';

const TASKS = 12;

const clusterOf = shopClusters();
const [oldest] = celeryFlavours();
const newest = celeryFlavours().reduce((_, each) => each);
/** On RabbitMQ, the second worker of a name does not start from Celery 5.7 on. */
const FLAVOURS = { RabbitMQ: oldest, Redis: newest } as const;

describe('replicas', { concurrency: BROKER_NAMES.length }, () => {
  for (const name of BROKER_NAMES) {
    test(`${name}: two with one nodename and one pid`, async (t) => {
      const cluster = await clusterOf(FLAVOURS[name], name);
      const sink = await startReceiver();
      t.after(() => sink.stop());
      const bridge = startBridge(t, {
        CELERY_BROKER_URL: cluster.broker,
        OTEL_SERVICE_NAME: 'shop',
        OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
        OTEL_METRIC_EXPORT_INTERVAL: '250',
      });
      await bridge.logged(/connected to/u);
      for (let replica = 0; replica < 2; replica += 1) {
        const worker = await startWorker({
          ...cluster,
          nodename: 'w1@shop',
          queues: ['orders'],
          inContainer: true,
        });
        t.after(() => worker.kill());
      }
      // What only one process can have is not told any more.
      await sink.waitFor(
        'shop',
        (points) =>
          total(points, 'celery.worker.up') === 1 &&
          !points.some(({ metric }) => metric === 'celery.worker.tasks.active'),
        DEADLINE_MS,
      );
      const orders = Array.from({ length: TASKS }, () => ({
        task: 'shop.check_stock',
        args: ['cup', 0.2],
        queue: 'orders',
      }));
      await endsOf(cluster, await sendTasks(cluster, orders));
      const points = await sink.waitFor(
        'shop',
        (found) => total(found, 'celery.task.succeeded') === TASKS,
        DEADLINE_MS,
      );
      assert.equal(total(points, 'celery.task.started'), TASKS);
      bridge.signal('SIGTERM');
      await bridge.ended();
      const last = sink.latest('shop');
      for (const metric of ['celery.task.lost', 'celery.worker.exits', 'celery.worker.events.lost'])
        assert.equal(total(last, metric), 0, metric);
      assert.ok(!/is deaf/u.test(bridge.log()), bridge.log());
    });
  }
});
