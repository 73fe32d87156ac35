/** The example application that has its own OpenTelemetry, on real brokers: all three signals, and its own span above its task. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connect } from 'amqplib';
import { Redis } from 'ioredis';
import { total } from '../../examples/demo/otlp-points.ts';
import { BROKER_NAMES, borrowBroker } from '../real/brokers.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { countedTasks } from './counted.ts';
import { ownMetric } from './own-metrics.ts';
import { event, publish } from './publish.ts';
import { startBackend } from './received-items.ts';
import { countsOf, lives, WORKER } from './task-lives.ts';

const MAIN = fileURLToPath(new URL('../../examples/attach/attach.ts', import.meta.url));
const APPLICATION = 'back-office';
const LIVES = 20;
const TASK = { uuid: '6d5f2a3e-6a0e-4d8e-8b8c-3f1f0c3a9d11', name: 'shop.check_stock', hostname: WORKER };

/** The headers of a task that waits in the queue of the shop, which is taken out as by a worker. */
async function takeTask(url: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (url.startsWith('redis')) {
    const redis = new Redis(url);
    try {
      const envelope = await redis.rpop('orders');
      return envelope === null ? undefined : JSON.parse(envelope).headers;
    } finally {
      redis.disconnect();
    }
  }
  const connection = await connect(url);
  try {
    const channel = await connection.createChannel();
    await channel.assertQueue('orders', { durable: true });
    const message = await channel.get('orders', { noAck: true });
    return message === false ? undefined : message.properties.headers;
  } finally {
    await connection.close();
  }
}

describe('the example with its own SDK', { concurrency: BROKER_NAMES.length }, () => {
  for (const name of BROKER_NAMES) {
    test(`attached to ${name}, it exports what Celery did beside what it does itself, until it is stopped`, async (t) => {
      const broker = await borrowBroker(name);
      t.after(() => broker.remove());
      const sink = await startBackend();
      t.after(() => sink.stop());
      const env = {
        CELERY_BROKER_URL: broker.url,
        OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
        OTEL_METRIC_EXPORT_INTERVAL: '200',
      };
      const application = startBridge(t, env, [], [], MAIN);
      await until(
        'connected',
        () => ownMetric(sink.points(APPLICATION), 'shop', 'broker.connected') === 1 || undefined,
      );
      // As a worker would run the task of the application, but that it fails.
      const headers = await until('a task in the queue', () => takeTask(broker.url));
      const run = { ...TASK, root_id: headers['root_id'] };
      await publish(broker.url, [
        event('worker-online', { hostname: WORKER }),
        ...lives('shop.pay', 0, LIVES),
        event('task-received', run),
        event('task-started', run),
        event('task-failed', { ...run, exception: "KeyError('teapot')" }),
      ]);
      const points = await until('all counts', () => {
        const latest = sink.points(APPLICATION);
        const isThere = total(latest, 'celery.task.failed') > 0 && total(latest, 'back_office.looks') > 0;
        return isThere && total(latest, 'celery.task.succeeded') >= LIVES ? latest : undefined;
      });
      const { 'shop.pay': paid } = countedTasks(points);
      assert.deepEqual(paid, countsOf(LIVES));
      assert.equal(total(points, 'celery.worker.up'), 1);
      application.signal('SIGTERM');
      const { code, stdout } = await application.ended();
      assert.equal(code, 0, application.log());
      assert.match(stdout, /^shop: handed-over\nStopped\.\n$/mu);

      const spans = sink.spans();
      const own = spans.find((span) => span.name === 'count teapots');
      const failed = spans.find((span) => span.name === 'process shop.check_stock');
      assert.ok(own !== undefined && failed !== undefined);
      assert.deepEqual([failed.traceId, failed.parentSpanId], [own.traceId, own.spanId]);
      assert.deepEqual([own.service, failed.service], [APPLICATION, 'shop']);
      assert.equal(spans.filter((span) => span.name === 'process shop.pay').length, LIVES);
      const record = sink.records().find(({ eventName }) => eventName === 'messaging.process.exception');
      assert.deepEqual([record?.traceId, record?.spanId], [failed.traceId, failed.spanId]);
      assert.equal(record?.service, APPLICATION);
    });
  }
});
