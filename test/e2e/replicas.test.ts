/** Two replicas of a container, with one nodename and one pid: counters of events are exact, and nothing is guessed of one of them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { total } from '../../examples/demo/otlp-points.ts';
import { BROKER_NAMES } from '../real/brokers.ts';
import { celeryFlavours } from '../real/celery.ts';
import { employ, shopClusters, watch } from './shop.ts';
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
      const { bridge, sink, until } = await watch(t, cluster.broker);
      for (let replica = 0; replica < 2; replica += 1)
        await employ(t, { ...cluster, nodename: 'w1@shop', queues: ['orders'], inContainer: true });
      // What only one process can have is not told any more.
      await until(
        (points) =>
          total(points, 'celery.worker.up') === 1 &&
          !points.some(({ metric }) => metric === 'celery.worker.tasks.active'),
      );
      const orders = Array.from({ length: TASKS }, () => ({
        task: 'shop.check_stock',
        args: ['cup', 0.2],
        queue: 'orders',
      }));
      await endsOf(cluster, await sendTasks(cluster, orders));
      const points = await until((found) => total(found, 'celery.task.succeeded') === TASKS);
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
