/**
 * A backend that takes no spans while the cluster works: each span has arrived or is counted as dropped, and metrics go on. It
 * says what memory that took, and does not judge it.
 */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { respondGrpc, startGrpcReceiver } from '../otlp/send/grpc-receiver.ts';
import { borrowRabbitmq } from '../real/lent-rabbitmq.ts';
import { startBridge } from './bridge-process.ts';
import { ownMetric } from './own-metrics.ts';
import { inLists, publishRaw } from './publish.ts';
import { spansOf } from './received-spans.ts';
import { lives } from './task-lives.ts';

const PORTION = 1000;
/** The sending, and the run. */
const SPANS_A_TASK = 2;
const EVENTS_A_MESSAGE = 40;
/** The broker keeps 10,000 events. */
const TASKS_AHEAD = 2000;
const QUEUE_MAX = 16_384;
const UNAVAILABLE = { status: 14, message: 'come again' } as const;
const SOON_MS = 60_000;

/** @returns the most resident memory, in bytes, that the process took beyond what it had when the backend went away */
export async function spansOutage(t: TestContext, tasks: number): Promise<number> {
  const rabbitmq = await borrowRabbitmq();
  t.after(() => rabbitmq.remove());
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const backend = await startGrpcReceiver();
  t.after(() => backend.stop());
  const arrived = new Set<string>();
  let isAway = false;
  backend.answerWith((stream, { body }) => {
    if (isAway) return respondGrpc(stream, UNAVAILABLE);
    for (const { traceId, spanId } of spansOf(body)) arrived.add(`${traceId} ${spanId}`);
    respondGrpc(stream, {});
  });
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: rabbitmq.url,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${backend.port}`,
    OTEL_METRIC_EXPORT_INTERVAL: '500',
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_BSP_SCHEDULE_DELAY: '200',
  });
  await bridge.logged(/connected to/u);

  const counted = () => total(sink.latest('shop'), 'celery.task.succeeded');
  const own = (metric: string) => ownMetric(sink.latest('celery-otel'), 'shop', metric);
  const rss = () =>
    total(sink.latest('celery-otel'), 'celery_otel.memory.usage', { 'celery_otel.memory.type': 'rss' });
  const until = async (what: string, is: () => boolean): Promise<void> => {
    const endMs = performance.now() + SOON_MS;
    while (!is() && performance.now() < endMs) await delay(50);
    assert.ok(is(), `${what}: ${counted()} tasks, ${arrived.size} spans, ${own('items.dropped')} dropped`);
  };
  let lived = 0;
  const live = async (tasks: number): Promise<void> => {
    const end = lived + tasks;
    for (; lived < end; lived += PORTION) {
      await publishRaw(rabbitmq.url, inLists(lives('shop.pay', lived, lived + PORTION), EVENTS_A_MESSAGE));
      await until('metrics lag', () => counted() >= lived - TASKS_AHEAD);
    }
    await until('all are counted', () => counted() === lived);
  };

  await live(PORTION);
  await until('spans arrive', () => arrived.size === SPANS_A_TASK * lived);
  const before = { rss: rss(), arrived: arrived.size };
  isAway = true;
  await live(tasks);
  const waiting = () => SPANS_A_TASK * tasks - own('items.dropped');
  await until('the queue is bounded', () => waiting() <= QUEUE_MAX);
  const [peak, dropped] = [rss(), own('items.dropped')];
  t.diagnostic(
    `rss ${Math.round(before.rss / 1e6)} MB, then ${Math.round(peak / 1e6)}; ${dropped} spans dropped`,
  );
  assert.ok(waiting() > 0.9 * QUEUE_MAX, `${waiting()} spans wait`);
  assert.equal(arrived.size, before.arrived);

  isAway = false;
  const made = () => SPANS_A_TASK * lived;
  await until('each arrives or is dropped', () => arrived.size + own('items.dropped') === made());
  await live(PORTION);
  await until('spans arrive again', () => arrived.size + own('items.dropped') === made());
  assert.equal(own('items.dropped'), dropped, 'none was dropped when the backend was back');
  assert.match(bridge.log(), /spans of shop dropped: the queue is full/u);
  bridge.signal('SIGTERM');
  assert.equal((await bridge.ended()).code, 0);
  assert.equal(counted(), lived);
  return peak - before.rss;
}
