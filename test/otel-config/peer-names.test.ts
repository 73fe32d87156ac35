/**
 * The Collector’s configurations with the names of celery-exporter and of Flower, run by a real Collector behind a bridge that
 * replays the demo’s recording: what dashboards and alerts of the peers ask for is there, with the numbers of celery-otel.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { startBridge } from '../e2e/bridge-process.ts';
import { type Otelcol, skipWithoutOtelcol, startOtelcol, validateOtelcolConfig } from '../real/otelcol.ts';
import type { Labels, Sample } from '../real/prometheus.ts';
import { until } from '../until.ts';
import { has, samplesIn, sumOf } from './exposition.ts';
import { CELERY_EXPORTER, FLOWER, named, type Peer } from './peers.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const SHOP = path.join(ROOT, 'examples/demo/shop.ndjson');
const skip = skipWithoutOtelcol();
/** They are on every series, or made by Prometheus’ client. */
const ON_ALL = ['__name__', 'job', 'instance'];
/** A complaint in the Collector’s log, such as a statement that failed. */
const COMPLAINT = /\t(?:warn|error)\t/u;

const textOf = (file: string): string => readFileSync(path.join(ROOT, 'otel-config', file), 'utf8');

/** What the Collector serves once the whole recording was exported to it, and its log. */
async function replayed(
  t: TestContext,
  configText?: string,
): Promise<{ readonly samples: readonly Sample[]; readonly log: string }> {
  const collector = await startOtelcol(configText === undefined ? {} : { configText });
  t.after(() => collector.stop());
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: `recording:${SHOP}?speed=max`,
    CELERY_OTEL_ATTRIBUTES_ENABLED: 'celery.task.prefetch_time/celery.worker.name',
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.ports.otlpGrpc}`,
  });
  assert.equal((await bridge.ended()).code, 0);
  // The last export is that of the metrics about celery-otel itself.
  let text = '';
  await until('all is served', async () => {
    text = await collector.metricsText();
    return text.includes('celery_otel_up') && text.includes('celery_worker_info');
  });
  return { samples: samplesIn(text), log: collector.log() };
}

/** The runtimes of successes get a name of their own, since those of failures are left out by the peers. */
function withSucceeded(samples: readonly Sample[]): readonly Sample[] {
  return samples.map((sample) => {
    const [, part] = /^celery_task_runtime_seconds(_\w+)$/u.exec(sample.labels['__name__'] ?? '') ?? [];
    if (part === undefined || sample.labels['error_type'] !== undefined) return sample;
    return { ...sample, labels: { ...sample.labels, __name__: `celery_task_succeeded_runtime${part}` } };
  });
}

function near(actual: number, expected: number, what: string): void {
  assert.ok(Math.abs(actual - expected) <= 1e-6 * Math.abs(expected), `${what}: ${actual}, not ${expected}`);
}

/** The sums of both are the same, and so are those of each task. */
function assertSame(peer: Peer, theirs: readonly Sample[], ours: readonly Sample[]): void {
  const tasks = new Set(ours.flatMap(({ labels }) => labels['celery_task_name'] ?? []));
  assert.ok(tasks.size > 5);
  for (const [their, our] of peer.same) {
    near(sumOf(theirs, their), sumOf(ours, our), JSON.stringify(their));
    for (const task of tasks)
      near(
        sumOf(theirs, { ...their, [peer.task]: task }),
        sumOf(ours, { ...our, celery_task_name: task }),
        `${JSON.stringify(their)} of ${task}`,
      );
  }
}

for (const peer of [CELERY_EXPORTER, FLOWER]) {
  test(`otel-config/${peer.file}`, { skip }, async (t) => {
    await t.test('it is valid without any variable', () =>
      validateOtelcolConfig({ configText: textOf(peer.file) }),
    );
    const [{ samples: theirs, log }, native] = await Promise.all([
      replayed(t, textOf(peer.file)),
      replayed(t),
    ]);

    await t.test('no statement fails', () => assert.doesNotMatch(log, COMPLAINT));

    for (const [name, labels] of Object.entries(peer.asked))
      await t.test(`${name} has the labels that are asked for, and no others`, () => {
        const found = theirs.filter((sample) => has(sample, named(name)));
        const seen = new Set(found.flatMap((sample) => Object.keys(sample.labels)));
        assert.deepEqual([...seen].sort(), [...ON_ALL, ...labels].sort());
      });

    await t.test('there are as many of each task as under the names of celery-otel', () =>
      assertSame(peer, theirs, withSucceeded(native.samples)),
    );

    await t.test('what the peer does not have keeps its name', () =>
      assert.ok(theirs.some((sample) => has(sample, named('celery_worker_tasks_scheduled')))),
    );
  });
}

test('labels of celery-exporter have the values that its dashboards and alerts select', {
  skip,
}, async (t) => {
  const { samples } = await replayed(t, textOf(CELERY_EXPORTER.file));
  const values = (name: string, label: string): readonly (string | undefined)[] => [
    ...new Set(samples.filter((sample) => has(sample, named(name))).map(({ labels }) => labels[label])),
  ];
  assert.deepEqual(values('celery_worker_up', 'hostname').toSorted(), ['shop-a', 'shop-b', 'shop-c']);
  assert.deepEqual(values('celery_task_sent_total', 'hostname'), ['generic']);
  assert.deepEqual(values('celery_task_succeeded_total', 'job'), ['celery/shop']);
  assert.ok(values('celery_task_failed_total', 'exception').includes('AddressUnknown'));
  // Two of the four workers of a host are still up.
  assert.equal(sumOf(samples, named('celery_worker_up', { hostname: 'shop-c' })), 1);
  const never = { name: 'shop.price_item', hostname: 'shop-a' };
  assert.ok(sumOf(samples, named('celery_task_succeeded_total', never)) > 0);
  const zeros = samples.filter((sample) => has(sample, named('celery_task_failed_total', never)));
  assert.deepEqual(
    zeros.map(({ value }) => value),
    [0],
    'there is a zero, so a success rate has a value',
  );
});

interface SentPoint {
  readonly attributes: Labels;
  /** Without one, it says that the series has ended. */
  readonly value?: number;
}

/** Sends them as celery-otel does. */
async function sendGauge({ ports }: Otelcol, name: string, points: readonly SentPoint[]): Promise<void> {
  const dataPoints = points.map(({ attributes, value }) => ({
    attributes: keyValues(attributes),
    timeUnixNano: `${Date.now()}000000`,
    ...(value === undefined ? { flags: 1 } : { asInt: value }),
  }));
  const resource = { attributes: keyValues({ 'service.name': 'shop' }) };
  const metrics = [{ name, unit: '{worker}', gauge: { dataPoints } }];
  const scopeMetrics = [{ scope: { name: 'celery-otel', version: '1' }, metrics }];
  const response = await fetch(`http://127.0.0.1:${ports.otlpHttp}/v1/metrics`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resourceMetrics: [{ resource, scopeMetrics }] }),
  });
  assert.equal(response.status, 200, await response.text());
}

const keyValues = (attributes: Labels): readonly object[] =>
  Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }));

test('queues have the names of celery-exporter', { skip }, async (t) => {
  const collector = await startOtelcol({ configText: textOf(CELERY_EXPORTER.file) });
  t.after(() => collector.stop());
  for (const [index, [ours, theirs]] of [
    ['celery.queue.length', 'celery_queue_length'],
    ['celery.queue.consumers', 'celery_active_consumer_count'],
    ['celery.queue.workers', 'celery_active_worker_count'],
    ['celery.queue.processes', 'celery_active_process_count'],
  ].entries()) {
    await sendGauge(collector, ours ?? '', [{ attributes: { 'celery.queue.name': 'mail' }, value: index }]);
    await collector.untilMetricsLine(
      `${theirs}{instance="shop",job="celery/shop",queue_name="mail"} ${index}`,
    );
  }
});

test('a host is up while one of its workers is, also after another one was forgotten', {
  skip,
}, async (t) => {
  const collector = await startOtelcol({ configText: textOf(CELERY_EXPORTER.file) });
  t.after(() => collector.stop());
  const [gone, alive] = [{ 'celery.worker.name': 'w1@web' }, { 'celery.worker.name': 'w2@web' }];
  const up = 'celery_worker_up{hostname="web",instance="shop",job="celery/shop"}';
  await sendGauge(collector, 'celery.worker.up', [{ attributes: gone, value: 0 }]);
  await collector.untilMetricsLine(`${up} 0`);
  await sendGauge(collector, 'celery.worker.up', [
    { attributes: gone, value: 0 },
    { attributes: alive, value: 1 },
  ]);
  await collector.untilMetricsLine(`${up} 1`);
  await sendGauge(collector, 'celery.worker.up', [{ attributes: gone }]);
  // What is sent after it is served, so it was taken.
  await sendGauge(collector, 'later', [{ attributes: {}, value: 1 }]);
  await collector.untilMetricsLine('later{instance="shop",job="celery/shop"} 1');
  await collector.untilMetricsLine(`${up} 1`);
});
