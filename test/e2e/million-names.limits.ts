/**
 * A flood of names through the running bridge: tasks with ever new names, on a hundred thousand workers. The limit holds at
 * every export, the sums are exact, and the heap does not grow.
 *
 *     NAMES=1000000 npm run test:limits -- test/e2e/million-names.limits.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'amqplib';
import type { Point } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { bound } from '../bound.ts';
import { borrowRabbitmq } from '../real/lent-rabbitmq.ts';
import { startBridge } from './bridge-process.ts';
import { type EventFields, event } from './publish.ts';
import { receivedTotals } from './received-totals.ts';

/** A million take two minutes. */
const NAMES = Number(process.env['NAMES'] ?? 280_000);
const WORKERS = 100_000;
const LIMIT = 2000;
const TASKS_A_MESSAGE = 32;
/** The most tasks in the broker’s queue, 30 MB; beyond its limit it would drop some. */
const TASKS_AHEAD = 40_000;
const HEAP_GROWTH_MAX = 1.1;
/**
 * The heap is measured when all events of a part are counted. Caches of series are cleared at every 30,000 names, so the
 * heap varies by 30 MB: each part ends with 10,000 names in them.
 */
const PARTS = Array.from(
  { length: Math.ceil((NAMES - 100_000) / 60_000) + 1 },
  (_, index) => 100_000 + index * 60_000,
);
const REPORT_HEAP = import.meta.resolve('./report-heap.ts');
const HEAP = /^([\d.]+) MB of heap$/gmu;

test(`${NAMES} task names and ${WORKERS} worker names stay within the limit, are exact, and the heap is flat`, {
  timeout: 400_000,
}, async (t) => {
  const rabbitmq = await borrowRabbitmq();
  t.after(() => rabbitmq.remove());
  const totals = receivedTotals();
  const largest = new Map<string, number>();
  const pointsNow = new Map<string, { timeMs: number; points: number }>();
  const sink = await startReceiver({
    onExport({ points }) {
      totals.take(points);
      for (const point of points) notePoint(point);
    },
  });
  t.after(() => sink.stop());
  function notePoint(point: Point): void {
    // All points of a metric in one export have one time, in however many requests they come.
    const before = pointsNow.get(point.metric);
    const points = before?.timeMs === point.timeMs ? before.points + 1 : 1;
    pointsNow.set(point.metric, { timeMs: point.timeMs, points });
    largest.set(point.metric, Math.max(points, largest.get(point.metric) ?? 0));
  }

  const env = {
    CELERY_BROKER_URL: rabbitmq.url,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
  };
  const bridge = startBridge(t, env, ['run'], ['--expose-gc', '--import', REPORT_HEAP]);
  await bridge.logged(/connected to/u);
  const counted = () => totals.of('celery-otel', 'celery_otel.events') / 3;
  for (const [index, names] of PARTS.entries()) {
    await publishAll(rabbitmq.url, PARTS[index - 1] ?? 0, names, counted);
    const endMs = performance.now() + 120_000;
    for (const metric of ['received', 'started', 'succeeded', 'runtime', 'prefetch_time']) {
      const total = () => totals.of('shop', `celery.task.${metric}`);
      while (total() < names && performance.now() < endMs) await delay(100);
      assert.equal(total(), names, metric);
    }
    bridge.signal('SIGUSR2');
    await bridge.logged(new RegExp(`(?:${HEAP.source}[^]*){${index + 1}}`, 'mu'));
  }
  assert.equal(totals.of('celery-otel', 'celery_otel.input.dropped'), 0);
  assert.equal(Math.max(...largest.values()), LIMIT, 'the limit is reached, and never exceeded');
  bridge.signal('SIGTERM');
  assert.equal((await bridge.ended()).code, 0);
  const heaps = [...bridge.log().matchAll(HEAP)].map(([, left]) => Number(left));
  t.diagnostic(`MB left of the heap by full collections: ${heaps.join(' ')}`);
  assert.equal(heaps.length, PARTS.length);
  const half = PARTS.length / 2;
  const [before, last] = [Math.max(...heaps.slice(0, half)), Math.max(...heaps.slice(half))];
  bound(t, `heap at the end of ${NAMES} names`, last, before * HEAP_GROWTH_MAX, 'MB');
});

/** Publishes as fast as the bridge counts. */
async function publishAll(url: string, from: number, to: number, counted: () => number): Promise<void> {
  const connection = await connect(url);
  const channel = await connection.createConfirmChannel();
  for (let first = from; first < to; first += TASKS_A_MESSAGE) {
    const events = Array.from({ length: Math.min(TASKS_A_MESSAGE, to - first) }, (_, index) =>
      lifeOf(first + index),
    ).flat();
    const body = Buffer.from(JSON.stringify(events));
    channel.publish('celeryev', 'task.multi', body, { contentType: 'application/json' });
    if ((first / TASKS_A_MESSAGE) % 20 !== 19) continue;
    await channel.waitForConfirms();
    while (first - counted() > TASKS_AHEAD) await delay(20);
  }
  await channel.waitForConfirms();
  await connection.close();
}

function lifeOf(index: number): readonly EventFields[] {
  const uuid = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
  const common = { uuid, hostname: `celery@pod-${index % WORKERS}` };
  return [
    event('task-received', { ...common, name: `shop.tenant_${index}.pay` }),
    event('task-started', common),
    event('task-succeeded', { ...common, runtime: 0.01, result: 'None' }),
  ];
}
