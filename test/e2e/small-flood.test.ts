/**
 * Small floods into one process prove what large ones are counted by: names beyond the limit on series, garbage, and ends before
 * their starts, each into a service of its own, beside one that works as usual. Floods that cost something are in `*.limits.ts`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { borrowRabbitmq } from '../real/lent-rabbitmq.ts';
import { SEED } from '../seed.ts';
import { startBridge } from './bridge-process.ts';
import { hostileMessages } from './hostile-messages.ts';
import { ownMetric } from './own-metrics.ts';
import { type EventFields, event, inLists, publishRaw } from './publish.ts';
import { receivedTotals } from './received-totals.ts';
import { serviceFile } from './service-file.ts';
import { lives } from './task-lives.ts';

const SERVICES = ['shop', 'billing', 'mail', 'search'];
/** The default limit on the series of a metric is 2,000. */
const LIMIT = 2000;
const NAMES = 3000;
const GARBAGE = 2000;
const LIVES = 500;
const EVENTS_A_MESSAGE = 24;
/** So long that no delay in the broker makes an end older than its start. */
const WINDOW_S = 10;

test('floods of names, of garbage and of late starts are counted exactly, and only where they are', async (t) => {
  const rabbitmq = await borrowRabbitmq();
  t.after(() => rabbitmq.remove());
  const urls = await Promise.all(SERVICES.map((service) => rabbitmq.addVhost(service)));
  const totals = receivedTotals();
  const unknown = new Set<string>();
  const overflowed = new Set<string>();
  /** Points of one metric in one export, by its time. */
  const received = new Map<number, number>();
  const sink = await startReceiver({
    onExport({ points }) {
      totals.take(points);
      for (const { metric, resource, attributes, timeMs } of points) {
        const service = resource['service.name'] ?? '';
        if (attributes['celery.task.name'] === 'unknown') unknown.add(`${metric} of ${service}`);
        if ('otel.metric.overflow' in attributes) overflowed.add(service);
        if (service === 'billing' && metric === 'celery.task.received')
          received.set(timeMs, (received.get(timeMs) ?? 0) + 1);
      }
    },
  });
  t.after(() => sink.stop());
  const services = Object.fromEntries(
    SERVICES.map((name, index) => [name, { broker_url: urls[index], reordering_window: WINDOW_S }]),
  );
  const bridge = startBridge(t, {}, [
    'run',
    '--config',
    serviceFile(t, { services, endpoint: sink.url, intervalMs: 500 }),
  ]);
  await bridge.logged(/(?:connected to[\s\S]*){4}/u);

  const { messages, expected } = hostileMessages(SEED, GARBAGE);
  const [shop = '', billing = '', mail = '', search = ''] = urls;
  await Promise.all([
    publishRaw(shop, inLists(lives('shop.pay', 0, LIVES), EVENTS_A_MESSAGE)),
    publishRaw(billing, inLists(newNames(), EVENTS_A_MESSAGE)),
    publishRaw(mail, inLists(lateStarts(), EVENTS_A_MESSAGE)),
    publishRaw(search, messages),
  ]);
  const until = async (service: string, metric: string, amount: number): Promise<void> => {
    const endMs = performance.now() + DEADLINE_MS;
    while (totals.of(service, metric) < amount && performance.now() < endMs) await delay(50);
    assert.equal(totals.of(service, metric), amount, `${metric} of ${service}; ${bridge.log()}`);
  };
  await until('billing', 'celery.task.received', NAMES);
  for (const service of ['shop', 'mail'])
    for (const metric of ['received', 'started', 'succeeded'])
      await until(service, `celery.task.${metric}`, LIVES);
  await until('celery-otel', 'celery_otel.input.dropped', GARBAGE);

  assert.deepEqual([...unknown], []);
  assert.deepEqual([...overflowed], ['billing']);
  assert.equal(Math.max(...received.values()), LIMIT, 'the limit is reached, and never exceeded');
  const own = sink.latest('celery-otel');
  for (const [reason, count] of Object.entries(expected))
    assert.equal(
      ownMetric(own, 'search', 'input.dropped', { 'celery_otel.drop.reason': reason }),
      count,
      reason,
    );
  for (const service of ['shop', 'mail', 'billing'])
    for (const metric of ['input.dropped', 'table.evictions', 'broker.sessions'])
      assert.equal(ownMetric(own, service, metric), 0, `${metric} of ${service}`);
  bridge.signal('SIGTERM');
  assert.equal((await bridge.ended()).code, 0);
});

function newNames(): readonly EventFields[] {
  return Array.from({ length: NAMES }, (_, index) => {
    const name = `tenant_${index}.pay`;
    return event('task-received', { name, hostname: `celery@${name}` });
  });
}

/** All ends are published before the first start. */
function lateStarts(): readonly EventFields[] {
  const begun: EventFields[] = [];
  const ended: EventFields[] = [];
  for (let index = 0; index < LIVES; index += 1) {
    const of = { uuid: `late-${index}`, hostname: 'celery@pod' };
    const named = { ...of, name: `mail.task_${index % 20}` };
    begun.push(event('task-sent', { ...named, queue: 'orders', hostname: 'gen1@pod' }));
    begun.push(event('task-received', named));
    ended.push(event('task-started', of), event('task-succeeded', { ...of, runtime: 0.1, result: 'None' }));
  }
  return [...ended, ...begun];
}
