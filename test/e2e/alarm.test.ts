/** A RabbitMQ with a memory alarm, which keeps all workers from sending events for longer than all time-outs. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { startPublisher } from '../broker/publisher.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { type RabbitMq, startRabbitmq } from '../real/rabbitmq.ts';
import { startBridge } from './bridge-process.ts';
import { ownMetric } from './own-metrics.ts';
import { event } from './publish.ts';
import { lookEverywhere, statusUrl } from './shown-everywhere.ts';

const WORKER_TIMEOUT_S = 5;
const LOST_TIMEOUT_S = 6;
const ALARM_MS = 12_000;
const CHECK_S = 4;
const TASK = { uuid: 'report-1', name: 'shop.report' };

let rabbitmq: RabbitMq;
before(async () => {
  rabbitmq = await startRabbitmq();
});
after(() => rabbitmq.remove());

test('an alarm of RabbitMQ kills no worker and loses no task, and is named everywhere', async (t) => {
  const { showsEverywhere } = lookEverywhere(t);
  const ups = new Set<number>();
  const sink = await startReceiver({
    onExport: ({ points }) => {
      for (const { metric, value } of points) if (metric === 'celery.worker.up') ups.add(value);
    },
  });
  t.after(() => sink.stop());
  const env = {
    CELERY_BROKER_URL: rabbitmq.url,
    CELERY_OTEL_WORKER_TIMEOUT: String(WORKER_TIMEOUT_S),
    CELERY_OTEL_LOST_TIMEOUT: String(LOST_TIMEOUT_S),
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    OTEL_METRIC_EXPORT_INTERVAL: '500',
  };
  const bridge = startBridge(t, { ...env, CELERY_OTEL_STATUS_ADDRESS: '0' });
  await bridge.logged(/connected to/u);
  const url = await statusUrl(bridge);

  const publisher = await startPublisher(t, rabbitmq.port);
  /** As a worker does, it waits while the broker blocks it. */
  const send = (type: string, fields = {}): Promise<void> =>
    publisher.publish('celeryev', [
      {
        routingKey: type.replaceAll('-', '.'),
        contentType: 'application/json',
        contentEncoding: 'utf-8',
        headers: {},
        body: Buffer.from(JSON.stringify(event(type, fields))),
      },
    ]);
  let works = true;
  async function work(): Promise<void> {
    for (; works; await delay(500)) await send('worker-heartbeat', { active: 1, processed: 1, freq: 0.5 });
  }
  await send('worker-online', { active: 0, processed: 0, freq: 0.5 });
  await send('task-received', TASK);
  await send('task-started', TASK);
  const working = work();
  const isBusy = (points: readonly Point[]) =>
    total(points, 'celery.worker.tasks.active') === 1 && total(points, 'celery.worker.up') === 1;
  await sink.waitFor('shop', isBusy, DEADLINE_MS);
  // So many heartbeats while the task runs that silence would be proof.
  await delay(1000 * WORKER_TIMEOUT_S);
  ups.clear();

  await rabbitmq.setAlarm(true);
  const [check] = await Promise.all([
    startBridge(t, env, ['check', `--seconds=${CHECK_S}`]).ended(),
    showsEverywhere(url, 'publishers-blocked'),
    delay(ALARM_MS),
  ]);
  assert.equal(check.code, 2, check.stdout);
  assert.match(check.stdout, /^ {2}✗ amqp:\S+ blocks publishers: low on memory$/mu);
  await rabbitmq.setAlarm(false);
  works = false;
  await working;
  await send('task-succeeded', { ...TASK, runtime: 1 });

  const isOver = (points: readonly Point[]) => total(points, 'celery.task.succeeded') === 1;
  const points = await sink.waitFor('shop', isOver, DEADLINE_MS);
  assert.equal(total(points, 'celery.task.lost'), 0);
  assert.equal(total(points, 'celery.worker.exits'), 0);
  assert.deepEqual([...ups], [1], 'it was up all the time');
  assert.match(bridge.log(), /blocks publishers: low on memory/u);
  const own = sink.latest('celery-otel');
  assert.equal(ownMetric(own, 'shop', 'lost.refuted'), 0);
  assert.equal(total(own, 'celery_otel.input.dropped'), 0, 'what we send to ourselves is no input');
});
