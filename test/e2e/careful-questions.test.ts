/**
 * Workers that a careless question would stop for good: with values in their settings and queues that a reply cannot hold, and with a
 * separator of their own, as Celery’s guide for priorities has it. They are asked only what they can answer, and where a reply can fail
 * without harm, once.
 */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { type CeleryFlavour, type CeleryWorker, celeryFlavours, SHOP_FOLDER } from '../real/celery.ts';
import { ASK_ALL, type BridgeProcess, startBridge } from './bridge-process.ts';
import { ownMetric } from './own-metrics.ts';
import { ASK_OFTEN, employ, type ShopCluster, shopClusters, watch } from './shop.ts';
import { endsOf, sendTasks } from './shop-tasks.ts';

/** From Celery’s guide. */
const PRIORITIES = { sep: ':', priority_steps: [0, 3, 6, 9], queue_order_strategy: 'priority' } as const;
const QUESTIONS = 12;
const TASKS = 2;
/** In the time of the test. */
const PINGS_MAX = 8;

const clusterOf = shopClusters();

/** What a worker has that a reply cannot hold (`shop_harmed.py`), and which reply that is, if it is asked for by default. */
const HARMS = {
  plain: undefined,
  lazy: undefined,
  fraction: undefined,
  single: undefined,
  range: 'stats',
  yaml: 'any',
  timedelta: 'active_queues',
  set: 'active_queues',
  enum: 'active_queues',
  binding: 'active_queues',
} as const;
type Harm = keyof typeof HARMS;

const [debian] = celeryFlavours();
const newest = celeryFlavours().at(-1) ?? debian;
const ALL: readonly Harm[] = [
  ...(['plain', 'lazy', 'fraction', 'single', 'range', 'yaml'] as const),
  ...(['timedelta', 'set', 'enum', 'binding'] as const),
];

/** One worker of each kind, with a queue of its name. */
function startHarmed(t: TestContext, cluster: ShopCluster, harm: Harm): Promise<CeleryWorker> {
  return employ(t, {
    ...{ ...cluster, nodename: `${harm}@shop`, queues: [harm], concurrency: 1, app: 'shop_harmed' },
    ...{ folder: import.meta.dirname, env: { PYTHONPATH: SHOP_FOLDER, SHOP_HARM: harm } },
    // One that starts asks the others, and would end at a reply in YAML.
    args: ['--without-mingle'],
  });
}

/** Each of them runs the tasks of its queue. */
async function assertConsume(cluster: ShopCluster, harms: readonly Harm[]): Promise<void> {
  const orders = harms.flatMap((queue) =>
    Array.from({ length: TASKS }, () => ({ task: 'shop.check_stock', args: ['cup', 0], queue })),
  );
  const ends = await endsOf(cluster, await sendTasks(cluster, orders));
  assert.equal(ends.length, orders.length, 'all workers go on');
}

/** A bridge that has asked, or polled, for some rounds. */
async function asking(
  t: TestContext,
  cluster: ShopCluster,
  of: 'control.requests' | 'broker.polls',
  options: Readonly<Record<string, string>> = {},
  outcome = 'success',
) {
  const watching = await watch(t, cluster.broker, {
    ...ASK_OFTEN,
    CELERY_OTEL_COLLECTION_INTERVAL: '0.3',
    CELERY_TASK_DEFAULT_QUEUE: 'orders',
    ...options,
  });
  const by = of === 'control.requests' ? 'celery_otel.control.outcome' : 'celery_otel.poll.outcome';
  const count = () => ownMetric(watching.sink.latest('celery-otel'), 'shop', of, { [by]: outcome });
  const rounds = async () => {
    const before = count();
    await watching.until(() => count() >= before + QUESTIONS, 'celery-otel');
  };
  await rounds();
  return { ...watching, rounds };
}

/** What its workers were asked for. */
function commandsOf(sink: Awaited<ReturnType<typeof startReceiver>>): readonly string[] {
  const requests = sink
    .latest('celery-otel')
    .filter(({ metric }) => metric === 'celery_otel.control.requests');
  const commands = requests.map(({ attributes }) => String(attributes['celery_otel.control.command']));
  return [...new Set(commands)].toSorted();
}

async function stopped(bridge: BridgeProcess): Promise<void> {
  bridge.signal('SIGTERM');
  assert.equal((await bridge.ended()).code, 0);
}

describe('workers that a question could stop', { concurrency: 2 }, () => {
  test(`workers of Celery ${debian.version} on Redis go on, whatever is in their settings and queues; what is not asked is reported`, async (t) => {
    const cluster = await clusterOf(debian, 'Redis');
    const workers = await Promise.all(ALL.map((harm) => startHarmed(t, cluster, harm)));
    await assertConsume(cluster, ALL);
    const env = { CELERY_BROKER_URL: cluster.broker, OTEL_SERVICE_NAME: 'shop' };
    const sink = await startReceiver();
    t.after(() => sink.stop());
    const check = startBridge(t, { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: sink.url }, ['check', '--seconds=6']);
    const { stdout } = await check.ended();
    assert.match(
      stdout,
      /\? unknown for .* and 4 more: pools and workers of queues; Celery 5\.2\.6 on Redis does not get stats and active_queues\n.*CELERY_OTEL_CONTROL_COMMANDS=stats,active_queues,active adds them/u,
    );
    assert.match(stdout, /\? yaml@shop reply in a format other than JSON, and get no more commands/u);
    assert.doesNotMatch(stdout, /did not reply to remote control/u);
    await assertConsume(cluster, ALL);

    const bridge = await asking(t, cluster, 'broker.polls');
    await bridge.until(() => commandsOf(bridge.sink).includes('active'), 'celery-otel');
    assert.deepEqual(commandsOf(bridge.sink), ['active', 'ping']);
    const [first] = workers;
    await first?.stop();
    await startHarmed(t, cluster, 'plain');
    await bridge.rounds();
    await assertConsume(cluster, ALL);
    assert.match(
      bridge.bridge.log(),
      /Celery 5\.2\.6 on Redis, such as .* do not get stats and active_queues/u,
    );
    assert.match(
      bridge.bridge.log(),
      /yaml@shop\\?" gets no remote control commands: its replies are not JSON/u,
    );
    const metrics = new Set(bridge.sink.latest('shop').map(({ metric }) => metric));
    for (const missing of ['celery.worker.pool.limit', 'celery.queue.workers'])
      assert.ok(!metrics.has(missing), `${missing} is not known, and not 0`);
    for (const worker of workers)
      assert.doesNotMatch(worker.log(), /Traceback|ERROR|CRITICAL/u, worker.nodename);
    await stopped(bridge.bridge);
  });

  for (const [flavour, broker] of [
    [newest, 'Redis'],
    [debian, 'RabbitMQ'],
  ] as const) {
    test(`a worker of Celery ${flavour.version} on ${broker} whose reply fails is asked that once, which is reported; the others are asked`, async (t) => {
      const harms = ['plain', 'range', 'yaml', 'timedelta'] as const;
      // RabbitMQ itself refuses a queue with such an argument.
      const some = broker === 'Redis' ? harms : harms.filter((harm) => harm !== 'timedelta');
      const cluster = await clusterOf(flavour, broker);
      const workers = await Promise.all(some.map((harm) => startHarmed(t, cluster, harm)));
      const bridge = await asking(t, cluster, 'control.requests');
      await bridge.until((points) =>
        points.some(({ metric, value }) => metric === 'celery.worker.pool.limit' && value === 1),
      );
      const reported = some.filter((harm) => HARMS[harm] === 'stats' || HARMS[harm] === 'active_queues');
      for (const harm of reported) {
        const line = `${harm}@shop\\\\?" did not reply to ${HARMS[harm]}, but replied to a later ping`;
        await bridge.bridge.logged(new RegExp(line, 'u'));
      }
      await bridge.rounds();
      await assertConsume(cluster, some);
      for (const worker of workers) {
        const errors = worker.log().match(/^.*Control command error.*$/gmu) ?? [];
        // Where YAML is not installed, even the reply to a ping fails, and it is pinged less and less.
        const most = worker.nodename === 'yaml@shop' ? PINGS_MAX : 1;
        assert.ok(errors.length <= most, `${worker.nodename}: ${errors.join('\n')}`);
      }
      await stopped(bridge.bridge);
    });
  }

  for (const flavour of celeryFlavours()) {
    test(`a worker of Celery ${flavour.version} is asked with its own separator, and goes on`, async (t) => {
      const { cluster, worker } = await withPriorities(t, flavour);
      const { until } = await asking(t, cluster, 'control.requests', ASK_ALL);
      await until((points) =>
        points.some(({ metric, value }) => metric === 'celery.worker.pool.limit' && value === 2),
      );
      await goesOn(cluster, worker);
    });

    test(`a worker of Celery ${flavour.version} is not asked with another separator, which is said`, async (t) => {
      const { cluster, worker } = await withPriorities(t, flavour);
      const { bridge } = await asking(
        t,
        cluster,
        'control.requests',
        { CELERY_SEP: '\\x06\\x16' },
        'failure',
      );
      assert.match(bridge.log(), /the workers use the separator \\?":\\?", but sep is .*set sep to auto/u);
      assert.match(bridge.log(), /queue lengths are unknown, since workers use the separator/u);
      await goesOn(cluster, worker);
    });
  }
});

async function withPriorities(t: TestContext, flavour: CeleryFlavour) {
  const cluster = { ...(await clusterOf(flavour, 'Redis')), transportOptions: PRIORITIES };
  const worker = await employ(t, { ...cluster, nodename: 'w1@shop', queues: ['orders'] });
  return { cluster, worker };
}

async function goesOn(cluster: ShopCluster, worker: CeleryWorker): Promise<void> {
  const order = { task: 'shop.check_stock', args: ['cup', 0], queue: 'orders' };
  const ends = await endsOf(cluster, await sendTasks(cluster, Array(TASKS).fill(order)));
  assert.equal(ends.length, TASKS, `${worker.nodename} goes on`);
}
