import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import type { ReceivedExport } from '../../examples/demo/otlp-receiver.ts';
import { ASK_OFTEN, clusterKinds, employ, type ShopCluster, shopClusters, watch } from './shop.ts';
import { type Order, sendTasks } from './shop-tasks.ts';

const WORKER_TIMEOUT_S = 3;
/** Far enough from the former for an export in between, also on a machine with other things to do. */
const LOST_TIMEOUT_S = 12;
/** Of the bridge in which the killed worker returns before it is forgotten, however long that takes. */
const LONG_RETENTION_S = 600;
/** Of the one in which series end; long enough for an export with the lost tasks. */
const SHORT_RETENTION_S = 20;
const EXPORT_INTERVAL_MS = 500;
const LONG = 'shop.write_daily_report';
const RUNNING = 3;

const clusterOf = shopClusters();
const KINDS = clusterKinds();

function times<Item>(count: number, item: Item): readonly Item[] {
  return Array.from({ length: count }, () => item);
}

/** The identity of a series: its metric and its attributes. */
function seriesOf(points: readonly Point[], worker: string): ReadonlySet<string> {
  return new Set(
    points
      .filter((point) => point.attributes['celery.worker.name'] === worker)
      .map((point) => `${point.metric} ${JSON.stringify(Object.entries(point.attributes).sort())}`),
  );
}

async function observe(t: TestContext, cluster: ShopCluster, retentionS: number) {
  /** The counter in each export. */
  const lostInExports: number[] = [];
  const onExport = ({ points }: ReceivedExport): void => {
    if (points[0]?.resource['service.name'] === 'shop') lostInExports.push(total(points, 'celery.task.lost'));
  };
  const options = {
    ...ASK_OFTEN,
    CELERY_OTEL_WORKER_TIMEOUT: String(WORKER_TIMEOUT_S),
    CELERY_OTEL_LOST_TIMEOUT: String(LOST_TIMEOUT_S),
    CELERY_OTEL_SERIES_RETENTION: String(retentionS),
    CELERY_OTEL_ATTRIBUTES_ENABLED: 'celery.task.prefetch_time/celery.worker.name',
    OTEL_METRIC_EXPORT_INTERVAL: String(EXPORT_INTERVAL_MS),
  };
  return { ...(await watch(t, cluster.broker, options, { onExport })), lostInExports };
}

describe('a killed worker', { concurrency: KINDS.length }, () => {
  for (const { flavour, broker } of KINDS) {
    test(`Celery ${flavour.version} on ${broker}: three tasks of a killed worker are lost once, and its series end`, async (t) => {
      const cluster = await clusterOf(flavour, broker);
      const [patient, forgetful] = await Promise.all([
        observe(t, cluster, LONG_RETENTION_S),
        observe(t, cluster, SHORT_RETENTION_S),
      ]);
      const { until } = patient;
      const start = (nodename: string, queue: string) =>
        employ(t, { ...cluster, nodename, concurrency: RUNNING, queues: [queue] });
      const [doomed, steady] = await Promise.all([start('doomed', 'reports'), start('steady', 'orders')]);
      const of = (points: readonly Point[], metric: string, worker = doomed.nodename): number =>
        total(points, metric, { 'celery.worker.name': worker });
      const long: Order = { task: LONG, args: [90] };
      await sendTasks(cluster, [
        ...times(2, { task: 'shop.check_stock', args: ['cup'] }),
        ...times(2, { task: 'shop.check_stock', args: ['unicorn'] }),
        ...times(2, { task: LONG, args: [0.1] }),
        ...times(RUNNING, long),
      ]);
      const busy = await until(
        (points) =>
          of(points, 'celery.worker.tasks.active') === RUNNING &&
          of(points, 'celery.task.succeeded') === 2 &&
          of(points, 'celery.task.failed', steady.nodename) === 2,
      );
      assert.equal(of(busy, 'celery.worker.up'), 1);
      assert.equal(of(busy, 'celery.task.lost'), 0);

      await doomed.kill();
      const silent = await until((points) => of(points, 'celery.worker.up') === 0);
      assert.equal(total(silent, 'celery.task.lost'), 0, 'silence alone is no death yet');
      const dead = await until((points) => total(points, 'celery.task.lost') > 0);
      const where = {
        'celery.task.name': LONG,
        'celery.queue.name': 'reports',
        'celery.worker.name': doomed.nodename,
      };
      assert.equal(total(dead, 'celery.task.lost', where), RUNNING);
      assert.equal(total(dead, 'celery.task.lost'), RUNNING);
      assert.equal(of(dead, 'celery.worker.tasks.active'), 0);
      assert.equal(total(dead, 'celery.task.oldest_age'), 0, 'nothing runs any more');

      const successor = await start('doomed', 'reports');
      assert.notEqual(successor.pid, doomed.pid);
      await sendTasks(cluster, [{ task: LONG, args: [0.1] }]);
      const back = await until(
        (points) => of(points, 'celery.worker.up') === 1 && of(points, 'celery.task.succeeded') === 3,
      );
      assert.equal(total(back, 'celery.task.lost', where), RUNNING);

      await successor.kill();
      const last = await until((points) => of(points, 'celery.worker.up') === 0);
      const kept = seriesOf(last, steady.nodename);
      const ending = seriesOf(last, doomed.nodename);
      for (const metric of [
        'worker.up',
        'task.lost',
        'task.succeeded',
        'task.runtime',
        'task.prefetch_time',
      ]) {
        assert.ok(
          [...ending].some((series) => series.startsWith(`celery.${metric} `)),
          `it has ${metric}`,
        );
      }
      const forgotten = await forgetful.until(
        (points) =>
          seriesOf(points, doomed.nodename).size === 0 &&
          of(points, 'celery.worker.up', steady.nodename) === 1,
      );
      assert.deepEqual(seriesOf(forgotten, steady.nodename), kept, 'those of the other go on');
      assert.equal(of(forgotten, 'celery.task.failed', steady.nodename), 2);

      const sinceLost = ({ lostInExports }: typeof forgetful) => {
        const first = lostInExports.findIndex((count) => count > 0);
        return [...new Set(lostInExports.slice(first))];
      };
      assert.deepEqual(sinceLost(forgetful), [RUNNING, 0], 'three in each export, until the series ended');
      assert.deepEqual(sinceLost(patient), [RUNNING], 'three in each export');
      assert.ok(patient.bridge.alive() && forgetful.bridge.alive());
    });
  }
});
