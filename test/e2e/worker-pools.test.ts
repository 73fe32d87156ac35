/** What workers tell of their pools by remote control: of each kind, with an autoscaler, on both brokers. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Point } from '../../examples/demo/otlp-points.ts';
import type { CeleryWorker } from '../real/celery.ts';
import { ASK_ALL } from './bridge-process.ts';
import { ownMetric } from './own-metrics.ts';
import { ASK_OFTEN, clusterKinds, employ, type ShopCluster, shopClusters, watch } from './shop.ts';
import { sendTasks } from './shop-tasks.ts';

/** Longer than the test. */
const TASK_S = 300;
/** Less than the time since the first answer, at the latest when the deadline is over. */
const AGE_S = 10;

/** A worker of its own queue; its tasks, and what is expected of it. */
interface Kind {
  readonly name: string;
  readonly pool: 'prefork' | 'threads' | 'solo' | 'gevent' | 'eventlet';
  readonly args?: readonly string[];
  readonly tasks: number;
  readonly processes: number;
  readonly limit: number;
  readonly utilization: number;
}

const FOUR = { tasks: 3, processes: 4, limit: 4, utilization: 0.75 } as const;
const KINDS: readonly Kind[] = [
  { name: 'prefork', pool: 'prefork', ...FOUR },
  { name: 'threads', pool: 'threads', ...FOUR },
  // While it runs a task it replies to nobody.
  { name: 'solo', pool: 'solo', tasks: 0, processes: 1, limit: 1, utilization: 0 },
  { name: 'gevent', pool: 'gevent', ...FOUR },
  { name: 'eventlet', pool: 'eventlet', ...FOUR },
  // Its pool begins with the smallest size, and has no reason to grow.
  {
    ...{ name: 'scaled', pool: 'prefork', args: ['--autoscale', '8,4'] },
    ...{ tasks: 3, processes: 4, limit: 8, utilization: 0.75 },
  },
];

const clusterOf = shopClusters();

function startKinds(t: TestContext, cluster: ShopCluster): Promise<readonly CeleryWorker[]> {
  return Promise.all(
    KINDS.map(({ name, pool, args = [] }) =>
      employ(t, { ...cluster, nodename: `${name}@shop`, pool, concurrency: 4, queues: [name], args }),
    ),
  );
}

/** The values of a metric by worker or by queue. */
function by(points: readonly Point[], metric: string): Readonly<Record<string, number>> {
  return Object.fromEntries(
    points
      .filter((point) => point.metric === metric)
      .map(({ attributes, value }) => [
        String(attributes['celery.worker.name'] ?? attributes['celery.queue.name'])
          .split('@', 1)
          .join(),
        value,
      ]),
  );
}

describe('the pools of workers', { concurrency: 2 }, () => {
  for (const { flavour, broker } of clusterKinds()) {
    test(`Celery ${flavour.version} on ${broker}`, async (t) => {
      const cluster = await clusterOf(flavour, broker);
      const { bridge, sink, until } = await watch(t, cluster.broker, { ...ASK_ALL, ...ASK_OFTEN });
      await startKinds(t, cluster);
      const expected = (key: 'processes' | 'limit' | 'utilization') =>
        Object.fromEntries(KINDS.map((kind) => [kind.name, kind[key]]));
      const isReported = (points: readonly Point[]) =>
        Object.keys(by(points, 'celery.worker.pool.processes')).length === KINDS.length;
      await until(isReported);
      await sendTasks(
        cluster,
        KINDS.flatMap(({ name, tasks }) =>
          Array.from({ length: tasks }, () => ({
            task: 'shop.check_stock',
            args: ['tea', TASK_S],
            queue: name,
          })),
        ),
      );
      const isBusy = (points: readonly Point[]) =>
        Object.values(by(points, 'celery.worker.pool.utilization')).reduce((sum, busy) => sum + busy, 0) ===
        KINDS.reduce((sum, { utilization }) => sum + utilization, 0);
      const points = await until(isBusy);
      assert.deepEqual(by(points, 'celery.worker.pool.utilization'), expected('utilization'));
      assert.deepEqual(by(points, 'celery.worker.pool.processes'), expected('processes'));
      assert.deepEqual(by(points, 'celery.worker.pool.limit'), expected('limit'));
      assert.deepEqual(by(points, 'celery.queue.processes'), expected('processes'));
      assert.deepEqual(by(points, 'celery.queue.utilization'), expected('utilization'));
      const ones = Object.fromEntries(KINDS.map(({ name }) => [name, 1]));
      assert.deepEqual(by(points, 'celery.queue.workers'), ones);
      assert.deepEqual(by(points, 'celery.worker.autoscaler.min'), { scaled: 4 });
      assert.deepEqual(by(points, 'celery.worker.autoscaler.max'), { scaled: 8 });
      const pools = points.filter(({ metric }) => metric === 'celery.worker.pool.limit');
      assert.deepEqual(
        Object.fromEntries(
          pools.map(({ attributes }) => [attributes['celery.worker.name'], attributes['celery.worker.pool']]),
        ),
        Object.fromEntries(KINDS.map(({ name, pool }) => [`${name}@shop`, pool])),
      );
      const prefetch = by(points, 'celery.worker.prefetch.limit');
      assert.equal(prefetch['prefork'], 16);
      const own = (metric: string, attributes = {}) =>
        ownMetric(sink.latest('celery-otel'), 'shop', metric, attributes);
      const answers = { 'celery_otel.reply.outcome': 'answer' };
      const repliedTwice = (own: readonly Point[]) =>
        ownMetric(own, 'shop', 'control.replies', answers) >= 2 * KINDS.length;
      await until(repliedTwice, 'celery-otel');
      assert.equal(own('control.replies', { 'celery_otel.reply.outcome': 'error' }), 0);
      const isFresh = (own: readonly Point[]) => ownMetric(own, 'shop', 'control.age') < AGE_S;
      await until(isFresh, 'celery-otel');
      bridge.signal('SIGTERM');
      assert.equal((await bridge.ended()).code, 0);
    });
  }
});
