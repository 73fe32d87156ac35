/**
 * One of two services is flooded with garbage and names: that is logged and counted for this one, and the other, on the
 * same broker, has all its counts, exports and series.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { bound } from '../bound.ts';
import { borrowRabbitmq } from '../real/lent-rabbitmq.ts';
import { startBridge } from './bridge-process.ts';
import { tapEvents } from './event-tap.ts';
import { exportTimes } from './export-times.ts';
import { hostileMessages } from './hostile-messages.ts';
import { ownMetric } from './own-metrics.ts';
import { event, publish, publishRaw, type RawPublish } from './publish.ts';
import { receivedTotals } from './received-totals.ts';
import { serviceFile } from './service-file.ts';
import { steadyTasks } from './steady-tasks.ts';
import { ownTime, turnReports } from './turn-reports.ts';

const INTERVAL_MS = 1000;
/** Of the bridge’s own time. */
const GAP_MAX_MS = 3 * INTERVAL_MS;
/** The flood lasts for ten seconds at least. */
const PORTIONS = 40;
const PORTION_MS = 250;
const MESSAGES = 20_000;
const NAMES = 100_000;
/** More, from as many workers, as fast as possible; then silence, in which all of them become due at once. */
const BURST = 100_000;
const NAMES_A_MESSAGE = 50;
const PACE_HZ = 200;
const SEED = 20_261_122;
const CAUGHT_UP_MS = 30_000;

test('a flood of garbage and names into one service costs the other no count, no export and no series', {
  timeout: 120_000,
}, async (t) => {
  const rabbitmq = await borrowRabbitmq();
  t.after(() => rabbitmq.remove());
  const billingUrl = await rabbitmq.addVhost('billing');
  const times = exportTimes();
  const totals = receivedTotals();
  /** Services with a point of the overflow in any of their exports. */
  const overflowed = new Set<string>();
  let longestDelayS = 0;
  const sink = await startReceiver({
    onExport({ points }) {
      times.take(points);
      totals.take(points);
      for (const point of points) {
        if ('otel.metric.overflow' in point.attributes) overflowed.add(point.resource['service.name'] ?? '');
        if (point.metric === 'celery_otel.event_loop.delay')
          longestDelayS = Math.max(longestDelayS, point.value);
      }
    },
  });
  t.after(() => sink.stop());
  const services = { shop: { broker_url: rabbitmq.url }, billing: { broker_url: billingUrl } };
  const file = serviceFile(t, { services, endpoint: sink.url, intervalMs: INTERVAL_MS });
  const reportTurns = import.meta.resolve('./report-turns.ts');
  const bridge = startBridge(t, {}, ['run', '--config', file], ['--import', reportTurns]);
  await bridge.logged(/(?:connected to[\s\S]*){2}/u);
  const tap = await tapEvents(rabbitmq.url);
  t.after(tap.stop);
  const steady = await steadyTasks(rabbitmq.url, PACE_HZ);
  t.after(steady.stop);
  steady.runOn('celery@pod');
  await sink.waitFor('shop', (points) => total(points, 'celery.task.succeeded') > PACE_HZ, 15_000);
  const until = async (service: string, metric: string, amount: number): Promise<void> => {
    const endMs = performance.now() + CAUGHT_UP_MS;
    while (totals.of(service, metric) < amount && performance.now() < endMs) await delay(50);
    assert.equal(totals.of(service, metric), amount, `${metric} of ${service}`);
  };

  const exportsBefore = times.count('shop');
  const fromMs = Date.now();
  const { messages, expected } = hostileMessages(SEED, MESSAGES);
  for (let portion = 0; portion < PORTIONS; portion += 1) {
    const next = delay(PORTION_MS);
    const share = MESSAGES / PORTIONS;
    await Promise.all([
      publishRaw(billingUrl, messages.slice(portion * share, (portion + 1) * share)),
      publishRaw(billingUrl, unknownNames((portion * NAMES) / PORTIONS, NAMES / PORTIONS)),
    ]);
    await next;
  }
  await until('billing', 'celery.task.received', NAMES);
  await publishRaw(
    billingUrl,
    unknownNames(NAMES, BURST, (name) => `celery@${name}`),
  );
  await until('billing', 'celery.task.received', NAMES + BURST);
  await until('celery-otel', 'celery_otel.input.dropped', MESSAGES);
  assert.ok(times.count('shop') - exportsBefore >= 4, 'the flood took some intervals');
  const toMs = Date.now();
  bridge.signal('SIGUSR2');
  await bridge.logged(/"longestMs"[^\n]*\n/u);
  const [reported] = turnReports(bridge.log());
  assert.ok(reported !== undefined);
  const gapMs = times.longestGapWithin('shop', fromMs, toMs, ownTime(reported.own));
  t.diagnostic(`the longest delay of the event loop: ${Math.round(longestDelayS * 1000)} ms`);
  bound(t, 'between two exports beside a flooded service', gapMs, GAP_MAX_MS, 'ms');

  await steady.stop();
  // Is behind all else in the queue of the tap.
  await publish(rabbitmq.url, [event('worker-offline', { hostname: 'celery@pod' })]);
  while (tap.counts()['worker-offline'] === undefined) await delay(20);
  const { 'task-received': published = 0, ...others } = tap.counts();
  assert.ok(published > 10 * PACE_HZ, `${published} tasks`);
  for (const metric of ['received', 'started', 'succeeded', 'runtime']) {
    await until('shop', `celery.task.${metric}`, published);
  }
  const events = Object.values(others).reduce((sum, count) => sum + count, published);
  const own = await sink.waitFor(
    'celery-otel',
    (points) => ownMetric(points, 'shop', 'events') >= events,
    15_000,
  );
  assertOwnMetrics(own, expected, events);
  assert.deepEqual([...overflowed], ['billing'], 'limits are those of each service');
  bridge.signal('SIGTERM');
  assert.equal((await bridge.ended()).code, 0);
});

/** Lists of events as from a worker, each of a new task. */
function unknownNames(
  from: number,
  count: number,
  workerOf: (name: string) => string = () => 'celery@pod',
): readonly RawPublish[] {
  return Array.from({ length: count / NAMES_A_MESSAGE }, (_, message) => {
    const first = from + message * NAMES_A_MESSAGE;
    const events = Array.from({ length: NAMES_A_MESSAGE }, (_, index) => {
      const name = `tenant_${first + index}.pay`;
      return event('task-received', { name, hostname: workerOf(name) });
    });
    const body = Buffer.from(JSON.stringify(events));
    return { routingKey: 'task.multi', body, contentType: 'application/json', contentEncoding: 'utf-8' };
  });
}

/** @param events of the service that was not flooded */
function assertOwnMetrics(
  points: readonly Point[],
  expected: Readonly<Record<string, number>>,
  events: number,
): void {
  const dropped = Object.keys(expected).map((reason) => [
    reason,
    ownMetric(points, 'billing', 'input.dropped', { 'celery_otel.drop.reason': reason }),
  ]);
  assert.deepEqual(Object.fromEntries(dropped), expected);
  assert.equal(ownMetric(points, 'billing', 'input.dropped'), MESSAGES, 'under no other reason');
  assert.ok(ownMetric(points, 'billing', 'series.overflowed') > (NAMES + BURST) / 2);
  assert.equal(ownMetric(points, 'billing', 'events'), NAMES + BURST);
  assert.equal(ownMetric(points, 'shop', 'events'), events);
  for (const metric of ['input.dropped', 'series.overflowed', 'table.evictions', 'broker.sessions'])
    assert.equal(ownMetric(points, 'shop', metric), 0, metric);
}
