/**
 * The verdict of a running bridge and of `check` beside it, on a real cluster whose workers are killed, leave, fail and are missed: both name
 * the same troubles, and neither calls them fine.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { celeryFlavours, startWorker } from '../real/celery.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { shopClusters } from './shop-clusters.ts';
import { sendTasks } from './shop-tasks.ts';

const clusterOf = shopClusters();
const CHECK_S = 6;
const WAITING = 40;

interface Status {
  readonly grade: string;
  readonly summary: string;
  readonly problems: readonly { readonly code: string; readonly grade: string; readonly line: string }[];
}

test('workers that leave are fine; a killed one, its tasks, its queue and failures are not; none is up: down', async (t) => {
  const [flavour] = celeryFlavours().toReversed();
  assert.ok(flavour !== undefined);
  const cluster = await clusterOf(flavour);
  const backend = await startReceiver();
  t.after(() => backend.stop());
  const employ = async (name: string, queue: string) => {
    const worker = await startWorker({
      ...cluster,
      nodename: name,
      pool: 'prefork',
      concurrency: 2,
      queues: [queue],
    });
    t.after(() => worker.kill());
    return worker;
  };
  const [doomed, steady, leaving] = await Promise.all([
    employ('doomed', 'reports'),
    employ('steady', 'orders'),
    employ('leaving', 'orders'),
  ]);
  const env = {
    CELERY_BROKER_URL: cluster.broker,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: backend.url,
    OTEL_METRIC_EXPORT_INTERVAL: '500',
    OTEL_METRIC_EXPORT_TIMEOUT: '500',
    CELERY_OTEL_WORKER_TIMEOUT: '6',
    CELERY_OTEL_LOST_TIMEOUT: '8',
    CELERY_OTEL_COLLECTION_INTERVAL: '1',
    CELERY_OTEL_QUEUES: 'reports,orders',
  };
  const bridge = startBridge(t, { ...env, CELERY_OTEL_STATUS_ADDRESS: '0' });
  await bridge.logged(/status at http/u);
  const url = /status at (http:\/\/[\d.:]+)\/status\.json/u.exec(bridge.log())?.[1] ?? '';
  let last: Status | undefined;
  const status = async (): Promise<Status> => {
    const found: Status = JSON.parse(await (await fetch(`${url}/status.json`)).text());
    last = found;
    return found;
  };
  const reached = (what: string, is: (found: Status) => boolean) =>
    until(
      what,
      async () => is(await status()),
      () => JSON.stringify(last),
    );
  const has = ({ problems }: Status, ...codes: readonly string[]) =>
    codes.every((code) => problems.some((problem) => problem.code === code));
  const checked = async () => {
    const process = startBridge(t, env, ['check', `--seconds=${CHECK_S}`]);
    const { code, stdout } = await process.ended();
    return { code, stdout };
  };

  await sendTasks(cluster, [{ task: 'shop.check_stock', args: ['cup'] }]);
  await reached(
    'fine, with what that rests on',
    ({ grade, summary }) => grade === 'fine' && /^Fine: 1 broker connected, 3 workers up, /u.test(summary),
  );

  await leaving.stop();
  await reached(
    'a goodbye is fine',
    ({ grade, summary }) => grade === 'fine' && / 2 workers up/u.test(summary),
  );

  const [report] = await sendTasks(cluster, [{ task: 'shop.write_daily_report', args: [90] }]);
  const details = async (path: string) => (await fetch(`${url}/details/${path}`)).text();
  await until('it runs', async () =>
    /"running":1/u.test(await (await fetch(`${url}/services/0.json`)).text()),
  );
  const { nodename } = doomed;
  // The heartbeat that counts it may come before its own events.
  await until('its worker shows it', async () =>
    (await details(`0/workers/${nodename}`)).includes(`"running":{"total":1,"rows":[{"id":"${report?.id}"`),
  );
  await doomed.kill();
  const unicorns = Array.from({ length: 5 }, () => ({ task: 'shop.check_stock', args: ['unicorn'] }));
  const reports = Array.from({ length: WAITING }, () => ({ task: 'shop.write_daily_report', args: [0] }));
  const [unicorn] = await sendTasks(cluster, [...unicorns, ...reports]);
  await reached(
    'a silent worker and failures are named',
    (found) => found.grade === 'degraded' && has(found, 'workers-silent', 'task-fails-often'),
  );
  assert.match(last?.summary ?? '', /^Degraded: shop: /u);

  const failures = await details('0/tasks/shop.check_stock');
  assert.match(failures, /"message":"'unicorn'","stacktrace":"Traceback.* line \d+, in check_stock\\n/u);
  assert.match(await details(`find/${unicorn?.id}`), /"outcome":"failed","error_type":"KeyError"/u);
  await until('the lost run is found by its id, and the exit of its worker', async () =>
    /"outcome":"lost"/u.test(await details(`find/${report?.id}`)),
  );
  assert.match(await details(`0/workers/${nodename}`), /"exits":\[\{"at":"[^"]+","reason":"silence"\}/u);
  assert.match(await details('0/queues/orders'), /"consumers":\["steady@/u);

  const beside = await checked();
  assert.equal(beside.code, 1, beside.stdout);
  // The one that was killed in mid-task is delivered again, too.
  assert.match(beside.stdout, / {2}! queue reports: \d+ waiting, and no worker consumes it\n/u);
  assert.match(beside.stdout, /^Degraded: 1 degraded/mu);

  await steady.kill();
  await reached(
    'without a worker it is down',
    (found) => found.grade === 'down' && has(found, 'workers-gone'),
  );
  assert.match(last?.summary ?? '', /^Down: shop: no worker is up: .*, and \d+ messages wait\./u);
  const after = await checked();
  assert.equal(after.code, 2, after.stdout);
  assert.match(after.stdout, /^Down: 1 down/mu);
});
