/** Two services on two brokers with one file: one broker stops for a while, and the other service is not affected. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { type RabbitMq, startRabbitmq } from '../real/rabbitmq.ts';
import { startBridge } from './bridge-process.ts';
import { event, publish } from './publish.ts';

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

test('an unavailable broker leaves no gap in the metrics of a service on another one', {
  timeout: 180_000,
}, async (t) => {
  const [shopBroker, billingBroker] = await Promise.all([broker(t), broker(t)]);
  const arrivals = new Map<string, Arrival[]>();
  const sink = await startReceiver({
    onExport({ points }) {
      for (const [service, own] of Map.groupBy(points, (point) => point.resource['service.name'] ?? ''))
        note(arrivals, service, own);
    },
  });
  t.after(() => sink.stop());
  const file = configFile(t, { shop: shopBroker.url, billing: billingBroker.url }, sink.url);
  const bridge = startBridge(t, {}, ['run', '--config', file]);
  await bridge.logged(/(?:connected to[\s\S]*){2}/u, 15_000);
  await publish(billingBroker.url, [sent()]);
  const pulse = startPulse(shopBroker.url);
  t.after(pulse.stop);
  await sink.waitFor('shop', (points) => total(points, 'celery.task.sent') >= 3, 10_000);
  await sink.waitFor('billing', (points) => total(points, 'celery.task.sent') === 1, 10_000);

  arrivals.clear();
  await billingBroker.stop();
  await delay(AWAY_MS);
  const shop = arrivals.get('shop') ?? [];
  await billingBroker.start();
  await bridge.logged(/(?:connected to[\s\S]*){3}/u, 15_000);
  await publish(billingBroker.url, [sent()]);
  await sink.waitFor('billing', (points) => total(points, 'celery.task.sent') === 2, 10_000);

  const { exportGapMs, countGapMs } = longestGaps(shop);
  t.diagnostic(
    `the longest gap: ${Math.round(exportGapMs)} ms without an export, ${Math.round(countGapMs)} ms without a count`,
  );
  assert.ok(exportGapMs < GAP_MAX_MS, `${exportGapMs} ms without an export`);
  assert.ok(countGapMs < GAP_MAX_MS, `${countGapMs} ms without a count`);
  const published = await pulse.stop();
  await sink.waitFor('shop', (points) => total(points, 'celery.task.sent') === published, 10_000);
  assert.ok(
    (arrivals.get('billing') ?? []).length > AWAY_MS / INTERVAL_MS / 4,
    'it was exported all the time, too',
  );
  bridge.signal('SIGTERM');
  assert.equal((await bridge.ended(10_000)).code, 0);
});

async function broker(t: TestContext): Promise<RabbitMq> {
  const started = await startRabbitmq();
  t.after(() => started.remove());
  return started;
}

function note(arrivals: Map<string, Arrival[]>, service: string, points: readonly Point[]): void {
  const known = arrivals.get(service) ?? [];
  known.push({ atMs: performance.now(), sent: total(points, 'celery.task.sent') });
  arrivals.set(service, known);
}

function configFile(t: TestContext, brokers: Readonly<Record<string, string>>, endpoint: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-brokers-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'celery-otel.yaml');
  const lines = [
    'file_format: "1.0"',
    'celery:',
    '  services:',
    ...Object.entries(brokers).map(([name, url]) => `    ${name}: { broker_url: "${url}" }`),
    'meter_provider:',
    '  readers:',
    `    - periodic: { interval: ${INTERVAL_MS}, timeout: ${INTERVAL_MS}, exporter: { otlp_grpc: { endpoint: "${endpoint}" } } }`,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
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
