/**
 * What a real Collector converts to deltas: by default, `cumulativetodelta` drops a first point that starts when it
 * ends, or before the Collector did, since it cannot know what has been counted already.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { METRIC_NAMES } from '../../src/meter/catalog.ts';
import { createRecorder } from '../../src/meter/recorder.ts';
import { createPipeline } from '../../src/otlp/pipeline.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { skipWithoutOtelcol, startOtelcol } from '../real/otelcol.ts';
import { otlpSettings } from './settings.ts';

const TO_DELTA = `
receivers: { otlp: { protocols: { grpc: { endpoint: "\${env:OTLP_GRPC_ENDPOINT}" } } } }
processors: { cumulativetodelta: {} }
exporters: { file: { path: "\${env:RECEIVED}", flush_interval: 100ms } }
service:
  pipelines: { metrics: { receivers: [otlp], processors: [cumulativetodelta], exporters: [file] } }
  telemetry: { metrics: { level: none } }
`;
const INTERVAL_MS = 250;
const INTERVALS = 6;
/** AggregationTemporality of OTLP. */
const DELTA = 1;

interface Received {
  readonly metric: string;
  readonly temporality: number;
  readonly task: string;
  readonly count: number;
  readonly startNs: bigint;
  readonly timeNs: bigint;
}

/** The Collector’s output: one OTLP request per line. */
function readReceived(file: string): readonly Received[] {
  const requests = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return requests.flatMap((line) =>
    list(JSON.parse(line), 'resourceMetrics')
      .flatMap((resource) => list(resource, 'scopeMetrics'))
      .flatMap((scope) => list(scope, 'metrics'))
      .flatMap(pointsOf),
  );
}

function pointsOf(metric: unknown): readonly Received[] {
  const data = get(metric, 'sum') ?? get(metric, 'histogram');
  return list(data, 'dataPoints').map((point) => ({
    metric: String(get(metric, 'name')),
    temporality: Number(get(data, 'aggregationTemporality')),
    task: String(get(get(list(point, 'attributes').find(isTask), 'value'), 'stringValue')),
    count: Number(get(point, 'asInt') ?? get(point, 'count') ?? 0),
    startNs: BigInt(String(get(point, 'startTimeUnixNano'))),
    timeNs: BigInt(String(get(point, 'timeUnixNano'))),
  }));
}

const isTask = (attribute: unknown) => get(attribute, 'key') === 'celery.task.name';

function get(holder: unknown, key: string): unknown {
  return typeof holder === 'object' && holder !== null ? Reflect.get(holder, key) : undefined;
}

function list(holder: unknown, key: string): readonly unknown[] {
  const value = get(holder, key);
  return Array.isArray(value) ? value : [];
}

/** A simulated bridge: it runs for some intervals, counts a steady task in each, and another one once. */
async function live(endpoint: string, temporality: 'cumulative' | 'delta'): Promise<void> {
  const pipeline = createPipeline({
    settings: otlpSettings(endpoint, {
      exporter: { insecure: true },
      streams: { temporality },
      schedule: { intervalMs: INTERVAL_MS },
    }),
    onExport: (_, { outcome, reason }) => assert.equal(outcome, 'success', reason),
    onDefect: (_, reason) => assert.ifError(reason),
    random: () => 0,
    yieldToLoop: async () => {},
  });
  const provider = pipeline.open('shop', serviceResource(temporality, {}), { combination: () => 'sum' });
  const recorder = createRecorder(
    provider.getMeter('celery-otel', '1.0.0'),
    () => {
      // In the very millisecond of a collection.
      succeed('at collection');
      return { workers: [], forgotten: [], queues: [], ends: [] };
    },
    { metrics: new Set(METRIC_NAMES), optIns: new Set() },
  );
  const runs = new Map<string, { task: string; queue: string; worker: string }>();
  function succeed(task: string): void {
    const run = runs.get(task) ?? { task, queue: 'q', worker: 'w' };
    runs.set(task, run);
    recorder.record({ kind: 'task-succeeded', run, runtimeS: 0.5 });
    counted.set(task, (counted.get(task) ?? 0) + 1);
  }
  pipeline.start();
  for (let interval = 0; interval < INTERVALS; interval += 1) {
    await delay(INTERVAL_MS);
    succeed('steady');
    if (interval === INTERVALS / 2) succeed('once');
  }
  assert.equal((await pipeline.close([[provider]], DEADLINE_MS)).size, 0);
}

const counted = new Map<string, number>();

async function receivedOf(t: TestContext, temporality: 'cumulative' | 'delta'): Promise<readonly Received[]> {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-to-delta-'));
  const file = join(folder, 'received.json');
  t.after(() => rmSync(folder, { recursive: true }));
  const collector = await startOtelcol({ configText: TO_DELTA, env: { RECEIVED: file } });
  t.after(() => collector.stop());
  counted.clear();
  const endpoint = `http://127.0.0.1:${collector.ports.otlpGrpc}`;
  // One after the other, as when the bridge is started anew.
  for (let life = 0; life < 2; life += 1) await live(endpoint, temporality);
  // What it holds is written when it stops.
  await collector.stop();
  assert.deepEqual([...counted.keys()].sort(), ['at collection', 'once', 'steady']);
  return readReceived(file);
}

for (const temporality of ['cumulative', 'delta'] as const) {
  test(`counts of every interval, and a single count, all arrive (${temporality})`, {
    skip: skipWithoutOtelcol(),
  }, async (t) => {
    const received = await receivedOf(t, temporality);
    for (const { temporality: is, startNs, timeNs } of received) {
      assert.equal(is, DELTA);
      assert.ok(startNs < timeNs, `${startNs} ${timeNs}`);
    }
    for (const metric of ['celery.task.succeeded', 'celery.task.runtime']) {
      const points = received.filter((point) => point.metric === metric);
      const arrived = Map.groupBy(points, ({ task }) => task);
      assert.deepEqual(
        new Map([...arrived].map(([task, of]) => [task, of.reduce((sum, { count }) => sum + count, 0)])),
        counted,
        metric,
      );
    }
  });
}
