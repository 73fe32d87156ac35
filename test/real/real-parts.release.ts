import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { connect } from 'amqplib';
import { DEADLINE_MS } from '../deadline.ts';
import { celeryFlavours, startWorker } from './celery.ts';
import { freePort, isPortOpen } from './free-port.ts';
import { newestCelery, partVersions } from './install.ts';
import { startPrometheus } from './prometheus.ts';
import { type RabbitMq, startRabbitmq } from './rabbitmq.ts';
import { type Redis, startRedis } from './redis.ts';
import { isGroupAlive } from './server-process.ts';
import { eventCounts, placeOrders } from './shop-report.ts';

const QUEUE = 'kept';

let broker: RabbitMq;
let redis: Redis;

before(async () => {
  broker = await startRabbitmq({ tls: true });
  redis = await startRedis();
});
after(async () => {
  await redis.stop();
  await broker.remove();
  assert.equal(await isPortOpen(redis.port), false);
});

/** The number of messages in the queue; with `message`, one is sent there first. */
async function messagesIn(url: string, message?: string): Promise<number> {
  const connection = await connect(url.replace(/\/\/$/, '/%2F'));
  const channel = await connection.createConfirmChannel();
  await channel.assertQueue(QUEUE, { durable: true });
  if (message !== undefined) channel.sendToQueue(QUEUE, Buffer.from(message), { persistent: true });
  await channel.waitForConfirms();
  const { messageCount } = await channel.checkQueue(QUEUE);
  await connection.close();
  return messageCount;
}

test('a RabbitMQ node with TLS has a certificate of its own CA only', async () => {
  assert.ok(broker.tlsUrl !== undefined && broker.caFile !== undefined);
  const port = Number(new URL(broker.tlsUrl).port);
  const handshake = (options: { ca?: Buffer }) =>
    new Promise<string>((resolve) => {
      const socket = connectTls({ host: 'localhost', port, servername: 'localhost', ...options }, () => {
        resolve('trusted');
        socket.destroy();
      });
      socket.once('error', () => resolve('refused'));
    });
  assert.equal(await handshake({ ca: readFileSync(broker.caFile) }), 'trusted');
  assert.equal(await handshake({}), 'refused');
});

test('a RabbitMQ node returns on its port with its data after a stop or a kill', async () => {
  await messagesIn(broker.url, 'a cup');
  await broker.kill();
  assert.equal(await isPortOpen(broker.port), false);
  await broker.start();
  assert.equal(await messagesIn(broker.url), 1);
  await broker.stop();
  assert.equal(await isPortOpen(broker.port), false);
  await broker.start();
  assert.equal(await messagesIn(broker.url), 1);
});

for (const flavour of celeryFlavours()) {
  test(`a worker of Celery ${flavour.version} runs the shop’s orders, counted as planned`, async (t) => {
    const cluster = { flavour, broker: broker.url, backend: redis.url };
    const worker = await startWorker({ ...cluster, nodename: `${flavour.name}@shop`, concurrency: 3 });
    t.after(() => worker.kill());
    // One order of every kind.
    const report = await placeOrders({ ...cluster, orders: 19 });
    const counted = eventCounts(report);

    assert.equal(report.celery, flavour.version);
    assert.deepEqual(Object.keys(report.workers), [worker.nodename]);
    assert.deepEqual(counted['shop.check_stock']?.failed, { KeyError: 1 });
    assert.deepEqual(counted['shop.charge_card']?.failed, { BankClosed: 1, CardDeclined: 1, GatewayBusy: 1 });
    assert.deepEqual(counted['shop.print_label']?.failed, { MaxRetriesExceededError: 1 });
    assert.deepEqual(counted['shop.write_yearly_report']?.failed, { TimeLimitExceeded: 1 });
    assert.equal(counted['shop.ship_parcel']?.revoked, 1);
    assert.equal(counted['shop.send_offer']?.revoked, 1);
    assert.equal(counted['shop.write_daily_report']?.revoked, 1);
    assert.equal(counted['shop.take_back_parcel']?.rejected, 1);
    for (const [name, { sent, revoked, started }] of Object.entries(counted)) {
      const neverStarted = name === 'shop.write_daily_report' ? 0 : revoked;
      assert.equal(started, sent - neverStarted, `runs of ${name}`);
    }
    await worker.stop();
    assert.match(worker.log(), /Warm shutdown/);
  });
}

test('a killed worker sends no worker-offline and leaves no process behind, even when busy', async (t) => {
  const [flavour] = celeryFlavours();
  const cluster = { flavour, broker: redis.url, backend: redis.url };
  const worker = await startWorker({ ...cluster, nodename: 'short-lived@shop' });
  t.after(() => worker.kill());
  const report = await placeOrders({ ...cluster, orders: 1, only: 'long_report', timeoutS: 1 });
  assert.deepEqual(report.tasks['shop.write_daily_report']?.states, { STARTED: 1 });
  assert.equal(isGroupAlive(worker.pid), true);
  await worker.kill();
  assert.doesNotMatch(worker.log(), /shutdown/i);
  // The pool's processes are not our children: the system reaps them shortly after they died.
  await t.waitFor(() => assert.equal(isGroupAlive(worker.pid), false), { timeout: DEADLINE_MS });
});

test('a Prometheus server scrapes its targets, answers queries and exits completely', async (t) => {
  const deaf = `127.0.0.1:${await freePort()}`;
  const scrape = { job: 'nobody', targets: [deaf], intervalMs: 100 };
  const prometheus = await startPrometheus({ scrape: [scrape] });
  t.after(() => prometheus.stop());
  const labels = { instance: deaf, job: 'nobody' };
  assert.deepEqual(await prometheus.untilSamples('up'), [
    { labels: { __name__: 'up', ...labels }, value: 0 },
  ]);
  assert.deepEqual(await prometheus.series('up'), [{ __name__: 'up', ...labels }]);
  assert.deepEqual(await prometheus.query('-1 / up'), [{ labels, value: Number.NEGATIVE_INFINITY }]);
  assert.deepEqual(await prometheus.query('0 / up'), [{ labels, value: Number.NaN }]);
  assert.deepEqual(await prometheus.query('up == 1'), []);
  await assert.rejects(prometheus.query('up{'), /parse error/);
  await assert.rejects(prometheus.query('1'), /an instant vector was expected, got a scalar/);
  await prometheus.stop();
  assert.equal(await isPortOpen(prometheus.port), false);
});

test('every program reports its version, and a missing one the reason', () => {
  const missing = { available: false, reason: 'no Go' } as const;
  const text = partVersions(newestCelery(), missing);
  assert.match(text, /^RabbitMQ \d.*\nRedis \d.*\nCelery \d.*\n.*Celery.*\nPrometheus \d.*\n/);
  assert.ok(text.endsWith('no OpenTelemetry Collector: no Go'));
  const there = { available: true, binary: '/otelcol', version: '1.2.3' } as const;
  assert.ok(partVersions(newestCelery(), there).endsWith('OpenTelemetry Collector 1.2.3'));
});
