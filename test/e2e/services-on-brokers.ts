/** Services with one file, each on a broker of its own, of which some cannot be reached for a while. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { type Broker, type BrokerName, borrowBroker } from '../real/brokers.ts';
import { startBridge } from './bridge-process.ts';
import { borrowBehindRelay } from './broker-behind-relay.ts';
import { event, publish } from './publish.ts';
import { serviceFile } from './service-file.ts';

/** Those whose broker is available all the time, and the others. */
export const STEADY: Readonly<Record<string, BrokerName>> = { shop: 'RabbitMQ', mail: 'Redis' };
export const AWAY: Readonly<Record<string, BrokerName>> = { billing: 'RabbitMQ', audit: 'Redis' };
export const INTERVAL_MS = 500;
/** Between two events of the service that goes on. */
const PULSE_MS = 200;

export interface Arrival {
  readonly atMs: number;
  readonly sent: number;
}

/**
 * Stops the brokers of some services, and starts them again.
 * @param meanwhile awaited while they are stopped, with what has been exported since they are
 */
export async function withoutBrokers(
  t: TestContext,
  meanwhile: (arrivals: ReadonlyMap<string, readonly Arrival[]>) => Promise<void>,
): Promise<void> {
  const [steady, away] = await Promise.all([
    brokers(t, STEADY, borrowBroker),
    brokers(t, AWAY, (name) => borrowBehindRelay(t, name)),
  ]);
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
  const pulses = steady.map(({ service, broker }) => ({ service, eventRates: startPulse(broker.url) }));
  t.after(() => Promise.all(pulses.map(({ eventRates }) => eventRates.stop())));
  const counted = (service: string, is: (count: number) => boolean) =>
    sink.waitFor(service, (points) => is(total(points, 'celery.task.sent')), DEADLINE_MS);
  const countOneMore = (count: number) =>
    Promise.all(
      away.map(async ({ service, broker }) => {
        await publish(broker.url, [sent()]);
        await counted(service, (now) => now === count);
      }),
    );
  await countOneMore(1);
  await Promise.all(steady.map(({ service }) => counted(service, (count) => count >= 3)));

  await Promise.all(away.map(({ broker }) => broker.stop()));
  arrivals.clear();
  await meanwhile(arrivals);
  await Promise.all(away.map(({ broker }) => broker.start()));
  await connected(all.length + away.length);
  await countOneMore(2);
  for (const { service, eventRates } of pulses) {
    const published = await eventRates.stop();
    await counted(service, (count) => count === published);
  }
  bridge.signal('SIGTERM');
  assert.equal((await bridge.ended()).code, 0);
}

/** A broker for each service, which is gone after the test. */
function brokers<Own extends Pick<Broker, 'url' | 'remove'>>(
  t: TestContext,
  services: Readonly<Record<string, BrokerName>>,
  start: (name: BrokerName) => Promise<Own>,
) {
  return Promise.all(
    Object.entries(services).map(async ([service, name]) => {
      const broker = await start(name);
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
