import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { startWorker } from '../real/celery.ts';
import { startBridge } from './bridge-process.ts';
import { clusterKinds, shopClusters } from './shop-clusters.ts';
import { endsOf, heldBy, sendTasks } from './shop-tasks.ts';

/** Seconds of each; the first lasts until the tasks behind it have been inspected. */
const SLEEPS_S = [10, 1, 1, 1];
/** Due when the worker is free again. */
const REMINDER_COUNTDOWN_S = 17;
const SHORT_COUNTDOWN_S = 2;
/**
 * For the delay without waiting: from the broker to the worker to its process. Far below all waits and countdowns here.
 */
const OVERHEAD_S = 0.5;
type Attributes = Readonly<Record<string, string>>;
const SLEEPER = { 'celery.task.name': 'shop.write_daily_report', 'celery.queue.name': 'reports' };
const REMINDER = { 'celery.task.name': 'shop.send_reminder', 'celery.queue.name': 'emails' };

const clusterOf = shopClusters();
const KINDS = clusterKinds();

function add(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

function find(points: readonly Point[], metric: string, attributes: Attributes) {
  return points.filter(
    (point) =>
      point.metric === metric &&
      Object.entries(attributes).every(([key, value]) => point.attributes[key] === value),
  );
}

/** The sum of a histogram, seconds. */
function secondsOf(points: readonly Point[], metric: string, attributes: Attributes): number {
  return add(find(points, metric, attributes).map((point) => point.sum));
}

/** When the oldest task began to wait or to run, epoch seconds. */
function beginningOf(age: Point | undefined): number {
  return age === undefined ? Number.NaN : age.timeMs / 1000 - age.value;
}

/** @param tasks the number of tasks in both sums */
function assertNear(actual: number, expected: number, what: string, tasks = 1): void {
  assert.ok(Math.abs(actual - expected) <= tasks * OVERHEAD_S, `${what}: ${actual} s, not ${expected} s`);
}

describe('waiting tasks', { concurrency: KINDS.length }, () => {
  for (const { flavour, broker } of KINDS) {
    test(`Celery ${flavour.version} on ${broker}: tasks wait for the one process of a worker and for their ETA, with the right durations`, {
      timeout: 120_000,
    }, async (t) => {
      const cluster = await clusterOf(flavour, broker);
      const sink = await startReceiver();
      t.after(() => sink.stop());
      const bridge = startBridge(t, {
        CELERY_BROKER_URL: cluster.broker,
        OTEL_SERVICE_NAME: 'shop',
        OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
        OTEL_METRIC_EXPORT_INTERVAL: '500',
      });
      await bridge.logged(/connected to/u);
      const worker = await startWorker({ ...cluster, nodename: 'alone', pool: 'prefork', concurrency: 1 });
      t.after(() => worker.kill());
      const until = (condition: (points: readonly Point[]) => boolean, timeoutMs: number) =>
        sink.waitFor('shop', condition, timeoutMs);

      const reminder = { task: 'shop.send_reminder', args: [1] };
      const sent = await sendTasks(cluster, [
        ...SLEEPS_S.map((seconds) => ({ task: 'shop.write_daily_report', args: [seconds] })),
        { ...reminder, countdown: REMINDER_COUNTDOWN_S },
      ]);
      const sleepers = sent.slice(0, SLEEPS_S.length);
      const [running, ...waiting] = sleepers.map(({ id }) => id);
      const busy = await until(
        (points) =>
          total(points, 'celery.worker.tasks.active') === 1 &&
          total(points, 'celery.worker.tasks.prefetched') === waiting.length &&
          total(points, 'celery.worker.tasks.scheduled') === 1,
        20_000,
      );
      const held = await heldBy(cluster, worker.nodename);
      assert.deepEqual(held.active, [running]);
      assert.deepEqual(held.reserved.toSorted(), waiting.toSorted());
      assert.deepEqual(held.scheduled, [sent.at(-1)?.id]);
      const [oldestRunning, oldestWaiting] = ['running', 'waiting'].map((state) => {
        const [age, ...others] = find(busy, 'celery.task.oldest_age', { 'celery.task.state': state }).filter(
          ({ value }) => value > 0,
        );
        assert.equal(age?.attributes['celery.queue.name'], 'reports');
        assert.deepEqual(others, [], `${state} in one queue only`);
        return age;
      });
      const [info] = find(busy, 'celery.worker.info', { 'celery.worker.name': worker.nodename });
      assert.equal(info?.attributes['celery.version'], flavour.version);

      // A task’s result has its end, from which its start and its wait follow.
      const ends = await endsOf(cluster, sleepers);
      const starts = ends.map((endS, index) => endS - (SLEEPS_S[index] ?? 0));
      const waitsS = add(starts) - add(sleepers.map(({ dueS }) => dueS));
      assert.ok(waitsS > 10 + 11 + 12 - OVERHEAD_S, `each waits for all before it: ${waitsS} s`);
      assertNear(beginningOf(oldestRunning), starts[0] ?? 0, 'the oldest that runs');
      assertNear(beginningOf(oldestWaiting), sleepers[1]?.dueS ?? 0, 'the oldest that waits');
      const [last] = await sendTasks(cluster, [{ ...reminder, countdown: SHORT_COUNTDOWN_S }]);
      const reminders = [sent.at(-1), last].filter((task) => task !== undefined);
      // Celery's timer may be a second late, so the real time is read.
      const latenessS = add(await endsOf(cluster, reminders)) - add(reminders.map(({ dueS }) => dueS));
      t.diagnostic(`Celery began tasks with an ETA ${latenessS.toFixed(3)} s late, all together`);
      const done = await until(
        (points) =>
          total(points, 'celery.task.succeeded', SLEEPER) === SLEEPS_S.length &&
          total(points, 'celery.task.succeeded', REMINDER) === 2 &&
          total(points, 'celery.worker.tasks.active') === 0,
        20_000,
      );

      for (const [of, count] of [
        [SLEEPER, SLEEPS_S.length],
        [REMINDER, 2],
      ] as const) {
        for (const metric of ['wait_time', 'queue_time', 'prefetch_time'])
          assert.equal(total(done, `celery.task.${metric}`, of), count, `${count} times ${metric}`);
      }
      const measured = (metric: string, of: Attributes): number =>
        secondsOf(done, `celery.task.${metric}`, of);
      // All are in the worker at once, so they wait there.
      assertNear(measured('wait_time', SLEEPER), waitsS, 'wait_time', SLEEPS_S.length);
      assertNear(measured('prefetch_time', SLEEPER), waitsS, 'prefetch_time', SLEEPS_S.length);
      assertNear(measured('queue_time', SLEEPER), 0, 'queue_time', SLEEPS_S.length);
      assertNear(measured('wait_time', REMINDER), latenessS, 'wait_time after an ETA', 2);
      assertNear(measured('prefetch_time', REMINDER), latenessS, 'prefetch_time after an ETA', 2);
      assertNear(measured('queue_time', REMINDER), 0, 'queue_time before an ETA', 2);

      assert.equal(total(done, 'celery.task.oldest_age'), 0, 'nothing waits or runs');
      for (const gauge of ['active', 'prefetched', 'scheduled'])
        assert.equal(total(done, `celery.worker.tasks.${gauge}`), 0, gauge);
      assert.deepEqual(await heldBy(cluster, worker.nodename), { active: [], reserved: [], scheduled: [] });
    });
  }
});
