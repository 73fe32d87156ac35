/** The example application that has its own OpenTelemetry, on real brokers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { BROKER_NAMES, startBroker } from '../real/brokers.ts';
import { startBridge } from './bridge-process.ts';
import { countedTasks } from './counted.ts';
import { ownMetric } from './own-metrics.ts';
import { event, publish } from './publish.ts';
import { countsOf, lives, WORKER } from './task-lives.ts';

const MAIN = fileURLToPath(new URL('../../examples/attach/attach.ts', import.meta.url));
const APPLICATION = 'back-office';
const LIVES = 20;
const SOON_MS = 15_000;

describe('the example with its own SDK', { concurrency: BROKER_NAMES.length }, () => {
  for (const name of BROKER_NAMES) {
    test(`attached to ${name}, it exports what Celery did beside its own metric, until it is stopped`, {
      timeout: 60_000,
    }, async (t) => {
      const broker = await startBroker(name);
      t.after(() => broker.remove());
      const sink = await startReceiver();
      t.after(() => sink.stop());
      const env = {
        CELERY_BROKER_URL: broker.url,
        OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
        OTEL_METRIC_EXPORT_INTERVAL: '200',
      };
      const application = startBridge(t, env, [], [], MAIN);
      await sink.waitFor(
        APPLICATION,
        (points) => ownMetric(points, 'shop', 'broker.connected') === 1,
        SOON_MS,
      );
      await publish(broker.url, [
        event('worker-online', { hostname: WORKER }),
        ...lives('shop.pay', 0, LIVES),
      ]);
      const points = await sink.waitFor(
        APPLICATION,
        (latest) => total(latest, 'celery.task.succeeded') >= LIVES && total(latest, 'back_office.looks') > 0,
        SOON_MS,
      );
      assert.deepEqual(countedTasks(points), { 'shop.pay': countsOf(LIVES) });
      assert.equal(total(points, 'celery.worker.up'), 1);
      application.signal('SIGTERM');
      const { code, stdout } = await application.ended(SOON_MS);
      assert.equal(code, 0, application.log());
      assert.match(stdout, /^shop: handed-over\nStopped\.\n$/mu);
    });
  }
});
