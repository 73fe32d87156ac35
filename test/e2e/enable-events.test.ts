/** Task events that are switched on by remote control, of workers that send none by themselves, on both brokers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { SHOP_FOLDER } from '../real/celery.ts';
import { ASK_ALL } from './bridge-process.ts';
import { ASK_OFTEN, clusterKinds, employ, shopClusters, watch } from './shop.ts';
import { endsOf, sendTasks } from './shop-tasks.ts';

const TASKS = 3;

const clusterOf = shopClusters();

describe('task events', { concurrency: 3 }, () => {
  for (const { flavour, broker } of clusterKinds()) {
    test(`of Celery ${flavour.version} on ${broker} are switched on, of a worker that comes later too; by default they are not`, async (t) => {
      const cluster = await clusterOf(flavour, broker);
      const start = (name: string) =>
        employ(t, {
          ...{ ...cluster, nodename: `${name}@shop`, concurrency: 1, queues: [name] },
          ...{ taskEvents: false, app: 'shop_without_events', folder: import.meta.dirname },
          env: { PYTHONPATH: SHOP_FOLDER },
        });
      await start('first');
      const listen = (enable: boolean) => {
        const options = { ...ASK_ALL, ...ASK_OFTEN, CELERY_OTEL_ENABLE_EVENTS: String(enable) };
        return watch(t, cluster.broker, options);
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
      await watching.until(isReported);
      await run('first');
      const enabling = await listen(true);
      const isOn = (count: number) => (points: readonly Point[]) =>
        total(points, 'celery_otel.control.replies', {
          ...{ 'celery_otel.service': 'shop', 'celery_otel.reply.outcome': 'answer' },
          'celery_otel.control.command': 'enable_events',
        }) >= count;
      await enabling.until(isOn(1), 'celery-otel');
      await run('first');
      await start('second');
      const isUp = (points: readonly Point[]) => total(points, 'celery.worker.pool.processes') === 2;
      await enabling.until(isUp);
      const before = total(enabling.sink.latest('celery-otel'), 'celery_otel.control.requests');
      // A round later at the latest.
      const isAsked = (points: readonly Point[]) =>
        total(points, 'celery_otel.control.requests') >= before + 5;
      await enabling.until(isAsked, 'celery-otel');
      await run('second');
      const haveEnded = (points: readonly Point[]) => total(points, 'celery.task.succeeded') >= 2 * TASKS;
      for (const { bridge, until } of [watching, enabling]) {
        const points = await until(haveEnded);
        // Those before were without events.
        assert.equal(total(points, 'celery.task.succeeded'), 2 * TASKS);
        bridge.signal('SIGTERM');
        assert.equal((await bridge.ended()).code, 0);
      }
    });
  }
});
