/**
 * The order of arrival within a second does not change any exported value: a real recording, three times in sequence,
 * goes through all rooms, unchanged and with each event delayed.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { emptyResource } from '@opentelemetry/resources';
import { DataPointType, type MetricData } from '@opentelemetry/sdk-metrics';
import type { RawMessage } from '../../src/broker/broker.ts';
import { decodeHeader, decodeMessage } from '../../src/broker/recording/format.ts';
import { decode } from '../../src/celery/decode.ts';
import type { RawFields } from '../../src/celery/fields.ts';
import { createCluster } from '../../src/cluster/cluster.ts';
import { combinationOf, METRIC_NAMES, OPT_INS } from '../../src/meter/catalog.ts';
import { createRecorder, type Recorder } from '../../src/meter/recorder.ts';
import { createProvider, type Provider } from '../../src/otlp/provider.ts';
import { isJsonObject } from '../../src/text/json-structure.ts';
import { seeded } from '../e2e/seeded.ts';
import { otlpSettings } from '../otlp/settings.ts';
import { collectAt } from './collection.ts';

const RECORDING = fileURLToPath(new URL('../../examples/demo/shop.ndjson', import.meta.url));
/** The default options. */
const SETTINGS = {
  tasksMax: 100_000,
  workersMax: 10_000,
  workerTimeoutMs: 30_000,
  lostTimeoutMs: 30_000,
  seriesRetentionMs: 600_000,
  windowMs: 1_000,
  heldMax: 100_000,
  skewPairsMax: 100,
};
/** The age of an end is since it was seen, whenever it happened. */
const COMPARED = METRIC_NAMES.filter((name) => name !== 'celery.task.last_end.age');
const CHOICE = { metrics: new Set(COMPARED), optIns: new Set(OPT_INS) };
const COPIES = 3;
const TASKS_MIN = 2_000;
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/**
 * An event with a delay of some ms in the recording may arrive more than a window late, and a worker's last event then
 * counts as some ms later. With these seeds it is no worker's last one.
 */
const DELAY_MS_MAX = 1_000;
/** Between two copies: a worker of the earlier one times out while the later one runs. */
const PAUSE_MS = 5_000;
/** After the last event, when workers are still up. */
const AT_REST_MS = 5_000;
/** Until all of them have timed out. */
const GIVEN_UP_MS = AT_REST_MS + SETTINGS.workerTimeoutMs;
/** Floating-point addition depends on its order. */
const SUM_TOLERANCE = 1e-9;
/** The most series in a message about differences. */
const SHOWN_MAX = 20;

/** One event per message. */
interface Arrival {
  readonly atMs: number;
  readonly message: RawMessage;
}

function readRecording(): readonly RawMessage[] {
  const [header = '', ...lines] = readFileSync(RECORDING, 'utf8').trimEnd().split('\n');
  assert.ok(decodeHeader(Buffer.from(header)).ok);
  return lines.map((line) => {
    const read = decodeMessage(Buffer.from(line));
    assert.ok(read.ok, line);
    return read.message;
  });
}

function eventsOf({ body }: RawMessage): readonly RawFields[] {
  const parsed: unknown = JSON.parse(String(body));
  const list: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  return list.filter(isJsonObject);
}

/** The same event of another task on another host, later by this much. */
function copied(event: RawFields, copy: number, laterMs: number): RawFields {
  const { uuid, hostname, timestamp, eta, expires } = event;
  return {
    ...event,
    ...(uuid === undefined ? {} : { uuid: `${uuid}-${copy}` }),
    hostname: `${hostname}-${copy}`,
    timestamp: Number(timestamp) + laterMs / 1000,
    ...(typeof eta === 'string' ? { eta: laterIso(eta, laterMs) } : {}),
    ...(typeof expires === 'string' ? { expires: laterIso(expires, laterMs) } : {}),
  };
}

function laterIso(iso: string, laterMs: number): string {
  return new Date(Date.parse(iso) + laterMs).toISOString();
}

function threeTimes(): readonly Arrival[] {
  const messages = readRecording();
  const firstMs = messages[0]?.arrivedAtMs ?? 0;
  const lengthMs = (messages.at(-1)?.arrivedAtMs ?? 0) - firstMs;
  return Array.from({ length: COPIES }, (_, copy) => {
    const laterMs = copy * (lengthMs + PAUSE_MS);
    return messages.flatMap((message) =>
      eventsOf(message).map((event) => {
        const atMs = message.arrivedAtMs + laterMs;
        const body = Buffer.from(JSON.stringify(copied(event, copy, laterMs)));
        return { atMs, message: { ...message, arrivedAtMs: atMs, body } };
      }),
    );
  }).flat();
}

/** Each event arrives up to a second later than in the recording. */
function shuffled(arrivals: readonly Arrival[], seed: number): readonly Arrival[] {
  const random = seeded(seed);
  return arrivals
    .map(({ atMs, message }) => {
      const laterMs = atMs + random() * DELAY_MS_MAX;
      return { atMs: laterMs, message: { ...message, arrivedAtMs: laterMs } };
    })
    .sort((one, other) => one.atMs - other.atMs);
}

/** Series → its exported value, sums of histograms separately. */
interface Exported {
  readonly values: Readonly<Record<string, unknown>>;
  readonly sums: Readonly<Record<string, number>>;
}

/**
 * Delivers everything and collects at each of these times, like an export; returns the last two collections.
 */
async function exported(
  arrivals: readonly Arrival[],
  collectAtMs: readonly number[],
): Promise<readonly Exported[]> {
  let nowMs = arrivals[0]?.atMs ?? 0;
  const provider = createProvider({
    name: 'test',
    resource: emptyResource(),
    settings: otlpSettings('').streams,
    combination: combinationOf,
    onFailure: (reason) => assert.fail(String(reason)),
    nowMs: () => nowMs,
  });
  const cluster = createCluster(SETTINGS, (observation) => recorder.record(observation));
  const recorder: Recorder = createRecorder(
    provider.getMeter('test', '1'),
    () => collectAt(cluster, nowMs),
    CHOICE,
  );

  const collected: Exported[] = [];
  let next = 0;
  for (const untilMs of collectAtMs) {
    for (let arrival = arrivals[next]; arrival !== undefined; arrival = arrivals[next]) {
      if (arrival.atMs > untilMs) break;
      nowMs = arrival.atMs;
      const { events, rejections } = decode(arrival.message);
      assert.deepEqual(rejections, []);
      for (const event of events) cluster.apply(event, nowMs, nowMs);
      next += 1;
    }
    nowMs = untilMs;
    collected.push(flat(await metricsOf(provider)));
  }
  assert.equal(next, arrivals.length);
  return collected.slice(-2);
}

/** Everything to export, taken as exported. */
async function metricsOf(provider: Provider): Promise<readonly MetricData[]> {
  const requests = await provider.collect();
  return requests.flatMap((request) => {
    const { scopeMetrics } = request.data();
    request.acknowledge();
    return scopeMetrics.flatMap(({ metrics }) => metrics);
  });
}

function flat(metrics: readonly MetricData[]): Exported {
  const values: [string, unknown][] = [];
  const sums: [string, number][] = [];
  for (const metric of metrics) {
    const seriesOf = (attributes: object): string =>
      `${metric.descriptor.name} ${JSON.stringify(Object.entries(attributes).sort())}`;
    if (metric.dataPointType === DataPointType.HISTOGRAM) {
      for (const { attributes, value } of metric.dataPoints) {
        const { sum = 0, ...others } = value;
        values.push([seriesOf(attributes), others]);
        sums.push([seriesOf(attributes), sum]);
      }
    } else {
      for (const { attributes, value } of metric.dataPoints) values.push([seriesOf(attributes), value]);
    }
  }
  return { values: Object.fromEntries(values.sort()), sums: Object.fromEntries(sums) };
}

function assertSame(exports: readonly Exported[], expected: readonly Exported[]): void {
  assert.equal(exports.length, expected.length);
  for (const [index, { values, sums }] of exports.entries()) {
    const others = expected[index]?.values ?? {};
    // Only the differences: a diff of two objects with a thousand entries takes a minute.
    const differing = Object.keys({ ...others, ...values })
      .filter((series) => !isDeepStrictEqual(values[series], others[series]))
      .slice(0, SHOWN_MAX);
    const shown = (all: Exported['values']) => differing.map((series) => [series, all[series]]);
    assert.deepEqual(shown(values), shown(others));
    for (const [series, sum] of Object.entries(sums)) {
      const other = expected[index]?.sums[series] ?? Number.NaN;
      assert.ok(Math.abs(sum - other) <= Math.abs(other) * SUM_TOLERANCE, `${series}: ${sum}, not ${other}`);
    }
  }
}

function totalOf({ values }: Exported | undefined = { values: {}, sums: {} }, metric: string): number {
  return Object.entries(values)
    .filter(([series]) => series.startsWith(`${metric} `))
    .reduce((sum, [, value]) => sum + Number(value), 0);
}

const ARRIVALS = threeTimes();
const LAST_MS = ARRIVALS.at(-1)?.atMs ?? 0;
const IN_THE_END = [LAST_MS + AT_REST_MS, LAST_MS + GIVEN_UP_MS];
/** Exports meanwhile settle runs without an end. */
const EVERY_10_S = Array.from(
  { length: Math.floor((LAST_MS - (ARRIVALS[0]?.atMs ?? 0)) / 10_000) },
  (_, index) => (ARRIVALS[0]?.atMs ?? 0) + (index + 1) * 10_000,
);

for (const [when, moments] of [
  ['once it is over', IN_THE_END],
  ['all the time', [...EVERY_10_S, ...IN_THE_END]],
] as const) {
  test(`over 2,000 tasks, collected ${when}: delays of up to a second change no exported value`, async (t) => {
    const straight = await exported(ARRIVALS, moments);
    assert.ok(totalOf(straight[0], 'celery.task.received') > TASKS_MIN);
    assert.equal(totalOf(straight[0], 'celery.worker.up'), 3, 'some are up');
    assert.equal(totalOf(straight[1], 'celery.worker.up'), 0);
    for (const seed of SEEDS) {
      await t.test(`seed ${seed}`, async () => {
        assertSame(await exported(shuffled(ARRIVALS, seed), moments), straight);
      });
    }
  });
}
