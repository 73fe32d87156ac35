import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { BROKER_NAMES } from '../real/brokers.ts';
import { celeryFlavours, startWorker } from '../real/celery.ts';
import { eventCounts, placeOrders } from '../real/shop-report.ts';
import { startBridge } from './bridge-process.ts';
import { countedTasks, startedByWorker } from './counted.ts';
import { shopClusters } from './shop-clusters.ts';

/** About 2.5 tasks each. */
const ORDERS = 420;
const TASKS_MIN = 1000;
const INTERVAL_MS = 1000;
const SETTLED_WITHIN_MS = 30_000;
/** The threads pool of Celery 5.2 loses some of its own events before they are sent, so they cannot be counted. */
const QUICK_POOL = { debian: 'prefork', newest: 'threads' } as const;

const clusterOf = shopClusters();

const CASES = BROKER_NAMES.flatMap((broker) => celeryFlavours().map((flavour) => ({ broker, flavour })));

describe('outcomes', { concurrency: CASES.length }, () => {
  for (const { broker, flavour } of CASES) {
    test(`Celery ${flavour.version} on ${broker}: after 1,000 mixed tasks every counter equals Celery’s own`, {
      timeout: 240_000,
    }, async (t) => {
      const sink = await startReceiver();
      t.after(() => sink.stop());
      const cluster = await clusterOf(flavour, broker);
      const bridge = startBridge(t, {
        CELERY_BROKER_URL: cluster.broker,
        OTEL_SERVICE_NAME: 'shop',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
        OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
        OTEL_METRIC_EXPORT_INTERVAL: String(INTERVAL_MS),
      });
      await bridge.logged(/connected to/u, 10_000);
      const common = { ...cluster, concurrency: 4 };
      const workers = await Promise.all([
        startWorker({ ...common, nodename: 'all', pool: 'prefork' }),
        startWorker({
          ...common,
          nodename: 'quick',
          pool: QUICK_POOL[flavour.name],
          queues: ['orders', 'emails'],
        }),
      ]);
      t.after(() => Promise.all(workers.map((worker) => worker.kill())));

      const report = await placeOrders({ ...cluster, orders: ORDERS, seed: 7, timeoutS: 120 });
      const counts = eventCounts(report);
      const isCounted = (points: readonly Point[]) => isDeepStrictEqual(countedTasks(points), counts);
      const endMs = performance.now() + SETTLED_WITHIN_MS;
      while (!isCounted(sink.latest('shop')) && performance.now() < endMs) await delay(100);
      // A double count would show by now.
      await delay(2 * INTERVAL_MS);
      const points = sink.latest('shop');

      assert.deepEqual(countedTasks(points), counts);
      assert.deepEqual(startedByWorker(points), report.workers);
      assert.ok(total(points, 'celery.task.sent') >= TASKS_MIN, `${total(points, 'celery.task.sent')} tasks`);
      for (const { nodename } of workers) {
        assert.equal(total(points, 'celery.worker.up', { 'celery.worker.name': nodename }), 1);
      }
      assert.ok(points.every((point) => point.resource['deployment.environment.name'] === 'test'));
      assert.ok(
        points.every((point) => point.attributes['celery.task.name'] !== 'unknown'),
        'every task has its name',
      );
      assert.equal(
        total(points, 'celery.task.runtime'),
        total(points, 'celery.task.succeeded') +
          total(points, 'celery.task.failed') +
          total(points, 'celery.task.retried'),
      );

      await Promise.all(workers.map((worker) => worker.stop()));
      await sink.waitFor('shop', (latest) => total(latest, 'celery.worker.up') === 0, 10_000);
      bridge.signal('SIGTERM');
      assert.equal((await bridge.ended(5000)).code, 0);
    });
  }
});
