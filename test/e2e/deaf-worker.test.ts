/** A worker that another client made deaf is named by the log, by a metric and by a check; one that is busy or cannot be asked is not. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { celeryFlavours, runPython, SHOP_FOLDER, startWorker, type WorkerOptions } from '../real/celery.ts';
import { ASK_ALL, startBridge } from './bridge-process.ts';
import { type ShopCluster, shopClusters } from './shop-clusters.ts';
import { endsOf, sendTasks } from './shop-tasks.ts';

const clusterOf = shopClusters();

async function started(t: TestContext, options: WorkerOptions): Promise<void> {
  const worker = await startWorker(options);
  t.after(() => worker.kill());
}

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
    startWorker(deaf),
    started(t, { ...cluster, nodename: 'well@shop', queues: ['orders'] }),
    started(t, { ...cluster, nodename: 'busy@shop', queues: ['reports'], pool: 'solo', concurrency: 1 }),
    started(t, { ...cluster, ...without, nodename: 'mute@shop', queues: ['emails'] }),
  ]);
  t.after(() => first.kill());
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const env = {
    ...ASK_ALL,
    CELERY_BROKER_URL: cluster.broker,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
  };
  const bridge = startBridge(t, { ...env, OTEL_METRIC_EXPORT_INTERVAL: '250' });
  const gauge = (metric: string, value: number, workers: readonly string[]) =>
    sink.waitFor(
      'shop',
      (points) => {
        const found = points.filter((point) => point.metric === metric && point.value === value);
        return (
          JSON.stringify(found.map(({ attributes }) => attributes['celery.worker.name']).toSorted()) ===
          JSON.stringify(workers)
        );
      },
      DEADLINE_MS,
    );
  await gauge('celery.worker.pool.limit', 2, ['deaf@shop', 'well@shop']);
  const busy = await sendTasks(cluster, [{ task: 'shop.check_stock', args: ['cup', 20], queue: 'reports' }]);
  await deafen(cluster, 'deaf@shop');
  await bridge.logged(/deaf@shop.*is deaf/u);
  await gauge('celery.worker.deaf', 1, ['deaf@shop']);
  await gauge('celery.worker.up', 1, ['busy@shop', 'deaf@shop', 'mute@shop', 'well@shop']);

  // One that was never seen, and listens, would hide the one that does not.
  await endsOf(cluster, busy);
  const check = startBridge(t, env, ['check', '--seconds=12']);
  const { stdout } = await check.ended();
  assert.match(stdout, /! deaf@shop deaf: heartbeats continue, but no tasks are consumed/u);

  await first.kill();
  await started(t, deaf);
  await bridge.logged(/deaf@shop.*is no longer deaf/u);
  await gauge('celery.worker.deaf', 1, []);
  assert.deepEqual(new Set(bridge.log().match(/\w+@shop(?=\\?" of shop is deaf)/gu)), new Set(['deaf@shop']));
});
