/**
 * Workers that are polled and are not like others: one grows and shrinks, one is busy and replies to nobody, and one replies
 * with pickle. None disturbs what the others tell.
 */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Point } from '../../examples/demo/otlp-points.ts';
import { BROKER_NAMES } from '../real/brokers.ts';
import { type CeleryFlavour, celeryFlavours, SHOP_FOLDER, type WorkerOptions } from '../real/celery.ts';
import { ASK_ALL } from './bridge-process.ts';
import { ownMetric } from './own-metrics.ts';
import { ASK_OFTEN, employ, type ShopCluster, shopClusters, watch } from './shop.ts';
import { sendTasks } from './shop-tasks.ts';

const LARGEST = 4;
const TASK_S = 1;
/**
 * How long the pool stays at its largest: so long that all tasks have ended, for then it shrinks at once. Celery can stop one
 * process twice if it shrinks again before that one has ended, and then keeps one too many.
 */
const KEEPALIVE_S = 9;
/** Longer than the test. */
const LONG_S = 300;
const TIMEOUT_S = 1;

const FLAVOURS = celeryFlavours();
const newest = FLAVOURS.reduce((_, last) => last);
/** By the name of their Celery. */
const SCALED = { newest: 'scaled', debian: 'scaled-debian' } as const;

const clusterOf = shopClusters();

/** The value of a metric of one worker. */
function of(points: readonly Point[], worker: string, metric: string): number | undefined {
  return points.find(
    ({ metric: name, attributes }) =>
      name === `celery.worker.${metric}` && attributes['celery.worker.name'] === `${worker}@shop`,
  )?.value;
}

/** What a worker told of its pool. */
function poolOf(points: readonly Point[], worker: string) {
  const [processes, limit] = [of(points, worker, 'pool.processes'), of(points, worker, 'pool.limit')];
  const [min, max] = [of(points, worker, 'autoscaler.min'), of(points, worker, 'autoscaler.max')];
  return { processes, limit, min, max };
}

async function listen(t: TestContext, { broker }: ShopCluster) {
  const options = { ...ASK_ALL, ...ASK_OFTEN, CELERY_OTEL_TIMEOUT: String(TIMEOUT_S) };
  const watching = await watch(t, broker, options);
  return {
    ...watching,
    /** How many replies had that outcome. */
    replies: (outcome: string): number =>
      ownMetric(watching.sink.latest('celery-otel'), 'shop', 'control.replies', {
        'celery_otel.reply.outcome': outcome,
      }),
  };
}

describe('odd workers', { concurrency: BROKER_NAMES.length }, () => {
  for (const broker of BROKER_NAMES) {
    test(broker, async (t) => {
      const cluster = await clusterOf(newest, broker);
      const { bridge, sink, until, replies } = await listen(t, cluster);
      const start = async (name: string, more: Partial<WorkerOptions>) => {
        const queues = [name];
        return employ(t, { ...cluster, nodename: `${name}@shop`, queues, ...more });
      };
      const send = (queue: string, count: number, seconds: number) =>
        sendTasks(cluster, Array(count).fill({ task: 'shop.check_stock', args: ['cup', seconds], queue }));

      await t.test('a pool with an autoscaler grows and shrinks, and its limits stay', async () => {
        const scaled = async (name: string, flavour: CeleryFlavour) => {
          await start(name, {
            ...{ flavour, args: ['--autoscale', `${LARGEST},1`] },
            env: { AUTOSCALE_KEEPALIVE: String(KEEPALIVE_S) },
          });
          const sized = async (processes: number) => {
            const points = await until((all) => of(all, name, 'pool.processes') === processes);
            assert.deepEqual(poolOf(points, name), { processes, limit: LARGEST, min: 1, max: LARGEST });
          };
          await sized(1);
          await send(name, LARGEST, TASK_S);
          await sized(LARGEST);
          await sized(1);
        };
        // Each waits for its time to shrink.
        await Promise.all(FLAVOURS.map((flavour) => scaled(SCALED[flavour.name], flavour)));
      });

      await t.test('a solo worker has one slot; while it is busy it is silent, and up', async () => {
        await start('solo', { pool: 'solo', concurrency: 4 });
        const isReported = (points: readonly Point[]) => of(points, 'solo', 'pool.limit') !== undefined;
        const idle = await until(isReported);
        assert.deepEqual(poolOf(idle, 'solo'), {
          ...{ processes: 1, limit: 1, min: undefined, max: undefined },
        });
        assert.equal(of(idle, 'solo', 'pool.utilization'), 0);
        await send('solo', 1, LONG_S);
        await bridge.logged(/no reply within 1000 ms from [^"]*solo@shop/u);
        const before = replies('answer');
        await until(() => replies('answer') >= before + 4, 'celery-otel');
        const busy = sink.latest('shop');
        assert.equal(of(busy, 'solo', 'up'), 1);
        // What it told last: its events wait, too, until the task has ended.
        assert.deepEqual(poolOf(busy, 'solo'), poolOf(idle, 'solo'));
        assert.equal(of(busy, 'solo', 'pool.utilization'), 0);
        assert.equal(of(busy, SCALED[newest.name], 'pool.processes'), 1);
        bridge.signal('SIGTERM');
        assert.equal((await bridge.ended()).code, 0);
      });

      await t.test('replies in pickle are counted and named, and are no others’ trouble', async () => {
        assert.equal(replies('unreadable'), 0);
        // Last: workers that start ask the others, and end at such a reply.
        await start('pickled', {
          ...{ folder: import.meta.dirname, app: 'shop_with_pickle' },
          env: { PYTHONPATH: SHOP_FOLDER },
        });
        // Another bridge: faults of replies are logged once a minute.
        const next = await listen(t, cluster);
        await next.bridge.logged(/a worker uses pickle for its replies, which is never decoded/u);
        await next.until(() => next.replies('unreadable') > 0 && next.replies('answer') >= 4, 'celery-otel');
        // It sends heartbeats and runs tasks as others do.
        await send('pickled', 1, 0);
        const hasRun = ({ metric, attributes }: Point): boolean =>
          metric === 'celery.task.succeeded' && attributes['celery.queue.name'] === 'pickled';
        const points = await next.until((all) => all.some(hasRun));
        assert.equal(of(points, 'pickled', 'up'), 1);
        assert.equal(of(points, 'pickled', 'pool.processes'), undefined);
        assert.equal(of(points, SCALED[newest.name], 'pool.processes'), 1);
        assert.equal(next.replies('error'), 0);
        next.bridge.signal('SIGTERM');
        assert.equal((await next.bridge.ended()).code, 0);
      });
    });
  }
});
