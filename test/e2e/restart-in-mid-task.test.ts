/** A bridge that is restarted while tasks run and wait: their ends are counted under their names, with their runtimes. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { type CeleryWorker, startWorker } from '../real/celery.ts';
import { HELD_SHOP, HELD_TASK, holdTasks } from './held-tasks.ts';
import { recordEvents } from './recorded-events.ts';
import { clusterKinds, shopClusters, watch } from './shop.ts';
import { endsOf, sendTasks } from './shop-tasks.ts';

const RUNNING = 5;
/** One more that is prefetched, and one that waits for its ETA. */
const TASKS = RUNNING + 2;
/** If it is over before the second bridge asks, the task is one more that is prefetched: all slots are taken until then. */
const ETA_S = 10;
/** So long one of them has run at least when the second bridge has seen it. */
const SEEN_S = 0.5;
const ATTRIBUTES = {
  'celery.task.name': HELD_TASK,
  'celery.queue.name': 'orders',
  'celery.worker.name': 'w1@shop',
};

const clusterOf = shopClusters();

const OPTIONS = {
  CELERY_OTEL_INITIAL_DELAY: '0.2',
  CELERY_OTEL_CONTROL_COMMANDS: 'stats,active_queues,active,reserved,scheduled',
};

describe('a restart in mid-task', { concurrency: 3 }, () => {
  for (const { flavour, broker } of clusterKinds()) {
    test(`Celery ${flavour.version} on ${broker}`, async (t) => {
      const cluster = await clusterOf(flavour, broker);
      let worker: CeleryWorker | undefined;
      after(() => worker?.stop());
      worker = await startWorker({
        ...{ ...cluster, ...HELD_SHOP },
        nodename: 'w1@shop',
        concurrency: RUNNING,
        queues: ['orders'],
      });
      const recorder = await recordEvents(t, cluster.broker);
      const first = await watch(t, cluster.broker, OPTIONS);
      const { order, release } = holdTasks(t);
      const sent = await sendTasks(
        cluster,
        Array.from({ length: TASKS }, (_, index) => ({
          ...{ ...order, queue: 'orders' },
          ...(index < TASKS - 1 ? {} : { countdown: ETA_S }),
        })),
      );
      const areHeld = (points: readonly Point[]) =>
        total(points, 'celery.task.started') === RUNNING && total(points, 'celery.task.received') === TASKS;
      await first.until(areHeld);
      first.bridge.signal('SIGTERM');
      const [second] = await Promise.all([watch(t, cluster.broker, OPTIONS), first.bridge.ended()]);
      const isRunning = (points: readonly Point[]) =>
        points.some(
          ({ metric, attributes, value }) =>
            metric === 'celery.task.oldest_age' &&
            attributes['celery.queue.name'] === 'orders' &&
            attributes['celery.task.state'] === 'running' &&
            value > SEEN_S,
        );
      // What runs is asked last.
      await second.until(isRunning);
      release();
      await endsOf(cluster, sent);
      const haveEnded = (points: readonly Point[]) => total(points, 'celery.task.succeeded') === TASKS;
      const points = await second.until(haveEnded);
      assert.equal(total(points, 'celery.task.succeeded', ATTRIBUTES), TASKS);
      const runtime = points.find(({ metric }) => metric === 'celery.task.runtime');
      assert.deepEqual(runtime?.attributes, ATTRIBUTES);
      assert.equal(runtime?.value, TASKS);
      const measuredS = (await recorder.stop())
        .filter(({ type }) => type === 'task-succeeded')
        .reduce((sum, event) => sum + Number(event['runtime']), 0);
      assert.ok(measuredS > SEEN_S, `${measuredS} s`);
      assert.ok(
        Math.abs((runtime?.sum ?? 0) - measuredS) < 1e-3,
        `${runtime?.sum} s, and Celery measured ${measuredS} s`,
      );
      // They began before, but for the two that waited.
      for (const metric of ['celery.task.received', 'celery.task.lost'])
        assert.equal(total(points, metric), 0, metric);
      assert.equal(total(points, 'celery.task.started', ATTRIBUTES), TASKS - RUNNING);
      assert.equal(total(points, 'celery.task.started'), TASKS - RUNNING);
      await worker.stop();
      second.bridge.signal('SIGTERM');
      assert.equal((await second.bridge.ended()).code, 0);
      assert.equal(total(second.sink.latest('shop'), 'celery.task.lost'), 0);
    });
  }
});
