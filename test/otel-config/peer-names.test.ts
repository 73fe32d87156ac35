/**
 * The Collector’s configurations with the names of celery-exporter and of Flower, run by a real Collector behind a bridge that
 * replays the demo’s recording: what dashboards and alerts of the peers ask for is there, with the numbers of celery-otel.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { startBridge } from '../e2e/bridge-process.ts';
import { type Otelcol, skipWithoutOtelcol, startOtelcol, validateOtelcolConfig } from '../real/otelcol.ts';
import type { Labels, Sample } from '../real/prometheus.ts';
import { until } from '../until.ts';
import { has, samplesIn, sumOf } from './exposition.ts';
import { configOf, startPeerCollectors } from './peer-collectors.ts';
import { CELERY_EXPORTER, FLOWER, named, type Peer } from './peers.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const SHOP = path.join(ROOT, 'examples/demo/shop.ndjson');
const skip = skipWithoutOtelcol();
/** They are on every series. */
const ON_ALL = ['__name__', 'job', 'instance'];
/** A complaint in the Collector’s log, such as a statement that failed. */
const COMPLAINT = /\t(?:warn|error)\t/u;

interface Served {
  readonly samples: readonly Sample[];
  readonly log: string;
}

/** What a Collector serves once the whole recording was exported to it, and its log. */
async function served(collector: Otelcol): Promise<Served> {
  // The last export is that of the metrics about celery-otel itself.
  let text = '';
  await until(
    'all is served',
    async () => {
      text = await collector.metricsText();
      return text.includes('celery_otel_up') && text.includes('celery_worker_info');
    },
    () => text,
  );
  return { samples: samplesIn(text), log: collector.log() };
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

async function assertPeer(
  t: TestContext,
  peer: Peer,
  { samples, log }: Served,
  native: Served,
): Promise<void> {
  await t.test('it is valid without any variable', () =>
    validateOtelcolConfig({ configText: configOf(peer) }),
  );

  await t.test('no statement fails', () => assert.doesNotMatch(log, COMPLAINT));

  for (const [name, labels] of Object.entries(peer.asked))
    await t.test(`${name} has the labels that are asked for`, () => {
      const found = samples.filter((sample) => has(sample, named(name)));
      const seen = new Set(found.flatMap((sample) => Object.keys(sample.labels)));
      for (const label of [...ON_ALL, ...labels]) assert.ok(seen.has(label), label);
      const known = [...ON_ALL, ...labels, ...peer.beside];
      assert.deepEqual(
        [...seen].filter((label) => !known.includes(label)),
        [],
        'and no others than these and those of celery-otel',
      );
    });

  await t.test('there are as many of each task as under the names of celery-otel', () =>
    assertSame(peer, samples, native.samples),
  );

  await t.test('what the peer does not have keeps its name', () =>
    assert.ok(samples.some((sample) => has(sample, named('celery_worker_tasks_scheduled')))),
  );
}

function assertSelectable(samples: readonly Sample[]): void {
  const values = (name: string, label: string): readonly (string | undefined)[] => [
    ...new Set(samples.filter((sample) => has(sample, named(name))).map(({ labels }) => labels[label])),
  ];
  assert.deepEqual(values('celery_worker_up', 'hostname').toSorted(), ['shop-a', 'shop-b', 'shop-c']);
  assert.deepEqual(values('celery_task_sent_total', 'hostname'), ['generic']);
  assert.deepEqual(values('celery_task_succeeded_total', 'job'), ['celery/shop']);
  assert.ok(values('celery_task_failed_total', 'exception').includes('AddressUnknown'));
  const never = { name: 'shop.price_item', hostname: 'shop-a' };
  assert.ok(sumOf(samples, named('celery_task_succeeded_total', never)) > 0);
  const zeros = samples.filter((sample) => has(sample, named('celery_task_failed_total', never)));
  assert.deepEqual(
    zeros.map(({ value }) => value),
    [0],
    'there is a zero, so a success rate has a value',
  );
}

test('a replay has the names of celery-exporter and of Flower', { skip }, async (t) => {
  const { native, celeryExporter, flower } = await startPeerCollectors(t);
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: `recording:${SHOP}?speed=max`,
    CELERY_OTEL_ATTRIBUTES_ENABLED: 'celery.task.prefetch_time/celery.worker.name',
    CELERY_OTEL_ZERO_FIRST: '1',
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${native.ports.otlpGrpc}`,
  });
  assert.equal((await bridge.ended()).code, 0);
  const [ours, theirs, flowers] = await Promise.all([served(native), served(celeryExporter), served(flower)]);
  await t.test(CELERY_EXPORTER.file, (t) => assertPeer(t, CELERY_EXPORTER, theirs, ours));
  await t.test(FLOWER.file, (t) => assertPeer(t, FLOWER, flowers, ours));
  await t.test('labels of celery-exporter have the values that its dashboards and alerts select', () =>
    assertSelectable(theirs.samples),
  );
});

interface SentPoint {
  readonly attributes: Labels;
  /** Without one, it says that the series has ended. */
  readonly value?: number;
}

/** Sends them as celery-otel does. */
async function send(
  { ports }: Otelcol,
  name: string,
  points: readonly SentPoint[],
  sum = false,
): Promise<void> {
  const dataPoints = points.map(({ attributes, value }) => ({
    attributes: keyValues(attributes),
    timeUnixNano: `${Date.now()}000000`,
    ...(value === undefined ? { flags: 1 } : { asInt: value }),
  }));
  const kind = sum
    ? { sum: { dataPoints, aggregationTemporality: 2, isMonotonic: true } }
    : { gauge: { dataPoints } };
  const resource = { attributes: keyValues({ 'service.name': 'shop' }) };
  const metrics = [{ name, unit: '{one}', ...kind }];
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
  const collector = await startOtelcol({ configText: configOf(CELERY_EXPORTER) });
  t.after(() => collector.stop());
  for (const [index, [ours, theirs]] of [
    ['celery.queue.length', 'celery_queue_length'],
    ['celery.queue.consumers', 'celery_active_consumer_count'],
    ['celery.queue.workers', 'celery_active_worker_count'],
    ['celery.queue.processes', 'celery_active_process_count'],
  ].entries()) {
    await send(collector, ours ?? '', [{ attributes: { 'celery.queue.name': 'mail' }, value: index }]);
    await collector.untilMetricsLine(
      `${theirs}{instance="shop",job="celery/shop",queue_name="mail"} ${index}`,
    );
  }
});

test('a worker of a host is not that of another one, and is gone once its series has ended', {
  skip,
}, async (t) => {
  const collector = await startOtelcol({ configText: configOf(CELERY_EXPORTER) });
  t.after(() => collector.stop());
  const [gone, alive] = [{ 'celery.worker.name': 'w1@web' }, { 'celery.worker.name': 'w2@web' }];
  const up = (name: string): string =>
    `celery_worker_up{celery_worker_name="${name}",hostname="web",instance="shop",job="celery/shop"}`;
  await send(collector, 'celery.worker.up', [
    { attributes: gone, value: 0 },
    { attributes: alive, value: 1 },
  ]);
  await collector.untilMetricsLine(`${up('w1@web')} 0`);
  await send(collector, 'celery.worker.up', [{ attributes: gone }]);
  await until('it is gone', async () => !(await collector.metricsText()).includes('w1@web'));
  await collector.untilMetricsLine(`${up('w2@web')} 1`);
});

test('a counter and its zero are two series, whichever comes later, and end each for itself', {
  skip,
}, async (t) => {
  const collector = await startOtelcol({ configText: configOf(CELERY_EXPORTER) });
  t.after(() => collector.stop());
  const attributes = {
    'celery.task.name': 'pay',
    'celery.queue.name': 'unknown',
    'celery.worker.name': 'w1@web',
  };
  const common = 'hostname="web",instance="shop",job="celery/shop",name="pay",queue_name="celery"';
  const zero = `celery_task_succeeded_total{${common}} 0`;
  const real = `celery_task_succeeded_total{celery_queue_name="unknown",celery_worker_name="w1@web",${common}}`;
  await send(collector, 'celery.task.succeeded', [{ attributes, value: 5 }], true);
  await collector.untilMetricsLine(`${real} 5`);
  await send(collector, 'celery.task.received', [{ attributes, value: 7 }], true);
  await collector.untilMetricsLine(zero);
  await collector.untilMetricsLine(`${real} 5`);
  await send(collector, 'celery.task.received', [{ attributes }], true);
  await send(collector, 'celery.task.succeeded', [{ attributes }], true);
  await until('it is gone', async () => !(await collector.metricsText()).includes(real));
  await collector.untilMetricsLine(zero);
});
