/**
 * The verdict of a running bridge and of `check` beside it, on real clusters whose workers are killed, leave, fail and are missed, and
 * whose tasks are not reported, exported twice or about to be redelivered: both name the same problems, and neither calls them fine.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Receiver, startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { celeryFlavours, startWorker } from '../real/celery.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { HELD_SHOP, holdTasks } from './held-tasks.ts';
import { type ShopCluster, shopClusters } from './shop-clusters.ts';
import { sendTasks } from './shop-tasks.ts';

const clusterOf = shopClusters();
const CHECK_S = 6;
const WAITING = 40;
/** Fewer could have been purged. */
const UNREPORTED = 12;

interface Status {
  readonly grade: string;
  readonly summary: string;
  readonly problems: readonly { readonly code: string; readonly grade: string; readonly line: string }[];
}

/** The shop’s broker and a backend that gets its metrics twice a second. */
function exporting(cluster: ShopCluster, backend: Receiver): Readonly<Record<string, string>> {
  return {
    CELERY_BROKER_URL: cluster.broker,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: backend.url,
    OTEL_METRIC_EXPORT_INTERVAL: '500',
    OTEL_METRIC_EXPORT_TIMEOUT: '500',
  };
}

/** A bridge with a status, and what waits until that has certain problems. */
async function startWithStatus(t: TestContext, env: Readonly<Record<string, string>>) {
  const bridge = startBridge(t, { ...env, CELERY_OTEL_STATUS_ADDRESS: '0' });
  await bridge.logged(/status at http/u);
  const url = /status at (http:\/\/[\d.:]+)\/status\.json/u.exec(bridge.log())?.[1] ?? '';
  let last: Status | undefined;
  const reached = (what: string, is: (found: Status) => boolean) =>
    until(
      what,
      async () => {
        const found: Status = JSON.parse(await (await fetch(`${url}/status.json`)).text());
        last = found;
        return is(found) && found;
      },
      () => JSON.stringify(last),
    );
  return { url, reached };
}

function has({ problems }: Status, ...codes: readonly string[]): boolean {
  return codes.every((code) => problems.some((problem) => problem.code === code));
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
    ...exporting(cluster, backend),
    CELERY_OTEL_WORKER_TIMEOUT: '6',
    CELERY_OTEL_LOST_TIMEOUT: '8',
    CELERY_OTEL_COLLECTION_INTERVAL: '1',
    CELERY_OTEL_QUEUES: 'reports,orders',
  };
  const { url, reached } = await startWithStatus(t, env);
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
  const failing = await reached(
    'a silent worker and failures are named',
    (found) => found.grade === 'degraded' && has(found, 'workers-silent', 'task-fails-often'),
  );
  assert.match(failing.summary, /^Degraded: shop: /u);

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
  const down = await reached(
    'without a worker it is down',
    (found) => found.grade === 'down' && has(found, 'workers-gone'),
  );
  assert.match(down.summary, /^Down: shop: no worker is up: .*, and \d+ messages wait\./u);
  const after = await checked();
  assert.equal(after.code, 2, after.stdout);
  assert.match(after.stdout, /^Down: 1 down/mu);
});

test('tasks that no worker reports, a second bridge and messages about to be redelivered are named', async (t) => {
  const [flavour] = celeryFlavours().toReversed();
  assert.ok(flavour !== undefined);
  const cluster = await clusterOf(flavour, 'Redis');
  const backend = await startReceiver();
  t.after(() => backend.stop());
  const settings = { nodename: 'steady', concurrency: 1, queues: ['orders'] };
  const worker = await startWorker({ ...cluster, ...HELD_SHOP, ...settings });
  t.after(() => worker.kill());
  const env = {
    ...exporting(cluster, backend),
    CELERY_OTEL_COLLECTION_INTERVAL: '0.5',
    // The worker has the default: nothing is delivered twice.
    CELERY_VISIBILITY_TIMEOUT: '5',
  };
  const second = startBridge(t, env);
  await second.logged(/connected to/u);
  const { url, reached } = await startWithStatus(t, env);
  const degraded = async (code: string, line: RegExp) => {
    // A heartbeat that is late on a busy machine makes it worse for a moment.
    const { problems } = await reached(code, (found) => found.grade === 'degraded' && has(found, code));
    const problem = problems.find((each) => each.code === code);
    assert.equal(problem?.grade, 'degraded');
    assert.match(problem?.line ?? '', line);
  };

  // Others are counted when it connects, and once a minute.
  await degraded('exported-twice', /^2 or more instances/u);
  const { order } = holdTasks(t);
  const unreported = Array(UNREPORTED).fill({ task: 'shop.count_stock', args: [], queue: 'orders' });
  // The second one that is held waits for the only process of the worker.
  await sendTasks(cluster, [...unreported, ...Array(2).fill({ ...order, queue: 'orders' })]);
  await degraded('tasks-unseen', /^sent and consumed, but no worker sent an event: shop\.count_stock$/u);
  await degraded('visibility-expires', /redelivered/u);
  const top = await startBridge(t, {}, ['top', url, '--once']).ended();
  assert.match(top.stdout, /will soon be redelivered/u);
  assert.match(top.stdout, /no worker sent an event: shop\.count_stock/u);
  const check = startBridge(t, env, ['check', `--seconds=${2 * CHECK_S}`]);
  const { code, stdout } = await check.ended();
  assert.equal(code, 1, stdout);
  assert.match(stdout, /^ {2}! 1 unacknowledged message will soon be redelivered$/mu);
});
