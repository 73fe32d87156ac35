/**
 * Silence without a death, with real workers: the bridge was disconnected or suspended; a worker shut down warmly, or
 * was busy with one task. All time-outs are shorter than each silence.
 */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startRelay } from '../broker/relay.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { BROKER_NAMES, type BrokerName } from '../real/brokers.ts';
import { type CeleryWorker, celeryFlavours, type WorkerOptions } from '../real/celery.ts';
import { HELD_SHOP, holdTasks } from './held-tasks.ts';
import { ownMetric } from './own-metrics.ts';
import { clusterKinds, employ, type ShopCluster, shopClusters, type Watch, watch } from './shop.ts';
import { sendTasks } from './shop-tasks.ts';

const WORKER_TIMEOUT_S = 6;
const LOST_TIMEOUT_S = 7;
const SILENCE_MS = 10_000;
/** Of Celery’s workers. */
const BEAT_MS = 2_000;
/** Longer than the test. */
const LONG_TASK_S = 300;
const LONG = 'shop.write_daily_report';

/** Longer than the silence, so that a connection without news seems to be there all the time. */
const SILENCE_ALLOWED: Readonly<Record<BrokerName, Readonly<Record<string, string>>>> = {
  RabbitMQ: { CELERY_BROKER_HEARTBEAT: '30' },
  Redis: { CELERY_HEALTH_CHECK_INTERVAL: '30' },
};

const clusterOf = shopClusters();
const [debian] = celeryFlavours();

interface Observer extends Watch {
  /** Each value that was exported of `celery.worker.up` since the first worker was up, once. */
  readonly ups: Set<number>;
}

async function observe(
  t: TestContext,
  broker: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Observer> {
  const ups = new Set<number>();
  const timeouts = {
    CELERY_OTEL_WORKER_TIMEOUT: String(WORKER_TIMEOUT_S),
    CELERY_OTEL_LOST_TIMEOUT: String(LOST_TIMEOUT_S),
  };
  const watching = await watch(
    t,
    broker,
    { ...timeouts, ...env },
    {
      onExport({ points }) {
        for (const { metric, value } of points) if (metric === 'celery.worker.up') ups.add(value);
      },
    },
  );
  return { ...watching, ups };
}

const heartbeats = (own: readonly Point[]): number =>
  ownMetric(own, 'shop', 'events', { 'celery_otel.event.type': 'worker-heartbeat' });

/** Resolves once so many heartbeats more have been received. */
async function beats({ sink }: Observer, more: number): Promise<void> {
  const before = heartbeats(sink.latest('celery-otel'));
  await sink.waitFor('celery-otel', (own) => heartbeats(own) >= before + more, DEADLINE_MS);
}

function employHeld(
  t: TestContext,
  cluster: ShopCluster,
  nodename: string,
  more: Partial<WorkerOptions> = {},
): Promise<CeleryWorker> {
  return employ(t, { ...cluster, ...HELD_SHOP, nodename, concurrency: 3, queues: ['reports'], ...more });
}

const of = (points: readonly Point[], metric: string, worker: string, more = {}): number =>
  total(points, `celery.${metric}`, { 'celery.worker.name': worker, ...more });

describe('silence without a death', { concurrency: 5 }, () => {
  for (const broker of BROKER_NAMES) {
    test(`${broker}: a bridge that is disconnected, receives nothing, or is suspended beyond all time-outs reports no worker as dead`, async (t) => {
      const cluster = await clusterOf(debian, broker);
      const port = Number(new URL(cluster.broker).port);
      const [cutOff, deaf] = [await startRelay(t, port), await startRelay(t, port)];
      const through = (relay: { readonly port: number }) =>
        cluster.broker.replace(`:${port}/`, `:${relay.port}/`);
      const [behindCutOff, behindDeaf, stopped] = await Promise.all([
        observe(t, through(cutOff)),
        observe(t, through(deaf), SILENCE_ALLOWED[broker]),
        observe(t, cluster.broker),
      ]);
      const observers = { cutOff: behindCutOff, deaf: behindDeaf, stopped };
      const all = Object.values(observers);
      const { nodename } = await employHeld(t, cluster, 'steady');
      const { order, release } = holdTasks(t);
      await sendTasks(cluster, Array(3).fill({ ...order, queue: 'reports' }));
      const isBusy = (points: readonly Point[]) =>
        of(points, 'worker.tasks.active', nodename) === 3 && of(points, 'task.started', nodename) === 3;
      await Promise.all(all.map(({ sink }) => sink.waitFor('shop', isBusy, DEADLINE_MS)));
      for (const { ups } of all) ups.clear();

      cutOff.cut();
      deaf.silence();
      observers.stopped.bridge.signal('SIGSTOP');
      const reported = await observers.cutOff.sink.waitFor(
        'celery-otel',
        (points) => ownMetric(points, 'shop', 'broker.connected') === 0,
        DEADLINE_MS,
      );
      const sinceMs = Math.max(...reported.map(({ timeMs }) => timeMs));
      const ages: number[] = [];
      for (const endMs = performance.now() + SILENCE_MS; performance.now() < endMs; await delay(1_000)) {
        const points = observers.cutOff.sink.latest('shop');
        assert.equal(of(points, 'worker.tasks.active', nodename), 3, 'what was known stays as it was');
        // Exported after it was told to be disconnected.
        if (points.every(({ timeMs }) => timeMs > sinceMs))
          ages.push(total(points, 'celery.task.oldest_age', { 'celery.task.state': 'running' }));
      }
      assert.ok(ages.length > 1);
      assert.equal(new Set(ages).size, 1, `ages do not grow: ${ages.join(' ')}`);
      cutOff.restore();
      deaf.restore();
      observers.stopped.bridge.signal('SIGCONT');
      // One that was suspended receives first what was sent meanwhile.
      await Promise.all([
        beats(observers.cutOff, 1),
        beats(observers.deaf, 1),
        beats(observers.stopped, SILENCE_MS / BEAT_MS + 1),
      ]);
      release();

      const isOver = (points: readonly Point[]) => of(points, 'task.succeeded', nodename) === 3;
      for (const [how, { sink, ups }] of Object.entries(observers)) {
        const points = await sink.waitFor('shop', isOver, DEADLINE_MS);
        assert.equal(total(points, 'celery.task.lost'), 0, how);
        assert.deepEqual([...ups], [1], `${how}: it was up all the time`);
        assert.equal(of(points, 'worker.exits', nodename), 0, how);
        assert.equal(ownMetric(sink.latest('celery-otel'), 'shop', 'lost.refuted'), 0, how);
      }
    });
  }

  for (const { flavour, broker } of clusterKinds()) {
    test(`Celery ${flavour.version} on ${broker}: a warm shutdown and pool solo lose nothing, a restarted container does`, async (t) => {
      const cluster = await clusterOf(flavour, broker);
      const { sink } = await observe(t, cluster.broker);
      // A worker takes some seconds to start again.
      const patient = await observe(t, cluster.broker, { CELERY_OTEL_LOST_TIMEOUT: '60' });
      const [warm, solo, first] = await Promise.all([
        employHeld(t, cluster, 'warm', { queues: ['orders'] }),
        employHeld(t, cluster, 'solo', { queues: ['emails'], pool: 'solo' }),
        employHeld(t, cluster, 'container', { inContainer: true }),
      ]);
      const { order, release } = holdTasks(t);
      await sendTasks(cluster, [
        { ...order, queue: 'orders' },
        { ...order, queue: 'emails' },
        { task: LONG, args: [0.1] },
        { task: LONG, args: [LONG_TASK_S] },
        { task: LONG, args: [LONG_TASK_S] },
      ]);
      const { nodename } = first;
      await sink.waitFor(
        'shop',
        (points) =>
          of(points, 'worker.tasks.active', warm.nodename) === 1 &&
          of(points, 'worker.tasks.active', nodename) === 2 &&
          of(points, 'worker.tasks.processed', nodename) === 3,
        DEADLINE_MS,
      );
      const leaving = warm.stop();
      const silence = delay(SILENCE_MS);
      await first.kill();
      const second = await employHeld(t, cluster, 'container', { inContainer: true });
      assert.equal(second.nodename, nodename);
      await sendTasks(cluster, [{ task: LONG, args: [0.1] }]);
      await silence;
      release();
      await leaving;

      const points = await sink.waitFor(
        'shop',
        (points) =>
          of(points, 'task.succeeded', warm.nodename) === 1 &&
          of(points, 'task.succeeded', solo.nodename) === 1,
        DEADLINE_MS,
      );
      const restarted = await patient.sink.waitFor(
        'shop',
        (points) =>
          of(points, 'task.succeeded', nodename) === 2 &&
          of(points, 'task.lost', nodename) === 2 &&
          of(points, 'worker.tasks.processed', nodename) >= 4,
        DEADLINE_MS,
      );
      const exits = (points: readonly Point[], worker: string) =>
        Object.fromEntries(
          ['goodbye', 'silence', 'replaced', 'restarted'].map((reason) => [
            reason,
            of(points, 'worker.exits', worker, { 'celery.worker.exit.reason': reason }),
          ]),
        );
      const none = { goodbye: 0, silence: 0, replaced: 0, restarted: 0 };
      for (const each of [points, restarted]) {
        assert.deepEqual(exits(each, warm.nodename), { ...none, goodbye: 1 });
        assert.deepEqual(exits(each, solo.nodename), none);
        assert.equal(of(each, 'worker.up', warm.nodename), 0);
        assert.equal(of(each, 'task.lost', warm.nodename) + of(each, 'task.lost', solo.nodename), 0);
      }
      assert.equal(of(restarted, 'task.lost', nodename), 2, 'they ran in the process that was killed');
      assert.deepEqual(exits(restarted, nodename), { ...none, restarted: 1 });
      assert.equal(of(restarted, 'worker.up', nodename), 1);
      assert.equal(of(restarted, 'worker.tasks.processed', nodename), 4, 'of both processes');
    });
  }
});
