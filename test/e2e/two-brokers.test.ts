/**
 * Services with one file, each on a broker of its own: a RabbitMQ and a Redis stop for a while, and the services on the
 * others are not affected.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { type Broker, type BrokerName, startBroker } from '../real/brokers.ts';
import { startBridge } from './bridge-process.ts';
import { event, publish } from './publish.ts';
import { serviceFile } from './service-file.ts';

/** Those whose broker is available all the time, and the others. */
const STEADY: Readonly<Record<string, BrokerName>> = { shop: 'RabbitMQ', mail: 'Redis' };
const AWAY: Readonly<Record<string, BrokerName>> = { billing: 'RabbitMQ', audit: 'Redis' };
const AWAY_MS = 20_000;
const INTERVAL_MS = 500;
/** Between two events of the service that goes on. */
const PULSE_MS = 200;
/** Without any news of it: whoever waited for the broker would have none all the time. */
const GAP_MAX_MS = AWAY_MS / 2;

interface Arrival {
  readonly atMs: number;
  readonly sent: number;
}

test('unavailable brokers leave no gap in the metrics of services on other ones', {
  timeout: 180_000,
}, async (t) => {
  const [steady, away] = await Promise.all([brokers(t, STEADY), brokers(t, AWAY)]);
  const arrivals = new Map<string, Arrival[]>();
  const sink = await startReceiver({
    onExport({ points }) {
      for (const [service, own] of Map.groupBy(points, (point) => point.resource['service.name'] ?? ''))
        note(arrivals, service, own);
    },
  });
  t.after(() => sink.stop());
  const all = [...steady, ...away];
  const file = serviceFile(t, {
    services: Object.fromEntries(all.map(({ service, broker }) => [service, { broker_url: broker.url }])),
    endpoint: sink.url,
    intervalMs: INTERVAL_MS,
  });
  const bridge = startBridge(t, {}, ['run', '--config', file]);
  const connected = (sessions: number) => bridge.logged(new RegExp(`(?:connected to[^]*){${sessions}}`, 'u'));
  await connected(all.length);
  const pulses = steady.map(({ service, broker }) => ({ service, pulse: startPulse(broker.url) }));
  t.after(() => Promise.all(pulses.map(({ pulse }) => pulse.stop())));
  const counted = (service: string, is: (count: number) => boolean) =>
    sink.waitFor(service, (points) => is(total(points, 'celery.task.sent')), 10_000);
  const countOneMore = (count: number) =>
    Promise.all(
      away.map(async ({ service, broker }) => {
        await publish(broker.url, [sent()]);
        await counted(service, (now) => now === count);
      }),
    );
  await countOneMore(1);
  await Promise.all(steady.map(({ service }) => counted(service, (count) => count >= 3)));

  arrivals.clear();
  await Promise.all(away.map(({ broker }) => broker.stop()));
  await delay(AWAY_MS);
  const gaps = steady.map(({ service }) => ({ service, ...longestGaps(arrivals.get(service) ?? []) }));
  await Promise.all(away.map(({ broker }) => broker.start()));
  await connected(all.length + away.length);
  await countOneMore(2);

  for (const { service, exportGapMs, countGapMs } of gaps) {
    const told = `${service}: at most ${Math.round(exportGapMs)} ms without an export, ${Math.round(countGapMs)} ms without a count`;
    t.diagnostic(told);
    assert.ok(exportGapMs < GAP_MAX_MS && countGapMs < GAP_MAX_MS, told);
  }
  for (const { service, pulse } of pulses) {
    const published = await pulse.stop();
    await counted(service, (count) => count === published);
  }
  for (const { service } of away) {
    const { length } = arrivals.get(service) ?? [];
    assert.ok(length > AWAY_MS / INTERVAL_MS / 4, `${service} was exported all the time, too`);
  }
  bridge.signal('SIGTERM');
  assert.equal((await bridge.ended()).code, 0);
});

/** Starts a broker for each service, which is gone after the test. */
function brokers(t: TestContext, services: Readonly<Record<string, BrokerName>>) {
  return Promise.all(
    Object.entries(services).map(async ([service, name]): Promise<{ service: string; broker: Broker }> => {
      const broker = await startBroker(name);
      t.after(() => broker.remove());
      return { service, broker };
    }),
  );
}

function note(arrivals: Map<string, Arrival[]>, service: string, points: readonly Point[]): void {
  const known = arrivals.get(service) ?? [];
  known.push({ atMs: performance.now(), sent: total(points, 'celery.task.sent') });
  arrivals.set(service, known);
}

/** Publishes an event now and then; `stop` returns how many. */
function startPulse(url: string): { stop(): Promise<number> } {
  const stopping = new AbortController();
  let published = 0;
  const done = (async () => {
    while (!stopping.signal.aborted) {
      await publish(url, [sent()]);
      published += 1;
      await delay(PULSE_MS);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await done;
      return published;
    },
  };
}

function sent() {
  return event('task-sent', { name: 'shop.pay', queue: 'orders' });
}

/** Between two exports, and between two that had counted something new. */
function longestGaps(arrivals: readonly Arrival[]): { exportGapMs: number; countGapMs: number } {
  const gap = (some: readonly Arrival[]) =>
    Math.max(...some.slice(1).map(({ atMs }, index) => atMs - (some[index]?.atMs ?? 0)));
  const growing = arrivals.filter(({ sent }, index) => sent > (arrivals[index - 1]?.sent ?? -1));
  return { exportGapMs: gap(arrivals), countGapMs: gap(growing) };
}
