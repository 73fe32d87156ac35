/** Tasks that leave their queue or their worker without an event wait no longer, with real brokers and workers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { HELD_SHOP, holdTasks } from './held-tasks.ts';
import { ASK_OFTEN, clusterKinds, employ, shopClusters, watch } from './shop.ts';
import { endsOf, purgeQueue, sendTasks, switchEvents } from './shop-tasks.ts';

const clusterOf = shopClusters();
const KINDS = clusterKinds();

describe('tasks without events', { concurrency: KINDS.length }, () => {
  for (const { flavour, broker } of KINDS) {
    test(`on ${broker} wait no longer once their queue is purged, or their muted worker is idle`, async (t) => {
      const cluster = await clusterOf(flavour, broker);
      const { until } = await watch(t, cluster.broker, ASK_OFTEN);
      const worker = await employ(t, {
        ...{ ...cluster, ...HELD_SHOP },
        ...{ nodename: 'muted', pool: 'prefork', concurrency: 1, queues: ['orders'], taskEvents: false },
      });
      await switchEvents(cluster, worker.nodename, 'on');
      const waits = (points: readonly Point[], queue: string): boolean =>
        total(points, 'celery.task.oldest_age', {
          'celery.queue.name': queue,
          'celery.task.state': 'waiting',
        }) > 0;
      const { order, release } = holdTasks(t);
      const held = await sendTasks(cluster, Array(3).fill({ ...order, queue: 'orders' }));
      const report = { task: 'shop.write_daily_report', args: [0], queue: 'reports' };
      await sendTasks(cluster, [report, report]);
      await until(
        (points) =>
          total(points, 'celery.worker.tasks.prefetched') === 2 &&
          total(points, 'celery.queue.length', { 'celery.queue.name': 'reports' }) === 2 &&
          waits(points, 'orders') &&
          waits(points, 'reports'),
      );

      await switchEvents(cluster, worker.nodename, 'off');
      release();
      await endsOf(cluster, held);
      assert.equal(await purgeQueue(cluster, 'reports'), 2);
      const points = await until(
        (all) =>
          total(all, 'celery.worker.tasks.prefetched') === 0 &&
          !waits(all, 'orders') &&
          !waits(all, 'reports'),
      );
      assert.equal(total(points, 'celery.worker.up'), 1);
      assert.equal(total(points, 'celery.task.succeeded'), 0, 'nobody said so');
    });
  }
});
