/** Tasks that leave their queue or their worker without an event wait no longer, with real brokers and workers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { startWorker } from '../real/celery.ts';
import { startBridge } from './bridge-process.ts';
import { HELD_SHOP, holdTasks } from './held-tasks.ts';
import { clusterKinds, shopClusters } from './shop-clusters.ts';
import { endsOf, purgeQueue, sendTasks, switchEvents } from './shop-tasks.ts';

const clusterOf = shopClusters();
const KINDS = clusterKinds();

describe('tasks without events', { concurrency: KINDS.length }, () => {
  for (const { flavour, broker } of KINDS) {
    test(`on ${broker} wait no longer once their queue is purged, or their muted worker is idle`, async (t) => {
      const cluster = await clusterOf(flavour, broker);
      const sink = await startReceiver();
      t.after(() => sink.stop());
      const bridge = startBridge(t, {
        CELERY_BROKER_URL: cluster.broker,
        CELERY_OTEL_COLLECTION_INTERVAL: '0.5',
        CELERY_OTEL_INITIAL_DELAY: '0.1',
        OTEL_SERVICE_NAME: 'shop',
        OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
        OTEL_METRIC_EXPORT_INTERVAL: '500',
      });
      await bridge.logged(/connected to/u);
      const worker = await startWorker({
        ...{ ...cluster, ...HELD_SHOP },
        ...{ nodename: 'muted', pool: 'prefork', concurrency: 1, queues: ['orders'], taskEvents: false },
      });
      t.after(() => worker.kill());
      await switchEvents(cluster, worker.nodename, 'on');
      const waits = (points: readonly Point[], queue: string): boolean =>
        total(points, 'celery.task.oldest_age', {
          'celery.queue.name': queue,
          'celery.task.state': 'waiting',
        }) > 0;
      const until = (condition: (points: readonly Point[]) => boolean) =>
        sink.waitFor('shop', condition, DEADLINE_MS);

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
