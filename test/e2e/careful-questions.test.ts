/**
 * Workers on Redis that a careless question would stop for good: with a separator of their own, as Celery’s guide for priorities has
 * it, and with a serializer that cannot encode all replies. They are asked only what they can answer.
 */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';
import {
  type CeleryFlavour,
  celeryFlavours,
  SHOP_FOLDER,
  startWorker,
  type WorkerOptions,
} from '../real/celery.ts';
import { startBridge } from './bridge-process.ts';
import { ownMetric } from './own-metrics.ts';
import { shopClusters } from './shop-clusters.ts';
import { endsOf, sendTasks } from './shop-tasks.ts';

/** From Celery’s guide. */
const PRIORITIES = { sep: ':', priority_steps: [0, 3, 6, 9], queue_order_strategy: 'priority' } as const;
const QUESTIONS = 12;
const TASKS = 5;

const clusterOf = shopClusters();

interface Asking {
  readonly flavour: CeleryFlavour;
  /** Of questions, or of some of them; of polls of the broker, if the worker is not asked. */
  readonly outcome: 'success' | 'failure';
  readonly of?: 'control.requests' | 'broker.polls';
  /** Of celery-otel. */
  readonly options?: Readonly<Record<string, string>>;
  readonly worker?: Partial<WorkerOptions>;
}

/** A worker that has been asked, or not, for some rounds of questions. */
async function asked(
  t: TestContext,
  {
    flavour,
    outcome,
    of = 'control.requests',
    options = {},
    worker: more = { transportOptions: PRIORITIES },
  }: Asking,
) {
  const { transportOptions } = more;
  const cluster = {
    ...(await clusterOf(flavour, 'Redis')),
    ...(transportOptions === undefined ? {} : { transportOptions }),
  };
  const worker = await startWorker({ ...cluster, nodename: 'w1@shop', queues: ['orders'], ...more });
  t.after(() => worker.kill());
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: cluster.broker,
    CELERY_TASK_DEFAULT_QUEUE: 'orders',
    CELERY_OTEL_COLLECTION_INTERVAL: '0.3',
    CELERY_OTEL_INITIAL_DELAY: '0.1',
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    OTEL_METRIC_EXPORT_INTERVAL: '250',
    ...options,
  });
  const isAsked = {
    [of === 'control.requests' ? 'celery_otel.control.outcome' : 'celery_otel.poll.outcome']: outcome,
  };
  await sink.waitFor(
    'celery-otel',
    (points) => ownMetric(points, 'shop', of, isAsked) >= QUESTIONS,
    DEADLINE_MS,
  );
  const orders = Array.from({ length: TASKS }, () => ({
    ...{ task: 'shop.check_stock', args: ['cup', 0], queue: 'orders' },
  }));
  const ends = await endsOf(cluster, await sendTasks(cluster, orders));
  assert.equal(ends.length, TASKS, 'the worker goes on');
  return { bridge, sink };
}

describe('workers that a question could stop', { concurrency: 2 }, () => {
  test('a worker whose replies are in YAML is not asked for what it cannot encode, which is said', async (t) => {
    const [flavour] = celeryFlavours();
    assert.ok(flavour !== undefined);
    const { bridge, sink } = await asked(t, {
      ...{ flavour, outcome: 'success', of: 'broker.polls' },
      worker: { folder: import.meta.dirname, app: 'shop_with_yaml', env: { PYTHONPATH: SHOP_FOLDER } },
    });
    assert.match(
      bridge.log(),
      /is not asked for anything: its replies are not JSON.*let task_serializer be json/u,
    );
    const own = sink.latest('celery-otel');
    const commands = own.filter(({ metric }) => metric === 'celery_otel.control.requests');
    assert.deepEqual(
      new Set(commands.map(({ attributes }) => attributes['celery_otel.control.command'])),
      new Set(['ping']),
    );
  });

  test('a worker whose settings JSON cannot encode is asked for all but its pool, which is said', async (t) => {
    const [flavour] = celeryFlavours();
    const { bridge, sink } = await asked(t, {
      ...{ flavour, outcome: 'success' },
      worker: { folder: import.meta.dirname, app: 'shop_with_range', env: { PYTHONPATH: SHOP_FOLDER } },
    });
    assert.match(bridge.log(), /not asked for stats: its setting broker_transport_options.priority_steps/u);
    const metrics = new Set(sink.latest('shop').map(({ metric }) => metric));
    assert.ok(metrics.has('celery.queue.workers'));
    assert.ok(!metrics.has('celery.worker.pool.limit'));
  });

  for (const flavour of celeryFlavours()) {
    test(`a worker of Celery ${flavour.version} is asked with its own separator, and goes on`, async (t) => {
      const { sink } = await asked(t, { flavour, outcome: 'success' });
      await sink.waitFor(
        'shop',
        (points) => points.some(({ metric, value }) => metric === 'celery.worker.pool.limit' && value === 2),
        DEADLINE_MS,
      );
    });

    test(`a worker of Celery ${flavour.version} is not asked with another separator, which is said`, async (t) => {
      const { bridge } = await asked(t, {
        ...{ flavour, outcome: 'failure' },
        options: { CELERY_SEP: '\\x06\\x16' },
      });
      assert.match(bridge.log(), /the workers use the separator \\?":\\?", and sep is .*let sep be auto/u);
      assert.match(bridge.log(), /queues have no lengths, since workers keep priorities with the separator/u);
    });
  }
});
