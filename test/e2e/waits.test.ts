/** Tasks that wait for a process, or for their ETA: how long, as their events tell it, and what is told meanwhile. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { recordEvents } from './recorded-events.ts';
import { clusterKinds, employ, shopClusters, watch } from './shop.ts';
import { endsOf, heldBy, sendTasks } from './shop-tasks.ts';

/** Seconds of each; the first lasts until the tasks behind it have been inspected. */
const SLEEPS_S = [15, 1, 1, 1];
/** Due when the worker is free again. */
const REMINDER_COUNTDOWN_S = 22;
const SHORT_COUNTDOWN_S = 2;
/** Of times that are added up. */
const ROUNDING_S = 0.01;
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

function assertNear(actual: number, expected: number, what: string): void {
  assert.ok(Math.abs(actual - expected) <= ROUNDING_S, `${what}: ${actual} s, not ${expected} s`);
}

/** When what happened to a task, by its events; epoch seconds. */
function timesOf(events: readonly Readonly<Record<string, unknown>>[], id: string | undefined) {
  const of = (type: string) => {
    const event = events.find((each) => each['type'] === type && each['uuid'] === id);
    assert.ok(event !== undefined, `${type} of ${id}`);
    return event;
  };
  const [sentS = 0, receivedS = 0, startedS = 0] = ['task-sent', 'task-received', 'task-started'].map(
    (type) => Number(of(type)['timestamp']),
  );
  const { eta } = of('task-received');
  const etaS = typeof eta === 'string' ? Date.parse(eta) / 1000 : 0;
  return { sentS, receivedS, startedS, etaS };
}

describe('waiting tasks', { concurrency: KINDS.length }, () => {
  for (const { flavour, broker } of KINDS) {
    test(`Celery ${flavour.version} on ${broker}: tasks wait for the one process of a worker and for their ETA, with the right durations`, async (t) => {
      const cluster = await clusterOf(flavour, broker);
      const { until } = await watch(t, cluster.broker);
      const recorder = await recordEvents(t, cluster.broker);
      const worker = await employ(t, { ...cluster, nodename: 'alone', pool: 'prefork', concurrency: 1 });

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

      await endsOf(cluster, sleepers);
      const [last] = await sendTasks(cluster, [{ ...reminder, countdown: SHORT_COUNTDOWN_S }]);
      const reminders = [sent.at(-1), last].filter((task) => task !== undefined);
      await endsOf(cluster, reminders);
      const done = await until(
        (points) =>
          total(points, 'celery.task.succeeded', SLEEPER) === SLEEPS_S.length &&
          total(points, 'celery.task.succeeded', REMINDER) === 2 &&
          total(points, 'celery.worker.tasks.active') === 0,
      );

      for (const [of, count] of [
        [SLEEPER, SLEEPS_S.length],
        [REMINDER, 2],
      ] as const) {
        for (const metric of ['wait_time', 'queue_time', 'prefetch_time'])
          assert.equal(total(done, `celery.task.${metric}`, of), count, `${count} times ${metric}`);
      }
      const events = await recorder.stop();
      const [slept = [], reminded = []] = [sleepers, reminders].map((tasks) =>
        tasks.map(({ id }) => timesOf(events, id)),
      );
      // An age begins when the event has arrived, which takes a moment on a busy machine; the first task still ran.
      for (const [age, beganS = Number.NaN] of [
        [oldestRunning, slept[0]?.startedS],
        [oldestWaiting, slept[1]?.sentS],
      ] as const) {
        const lateS = beginningOf(age) - beganS;
        assert.ok(
          lateS > -ROUNDING_S && lateS < (SLEEPS_S[0] ?? 0),
          `the oldest began ${lateS} s later than it did`,
        );
      }
      const waitsS = add(slept.map(({ sentS, startedS }) => startedS - sentS));
      // They are sent in quick succession, but on a busy machine not at once.
      const sendingS = (slept.at(-1)?.sentS ?? 0) - (slept[0]?.sentS ?? 0);
      const sleepsS = add(
        SLEEPS_S.slice(0, -1).map((sleepS, index) => (SLEEPS_S.length - 1 - index) * sleepS),
      );
      assert.ok(waitsS > sleepsS - SLEEPS_S.length * sendingS, `each waits for all before it: ${waitsS} s`);
      for (const { etaS, startedS } of reminded)
        assert.ok(etaS > 0 && startedS > etaS - ROUNDING_S, `it began ${etaS - startedS} s before its ETA`);
      for (const [of, times] of [
        [SLEEPER, slept],
        [REMINDER, reminded],
      ] as const) {
        const measured = (metric: string): number => secondsOf(done, `celery.task.${metric}`, of);
        const since = (from: (task: (typeof times)[number]) => number) =>
          add(times.map((task) => Math.max(0, task.startedS - Math.max(from(task), task.etaS))));
        assertNear(
          measured('wait_time'),
          since(({ sentS }) => sentS),
          'wait_time',
        );
        // All are in the worker at once, so they wait there.
        assertNear(
          measured('prefetch_time'),
          since(({ receivedS }) => receivedS),
          'prefetch_time',
        );
        assertNear(
          measured('queue_time'),
          // A task may be received before its client has said that it was sent.
          add(times.map(({ sentS, receivedS }) => Math.max(0, receivedS - sentS))),
          'queue_time',
        );
      }

      assert.equal(total(done, 'celery.task.oldest_age'), 0, 'nothing waits or runs');
      for (const gauge of ['active', 'prefetched', 'scheduled'])
        assert.equal(total(done, `celery.worker.tasks.${gauge}`), 0, gauge);
      assert.deepEqual(await heldBy(cluster, worker.nodename), { active: [], reserved: [], scheduled: [] });
    });
  }
});
