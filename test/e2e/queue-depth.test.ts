/** The lengths of queues and the messages that workers hold, from real Celery on both brokers, at the time of their poll. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis as Client } from 'ioredis';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { BROKER_NAMES } from '../real/brokers.ts';
import { celeryFlavours, runPython } from '../real/celery.ts';
import { startRedis } from '../real/redis.ts';
import { until } from '../until.ts';
import { ownMetric } from './own-metrics.ts';
import { gauge, POLL_S, pollsIn, startBrokerPolls } from './queue-polls.ts';
import { clusterKinds, employ, shopClusters } from './shop.ts';
import { sendTasks } from './shop-tasks.ts';

/** Longer than the test. */
const SLEEP_S = 300;
const PRIORITIES = [0, 3, 6, 9].flatMap((priority) => Array<number>(5).fill(priority));
const SCRIPTS = resolve(import.meta.dirname, '../broker/redis');
const PURGE = `
import json, subprocess, sys
command = [sys.executable, "-m", "celery", "--app", "shop", "purge", "-f", "-Q", "emails"]
print(json.dumps(subprocess.run(command, capture_output=True, text=True).stdout))`;

const newest = celeryFlavours().reduce((_, last) => last);

const clusterOf = shopClusters();

describe('queues', { concurrency: 5 }, () => {
  for (const { flavour, broker } of clusterKinds()) {
    test(`twenty waiting tasks of Celery ${flavour.version} on ${broker} are twenty, until workers have taken them`, async (t) => {
      const cluster = await clusterOf(flavour, broker);
      const { until: exported } = await startBrokerPolls(t, cluster.broker);
      const rows = JSON.stringify([[cluster.broker, {}, PRIORITIES]]);
      await runPython(flavour, 'send_messages.py', [rows], cluster, { folder: SCRIPTS });
      const untilQueued = (length: number, consumers: number) =>
        exported(
          (points) =>
            gauge(points, 'celery.queue.length', 'orders') === length &&
            gauge(points, 'celery.queue.consumers', 'orders') ===
              (broker === 'Redis' ? undefined : consumers),
        );
      const waiting = await untilQueued(20, 0);
      assert.equal(gauge(waiting, 'celery.broker.unacked'), broker === 'Redis' ? 0 : undefined);
      // These were sent to a task that no worker has, so each is rejected at once.
      await employ(t, { ...cluster, nodename: 'taker', pool: 'solo' });
      await untilQueued(0, 1);
    });
  }

  for (const broker of BROKER_NAMES) {
    test(`tasks that \`celery purge\` removes from a queue of ${broker} wait no more, once it is found empty`, async (t) => {
      const cluster = await clusterOf(newest, broker);
      const { sink, until: exported } = await startBrokerPolls(t, cluster.broker);
      await sendTasks(cluster, Array(3).fill({ task: 'shop.send_receipt', args: [1] }));
      const waited = (points: readonly Point[]): number | undefined =>
        points.find(
          ({ metric, attributes }) =>
            metric === 'celery.task.oldest_age' &&
            attributes['celery.queue.name'] === 'emails' &&
            attributes['celery.task.state'] === 'waiting',
        )?.value;
      await exported(
        (points) => (waited(points) ?? 0) > 0 && gauge(points, 'celery.queue.length', 'emails') === 3,
      );
      const removed = await runPython(newest, '-c', [PURGE], cluster);
      assert.match(String(removed), /Purged 3 messages/u);
      await exported((points) => waited(points) === 0);
      assert.equal(total(sink.latest('shop'), 'celery.task.lost'), 0);
    });
  }

  test('two tasks with an ETA and three prefetched ones are five unacknowledged messages', async (t) => {
    const cluster = await clusterOf(newest, 'Redis');
    const { until: exported } = await startBrokerPolls(t, cluster.broker, {
      CELERY_VISIBILITY_TIMEOUT: '10',
    });
    await employ(t, { ...cluster, nodename: 'holder', pool: 'prefork', concurrency: 1 });
    const sleeper = { task: 'shop.write_daily_report', args: [SLEEP_S] };
    await sendTasks(cluster, [sleeper]);
    await exported((points) => gauge(points, 'celery.worker.tasks.active') === 1);
    const reminder = { task: 'shop.send_reminder', args: [1], countdown: 600 };
    await sendTasks(cluster, [reminder, reminder, sleeper, sleeper, sleeper]);
    const ages: number[] = [];
    for (let reading = 0; reading < 2; reading += 1) {
      const held = await exported(
        (points) =>
          gauge(points, 'celery.broker.unacked') === 5 &&
          (gauge(points, 'celery.broker.unacked.oldest_age') ?? 0) > (ages.at(-1) ?? 0) + 1,
      );
      ages.push(gauge(held, 'celery.broker.unacked.oldest_age') ?? Number.NaN);
      assert.equal(gauge(held, 'celery.broker.unacked.visibility_timeout'), 10);
      assert.equal(gauge(held, 'celery.queue.length', 'reports'), 0);
    }
    // From four fifths of the visibility timeout on.
    const late = await exported((points) => gauge(points, 'celery.broker.unacked.expiring') === 5);
    assert.ok((gauge(late, 'celery.broker.unacked.oldest_age') ?? 0) >= 8);
  });

  test('without a metric that needs it, the broker is not polled, and no worker is asked', async (t) => {
    const redis = await startRedis();
    t.after(() => redis.stop());
    const admin = new Client(redis.url, { protocol: 2 });
    t.after(() => admin.disconnect());
    const assertConnections = async (
      expected: number,
      more: Readonly<Record<string, string>>,
    ): Promise<void> => {
      const { bridge } = await startBrokerPolls(t, redis.url, more);
      const count = async () =>
        String(await admin.call('CLIENT', 'LIST')).split(/ name=celery-otel[ -]/u).length - 1;
      await until(
        `${expected} connections`,
        async () => (await count()) >= expected,
        () => bridge.log(),
      );
      // One more would be there by then.
      await delay(3 * POLL_S * 1000);
      // Now and then one looks for other instances, for a moment.
      await until(
        `${expected} connections and no more`,
        async () => (await count()) === expected,
        () => bridge.log(),
      );
      bridge.signal('SIGTERM');
      await bridge.ended();
    };
    const withoutPolls = { CELERY_OTEL_METRICS_DISABLED: 'celery.queue.*,celery.broker.*' };
    await assertConnections(3, { CELERY_OTEL_INITIAL_DELAY: '0.01' });
    await assertConnections(2, { CELERY_OTEL_INITIAL_DELAY: '0.01', ...withoutPolls });
    await assertConnections(1, {
      ...{ CELERY_OTEL_INITIAL_DELAY: '0.01', CELERY_OTEL_CONTROL_COMMANDS: 'none' },
      CELERY_OTEL_METRICS_DISABLED: `${withoutPolls.CELERY_OTEL_METRICS_DISABLED},celery.worker.*`,
    });
  });

  test('a length has the time of its poll; what is refused leaves a gap, a count and a line', async (t) => {
    const redis = await startRedis();
    t.after(() => redis.stop());
    const {
      bridge,
      exports,
      until: exported,
    } = await startBrokerPolls(t, redis.url, {
      CELERY_OTEL_COLLECTION_INTERVAL: '2',
    });
    const { polls } = await until('three polls, each in several exports', () => {
      const seen = pollsIn(exports);
      return seen.polls.length >= 3 && seen.points > 2 * seen.polls.length && seen;
    });
    for (const [index, timeMs] of polls.slice(1).entries()) {
      const apartMs = timeMs - (polls[index] ?? 0);
      assert.ok(apartMs > 1500, `${apartMs} ms between two polls`);
    }

    const admin = new Client(redis.url, { protocol: 2 });
    t.after(() => admin.disconnect());
    await admin.call('ACL', 'SETUSER', 'default', '-llen');
    await bridge.logged(
      /did not report everything about the queues of shop: NOPERM .*llen.*docs\/brokers\.md/u,
    );
    await exported(
      (own) => ownMetric(own, 'shop', 'broker.polls', { 'celery_otel.poll.outcome': 'partial' }) >= 1,
      'celery-otel',
    );
    const without = (of: readonly Point[]) =>
      gauge(of, 'celery.queue.length') === undefined && gauge(of, 'celery.broker.unacked') === 0;
    await exported(without);
    await admin.call('ACL', 'SETUSER', 'default', '+llen');
    await exported((of) => gauge(of, 'celery.queue.length') === 0);

    // What the end cuts off has not failed.
    redis.pause();
    await delay(2500);
    bridge.signal('SIGTERM');
    assert.equal((await bridge.ended()).code, 0);
    assert.doesNotMatch(bridge.log(), /the broker reported nothing about the queues/u);
  });
});
