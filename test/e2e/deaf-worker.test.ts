/** A worker that another client made deaf is named by the log, by a metric and by a check; one that is busy or cannot be asked is not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { celeryFlavours, runPython, SHOP_FOLDER } from '../real/celery.ts';
import { ASK_ALL, startBridge } from './bridge-process.ts';
import { employ, type ShopCluster, shopClusters, watch } from './shop.ts';
import { endsOf, sendTasks } from './shop-tasks.ts';

const clusterOf = shopClusters();

/** As any client does whose separator differs: the worker cannot tell where its reply goes, and stops listening (kombu before 5.7). */
async function deafen(cluster: ShopCluster, nodename: string): Promise<void> {
  const lines = [
    'from shop import app',
    'app.conf.broker_transport_options = {"sep": ":"}',
    `print(len(app.control.inspect(destination=["${nodename}"], timeout=1).ping() or {}))`,
  ];
  assert.equal(await runPython(cluster.flavour, '-c', [lines.join('\n')], cluster), 0);
}

test('a worker that another client made deaf is named until it is restarted; a busy one and one without remote control are not', async (t) => {
  // Its kombu has the defect.
  const [flavour] = celeryFlavours();
  const cluster = await clusterOf(flavour, 'Redis');
  const without = {
    folder: import.meta.dirname,
    app: 'shop_without_control',
    env: { PYTHONPATH: SHOP_FOLDER },
  };
  const deaf = { ...cluster, nodename: 'deaf@shop', queues: ['orders'] };
  const [first] = await Promise.all([
    employ(t, deaf),
    employ(t, { ...cluster, nodename: 'well@shop', queues: ['orders'] }),
    employ(t, { ...cluster, nodename: 'busy@shop', queues: ['reports'], pool: 'solo', concurrency: 1 }),
    employ(t, { ...cluster, ...without, nodename: 'mute@shop', queues: ['emails'] }),
  ]);
  const { bridge, sink, until } = await watch(t, cluster.broker, ASK_ALL);
  const gauge = (metric: string, value: number, workers: readonly string[]) =>
    until((points) => {
      const found = points.filter((point) => point.metric === metric && point.value === value);
      return isDeepStrictEqual(
        found.map(({ attributes }) => attributes['celery.worker.name']).toSorted(),
        workers,
      );
    });
  await gauge('celery.worker.pool.limit', 2, ['deaf@shop', 'well@shop']);
  const busy = await sendTasks(cluster, [{ task: 'shop.check_stock', args: ['cup', 20], queue: 'reports' }]);
  await deafen(cluster, 'deaf@shop');
  await bridge.logged(/deaf@shop.*is deaf/u);
  await gauge('celery.worker.deaf', 1, ['deaf@shop']);
  await gauge('celery.worker.up', 1, ['busy@shop', 'deaf@shop', 'mute@shop', 'well@shop']);

  // One that was never seen, and listens, would hide the one that does not.
  await endsOf(cluster, busy);
  const env = {
    CELERY_BROKER_URL: cluster.broker,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
  };
  const check = startBridge(t, { ...ASK_ALL, ...env }, ['check', '--seconds=12']);
  const { stdout } = await check.ended();
  assert.match(stdout, /! deaf@shop deaf: heartbeats continue, but no tasks are consumed/u);

  await first.kill();
  await employ(t, deaf);
  await bridge.logged(/deaf@shop.*is no longer deaf/u);
  await gauge('celery.worker.deaf', 1, []);
  assert.deepEqual(new Set(bridge.log().match(/\w+@shop(?=\\?" of shop is deaf)/gu)), new Set(['deaf@shop']));
});
