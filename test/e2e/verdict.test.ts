/**
 * The verdict of a running bridge and of `check` beside it, on real clusters whose workers are killed, leave, fail and are missed, and
 * whose tasks wait, are overdue, not reported, exported twice or about to be redelivered: the status, `top`, the page and the check name
 * the same problems, and none calls them fine.
 */
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Receiver, startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { trace } from '../../src/cli/trace.ts';
import { processIo } from '../cli/process-io.ts';
import { celeryFlavours } from '../real/celery.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { HELD_SHOP, holdTasks } from './held-tasks.ts';
import { event, publish } from './publish.ts';
import { employ, type ShopCluster, shopClusters } from './shop.ts';
import { sendTasks } from './shop-tasks.ts';
import { lookEverywhere, type Status, statusOf, statusUrl } from './shown-everywhere.ts';
import { watchCheck } from './watched-check.ts';

const clusterOf = shopClusters();
const { showsEverywhere } = lookEverywhere({ after });
const CHECK_S = 6;
/** Of a check that the test ends. */
const ENDLESS_S = 600;
/** So many questions after the bridge has found it, a check has too. */
const SOME_QUESTIONS = 2;
const WAITING = 40;
/** More than the ten minutes after which it is a problem. */
const WAITED_S = 11 * 60;
/** Fewer could have been purged. */
const UNREPORTED = 12;
const STALE_AFTER_S = 3;
/** SIGUSR2 sets its steady clock a minute ahead: only after that time is a queue without consumers a problem. */
const SET_AHEAD =
  'data:text/javascript,const now=performance.now.bind(performance);let aheadMs=0;Object.defineProperty(performance,"now",{value:()=>now()+aheadMs});process.on("SIGUSR2",()=>{aheadMs+=6e4})';
const LOOK_AGAIN_MS = 1000;
/** In the status of the bridge, and in the check beside it. */
const FOUND = [
  // The one that was killed in mid-task is delivered again, too.
  /^queue reports: \d+ waiting, and no worker consumes it$/u,
  /^queue emails: \d+ waiting, and no worker consumes it$/u,
  // The one that said goodbye is not named.
  /^doomed@\S+ went silent$/u,
  /^a task has waited in reports for \d+ min$/u,
  /^1 run of shop\.write_daily_report lost in the last \d+ min$/u,
  /^shop\.check_stock fails often: \d+ % of \d+ runs in the last \d+ min: KeyError ×5$/u,
];

type Env = Readonly<Record<'CELERY_BROKER_URL', string> & Record<string, string>>;

/** The shop’s broker and a backend that gets its metrics twice a second. */
function exporting(cluster: ShopCluster, backend: Receiver): Env {
  return {
    CELERY_BROKER_URL: cluster.broker,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: backend.url,
    OTEL_METRIC_EXPORT_INTERVAL: '500',
    OTEL_METRIC_EXPORT_TIMEOUT: '500',
  };
}

/** A bridge with a status, and what waits until that has certain problems. */
async function startWithStatus(t: TestContext, env: Env) {
  const bridge = startBridge(
    t,
    { ...env, CELERY_OTEL_STATUS_ADDRESS: '0' },
    ['run'],
    ['--import', SET_AHEAD],
  );
  const url = await statusUrl(bridge);
  let last: Status | undefined;
  const reached = (what: string, is: (found: Status) => boolean) =>
    until(
      what,
      async () => {
        last = await statusOf(url);
        return is(last) && last;
      },
      () => JSON.stringify(last),
    );
  return { url, reached, signal: bridge.signal };
}

/** A check that has begun to listen, and what ends it once it has seen what the bridge has. */
async function checkBeside(t: TestContext, env: Env) {
  const { url, listens, asked } = await watchCheck(t, env.CELERY_BROKER_URL);
  const check = startBridge(t, { ...env, CELERY_BROKER_URL: url }, ['check', `--seconds=${ENDLESS_S}`]);
  await listens();
  return async () => {
    await asked(SOME_QUESTIONS);
    check.signal('SIGINT');
    return check.ended();
  };
}

function has({ problems }: Status, ...codes: readonly string[]): boolean {
  return codes.every((code) => problems.some((problem) => problem.code === code));
}

test('workers that leave are fine; a killed one, its tasks, its queues and failures are not; none is up: down', async (t) => {
  const [flavour] = celeryFlavours().toReversed();
  assert.ok(flavour !== undefined);
  const cluster = await clusterOf(flavour);
  const backend = await startReceiver();
  t.after(() => backend.stop());
  const [doomed, steady, leaving] = await Promise.all([
    employ(t, { ...cluster, nodename: 'doomed', queues: ['reports', 'emails'] }),
    employ(t, { ...cluster, nodename: 'steady', queues: ['orders'] }),
    employ(t, { ...cluster, nodename: 'leaving', queues: ['orders'] }),
  ]);
  const env = {
    ...exporting(cluster, backend),
    CELERY_OTEL_WORKER_TIMEOUT: '6',
    CELERY_OTEL_LOST_TIMEOUT: '8',
    CELERY_OTEL_COLLECTION_INTERVAL: '1',
    CELERY_OTEL_QUEUES: 'reports,emails,orders',
  };
  const { url, reached, signal } = await startWithStatus(t, env);

  await sendTasks(cluster, [{ task: 'shop.check_stock', args: ['cup'] }]);
  await reached(
    'fine, with what that rests on',
    ({ grade, summary }) => grade === 'fine' && /^Fine: 1 broker connected, 3 workers up, /u.test(summary),
  );

  const checked = await checkBeside(t, env);
  await leaving.stop();
  await reached(
    'a goodbye is fine',
    ({ grade, summary }) => grade === 'fine' && / 2 workers up/u.test(summary),
  );
  await showsEverywhere(url);

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
  const waiting = Array.from({ length: WAITING }, (_, index) => ({
    ...{ task: 'shop.write_daily_report', args: [0] },
    queue: index % 2 === 0 ? 'reports' : 'emails',
  }));
  const [unicorn] = await sendTasks(cluster, [...unicorns, ...waiting]);
  const beforeS = Date.now() / 1000 - WAITED_S;
  const old = {
    name: 'shop.write_daily_report',
    queue: 'reports',
    hostname: 'gen1@shop',
    timestamp: beforeS,
  };
  await publish(cluster.broker, [event('task-sent', old)]);
  const failing = await reached(
    'a silent worker and failures are named',
    (found) => found.grade === 'degraded' && has(found, 'workers-silent', 'task-fails-often'),
  );
  assert.match(failing.summary, /^Degraded: shop: /u);

  const failures = await details('0/tasks/shop.check_stock');
  assert.match(failures, /"message":"'unicorn'","stacktrace":"Traceback.* line \d+, in check_stock\\n/u);
  assert.match(await details(`find/${unicorn?.id}`), /"outcome":"failed","error_type":"KeyError"/u);
  const past = processIo({});
  assert.equal(await trace([unicorn?.id ?? '', url], past.io), 0);
  assert.match(
    past.stdout(),
    /^task \S+ of shop {2}1 task run .* 1 failed\nshop\.check_stock .* failed: KeyError {2}steady@/u,
  );
  await until('the lost run is found by its id, and the exit of its worker', async () =>
    /"outcome":"lost"/u.test(await details(`find/${report?.id}`)),
  );
  assert.match(await details(`0/workers/${nodename}`), /"exits":\[\{"at":"[^"]+","reason":"silence"\}/u);
  assert.match(await details('0/queues/orders'), /"consumers":\["steady@/u);

  await until('its queues have no consumers', async () => {
    signal('SIGUSR2');
    const lines = (await statusOf(url)).problems.map(({ line }) => line).join('; ');
    if (['reports', 'emails'].every((queue) => lines.includes(`queue ${queue}: `))) return true;
    await delay(LOOK_AGAIN_MS);
    return false;
  });
  const { problems } = await showsEverywhere(
    url,
    ...['workers-silent', 'task-fails-often', 'tasks-lost', 'task-waits-long', 'queue-without-consumers'],
  );
  const beside = await checked();
  assert.equal(beside.code, 1, beside.stdout);
  const lines = beside.stdout.split('\n').map((line) => line.trim());
  for (const found of FOUND) {
    assert.ok(
      problems.some(({ line }) => found.test(line)),
      `${found}: ${JSON.stringify(problems)}`,
    );
    assert.ok(
      lines.some((line) => line.startsWith('! ') && found.test(line.slice('! '.length))),
      `${found}: ${beside.stdout}`,
    );
  }
  assert.match(beside.stdout, /^Degraded: \d+ degraded/mu);

  await steady.kill();
  const down = await reached(
    'without a worker it is down',
    (found) => found.grade === 'down' && has(found, 'workers-gone'),
  );
  assert.match(down.summary, /^Down: shop: no worker is up: .*, and \d+ messages wait\./u);
  const [after] = await Promise.all([
    startBridge(t, env, ['check', `--seconds=${CHECK_S}`]).ended(),
    showsEverywhere(url, 'workers-gone'),
  ]);
  assert.equal(after.code, 2, after.stdout);
  assert.match(after.stdout, /^Down: 1 down/mu);
});

test('tasks that no worker reports, a stale one, a second bridge and messages about to be redelivered are named', async (t) => {
  const [flavour] = celeryFlavours().toReversed();
  assert.ok(flavour !== undefined);
  const cluster = await clusterOf(flavour, 'Redis');
  const backend = await startReceiver();
  t.after(() => backend.stop());
  const settings = { nodename: 'steady', concurrency: 1, queues: ['orders'] };
  await employ(t, { ...cluster, ...HELD_SHOP, ...settings });
  const env = {
    ...exporting(cluster, backend),
    CELERY_OTEL_COLLECTION_INTERVAL: '0.5',
    // The worker has the default: nothing is delivered twice.
    CELERY_VISIBILITY_TIMEOUT: '5',
    CELERY_OTEL_TASK_STALE_AFTER: `shop.write_daily_report=${STALE_AFTER_S}`,
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
  const checked = await checkBeside(t, env);
  const { order } = holdTasks(t);
  const unreported = Array(UNREPORTED).fill({ task: 'shop.count_stock', args: [], queue: 'orders' });
  // The second one that is held waits for the only process of the worker.
  await sendTasks(cluster, [...unreported, ...Array(2).fill({ ...order, queue: 'orders' })]);
  await degraded('tasks-unseen', /^sent and consumed, but no worker sent an event: shop\.count_stock$/u);
  await degraded('visibility-expires', /redelivered/u);
  await degraded('task-stale', /^shop\.write_daily_report has not succeeded for \d+ s$/u);
  await showsEverywhere(url, 'exported-twice', 'tasks-unseen', 'visibility-expires', 'task-stale');
  const { code, stdout } = await checked();
  assert.equal(code, 1, stdout);
  assert.match(stdout, /^ {2}! 1 unacknowledged message will soon be redelivered$/mu);
  assert.match(stdout, /^ {2}! 2 or more instances of celery-otel listen to these events$/mu);
  assert.match(stdout, /^ {2}! sent and consumed, but no worker sent an event: shop\.count_stock$/mu);
});
