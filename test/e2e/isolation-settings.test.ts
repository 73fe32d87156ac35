/** Two services that receive the same events: they differ only in their settings in the file. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { BROKER_NAMES, borrowBroker } from '../real/brokers.ts';
import { startBridge } from './bridge-process.ts';
import { countedTasks } from './counted.ts';
import { ownMetric } from './own-metrics.ts';
import { event, publish } from './publish.ts';
import { serviceFile } from './service-file.ts';
import { countsOf, lives, WORKER } from './task-lives.ts';

const INTERVAL_MS = 300;
const SHORT_TIMEOUT_S = 3;
const BEAT_MS = 500;
const LIVES = 25;

const SERVICES = {
  shop: {
    worker_timeout: SHORT_TIMEOUT_S,
    resource: { 'team.name': 'storefront' },
    metrics: { 'celery.task.prefetch_time': { attributes: ['celery.worker.name'] } },
  },
  audit: {
    tasks_max: 7,
    resource: { 'team.name': 'audit', 'service.namespace': 'money' },
    metrics: { 'celery.task.sent': { enabled: false } },
  },
};

describe('settings in a file', { concurrency: BROKER_NAMES.length }, () => {
  for (const name of BROKER_NAMES) {
    test(`those of one service on ${name} apply to it, and those for all to the others`, async (t) => {
      const broker = await borrowBroker(name);
      t.after(() => broker.remove());
      const sink = await startReceiver();
      t.after(() => sink.stop());
      const services = Object.entries(SERVICES).map(([service, settings]) => [
        service,
        { broker_url: broker.url, ...settings },
      ]);
      const file = serviceFile(t, {
        services: Object.fromEntries(services),
        common: { worker_timeout: 120, tasks_max: 1000, reordering_window: 0.2 },
        endpoint: sink.url,
        intervalMs: INTERVAL_MS,
      });
      const bridge = startBridge(t, {}, ['run', '--config', file]);
      await bridge.logged(/(?:connected to[\s\S]*){2}/u);

      await publish(broker.url, [
        event('worker-online', { hostname: WORKER }),
        ...lives('shop.pay', 0, LIVES),
      ]);
      // On a busy machine, too, the worker is up when all is counted.
      let isSeen = false;
      const beating = (async () => {
        for (; !isSeen; await delay(BEAT_MS))
          await publish(broker.url, [event('worker-heartbeat', { hostname: WORKER })]);
      })();
      const isUp = (up: 0 | 1) => (points: readonly Point[]) =>
        points.some(({ metric, value }) => metric === 'celery.worker.up' && value === up);
      const hasLived = (points: readonly Point[]) => total(points, 'celery.task.succeeded') === LIVES;
      const [shop, audit] = await Promise.all([
        sink.waitFor('shop', (points) => isUp(1)(points) && hasLived(points), DEADLINE_MS),
        sink.waitFor('audit', (points) => isUp(1)(points) && hasLived(points), DEADLINE_MS),
      ]);
      isSeen = true;
      await beating;
      assert.deepEqual(countedTasks(shop), { 'shop.pay': countsOf(LIVES) });
      assert.deepEqual(countedTasks(audit), { 'shop.pay': { ...countsOf(LIVES), sent: 0 } });
      // The broker is asked at a different time for each service.
      const metrics = (points: readonly Point[]) =>
        [...new Set(points.map(({ metric }) => metric))]
          .filter((metric) => !/^celery\.(?:queue|broker)\./u.test(metric))
          .sort();
      assert.deepEqual(
        metrics(audit),
        metrics(shop).filter((metric) => metric !== 'celery.task.sent'),
      );
      const prefetchers = (points: readonly Point[]) =>
        points
          .filter(({ metric }) => metric === 'celery.task.prefetch_time')
          .map(({ attributes }) => attributes['celery.worker.name']);
      assert.deepEqual(prefetchers(shop), [WORKER]);
      assert.deepEqual(prefetchers(audit), [undefined]);
      for (const { resource } of shop) {
        assert.equal(resource['team.name'], 'storefront');
        assert.equal(resource['service.namespace'], undefined);
      }
      for (const { resource } of audit) {
        assert.equal(resource['team.name'], 'audit');
        assert.equal(resource['service.namespace'], 'money');
      }

      // The worker is silent from now on.
      await sink.waitFor('shop', isUp(0), DEADLINE_MS);
      const exported = sink.exports();
      await sink.waitFor('shop', () => sink.exports() > exported + 6, DEADLINE_MS);
      assert.ok(isUp(0)(sink.latest('shop')), 'it stays away');
      assert.ok(isUp(1)(sink.latest('audit')), 'where a worker may be silent for longer it is up');
      const limit = (service: string) =>
        ownMetric(sink.latest('celery-otel'), service, 'table.limit', { 'celery_otel.table': 'tasks' });
      assert.deepEqual({ shop: limit('shop'), audit: limit('audit') }, { shop: 1000, audit: 7 });
      bridge.signal('SIGTERM');
      assert.equal((await bridge.ended()).code, 0);
    });
  }
});
