/** Task events that are switched on by remote control, of workers that send none by themselves, on both brokers. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { type CeleryWorker, SHOP_FOLDER, startWorker } from '../real/celery.ts';
import { ASK_ALL, startBridge } from './bridge-process.ts';
import { clusterKinds, shopClusters } from './shop-clusters.ts';
import { endsOf, sendTasks } from './shop-tasks.ts';

const TASKS = 3;

const clusterOf = shopClusters();

describe('task events', { concurrency: 3 }, () => {
  for (const { flavour, broker } of clusterKinds()) {
    test(`of Celery ${flavour.version} on ${broker} are switched on, of a worker that comes later too; by default they are not`, async (t) => {
      const cluster = await clusterOf(flavour, broker);
      const workers: CeleryWorker[] = [];
      after(() => Promise.all(workers.map((worker) => worker.stop())));
      const start = async (name: string): Promise<void> => {
        const worker = await startWorker({
          ...{ ...cluster, nodename: `${name}@shop`, concurrency: 1, queues: [name] },
          ...{ taskEvents: false, app: 'shop_without_events', folder: import.meta.dirname },
          env: { PYTHONPATH: SHOP_FOLDER },
        });
        workers.push(worker);
      };
      await start('first');
      const listen = async (enable: boolean) => {
        const sink = await startReceiver();
        t.after(() => sink.stop());
        const bridge = startBridge(t, {
          ...ASK_ALL,
          CELERY_BROKER_URL: cluster.broker,
          CELERY_OTEL_COLLECTION_INTERVAL: '0.5',
          CELERY_OTEL_INITIAL_DELAY: '0.1',
          CELERY_OTEL_ENABLE_EVENTS: String(enable),
          OTEL_SERVICE_NAME: 'shop',
          OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
          OTEL_METRIC_EXPORT_INTERVAL: '250',
        });
        await bridge.logged(/connected to/u);
        return { bridge, sink };
      };
      const run = async (queue: string): Promise<void> => {
        const order = { task: 'shop.write_daily_report', args: [0], queue };
        await endsOf(
          cluster,
          await sendTasks(
            cluster,
            Array.from({ length: TASKS }, () => order),
          ),
        );
      };
      const isReported = (points: readonly Point[]) => total(points, 'celery.queue.workers') === 1;
      const watching = await listen(false);
      await watching.sink.waitFor('shop', isReported, DEADLINE_MS);
      await run('first');
      const enabling = await listen(true);
      const isOn = (count: number) => (points: readonly Point[]) =>
        total(points, 'celery_otel.control.replies', {
          ...{ 'celery_otel.service': 'shop', 'celery_otel.reply.outcome': 'answer' },
          'celery_otel.control.command': 'enable_events',
        }) >= count;
      await enabling.sink.waitFor('celery-otel', isOn(1), DEADLINE_MS);
      await run('first');
      await start('second');
      const isUp = (points: readonly Point[]) => total(points, 'celery.worker.pool.processes') === 2;
      await enabling.sink.waitFor('shop', isUp, DEADLINE_MS);
      const before = total(enabling.sink.latest('celery-otel'), 'celery_otel.control.requests');
      // A round later at the latest.
      const isAsked = (points: readonly Point[]) =>
        total(points, 'celery_otel.control.requests') >= before + 5;
      await enabling.sink.waitFor('celery-otel', isAsked, DEADLINE_MS);
      await run('second');
      const haveEnded = (points: readonly Point[]) => total(points, 'celery.task.succeeded') >= 2 * TASKS;
      for (const { bridge, sink } of [watching, enabling]) {
        const points = await sink.waitFor('shop', haveEnded, DEADLINE_MS);
        // Those before were without events.
        assert.equal(total(points, 'celery.task.succeeded'), 2 * TASKS);
        bridge.signal('SIGTERM');
        assert.equal((await bridge.ended()).code, 0);
      }
    });
  }
});
