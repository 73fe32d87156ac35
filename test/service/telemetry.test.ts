/**
 * What is reported of the recorded clusters, from their messages to spans and log records: trees without gaps, as many spans as
 * there are counted ends, and the same from two bridges.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Attributes } from '@opentelemetry/api';
import { decodeMessage, type WholeMessage } from '../../src/broker/recording/format.ts';
import { decode } from '../../src/celery/decode.ts';
import { createCluster } from '../../src/cluster/cluster.ts';
import type { Observation } from '../../src/cluster/observation.ts';
import { UNKNOWN_AFTER_MS } from '../../src/cluster/window/lateness.ts';
import type { ExemplarFilter } from '../../src/config/config.ts';
import type { LogRecord } from '../../src/logger/log-record.ts';
import type { ExemplarContext } from '../../src/meter/bindable.ts';
import { METRIC_NAMES } from '../../src/meter/catalog.ts';
import { createRecorder } from '../../src/meter/recorder.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import {
  createTelemetry,
  EVERYTHING,
  type Reports,
  SHOWN,
  type TelemetryOptions,
} from '../../src/service/telemetry.ts';
import type { FinishedRun } from '../../src/tracer/ancestry/finished.ts';
import { finishedRuns } from '../../src/tracer/ancestry/finished-runs.ts';
import type { Span } from '../../src/tracer/span.ts';
import { collectAt } from '../cluster/collection.ts';
import { seeded } from '../e2e/seeded.ts';
import { collectingMeter } from '../meter/collecting.ts';
import { RECORDED_CLUSTERS } from '../recordings/recorded-clusters.ts';
import { SEED } from '../seed.ts';

const SETTINGS = {
  ...{ tasksMax: 1000, workersMax: 100, workerTimeoutMs: 30_000, lostTimeoutMs: 30_000 },
  ...{ seriesRetentionMs: 600_000, windowMs: 1000, heldMax: 10_000, skewPairsMax: 10 },
};
const BROKER = {
  urls: [{ scheme: 'recording', file: 'shop.ndjson', speed: 1, label: 'recording:shop.ndjson' }],
} as const;
const LOGS = {
  ...SHOWN,
  workers: true,
  minimumSeverity: 1,
  traceBased: false,
  attributeValueLengthMax: undefined,
};
/** The demo’s recording, with retries on several workers. */
const SHOP = 'shop';
const ROOT = '';
const ROUNDS = 5;

interface Reported {
  readonly observed: readonly Observation[];
  readonly spans: readonly Span[];
  readonly records: readonly LogRecord[];
  readonly reported: readonly SelfEvent[];
}

function messagesOf(name: string): readonly WholeMessage[] {
  const path = fileURLToPath(
    new URL(
      `${name}.ndjson`,
      new URL(name === SHOP ? '../../examples/demo/' : '../recordings/', import.meta.url),
    ),
  );
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n').slice(1);
  return lines.map((line) => {
    const read = decodeMessage(Buffer.from(line));
    assert.ok(read.ok);
    return read.message;
  });
}

const LATE_MAX_MS = 900;

/** The same messages, each late by any time; those of one sender stay in their order, as those of one connection do. */
function disturbed(messages: readonly WholeMessage[], random: () => number): readonly WholeMessage[] {
  const last = new Map<string, number>();
  return messages
    .map((message) => {
      const [sender = ''] = /"hostname": ?"[^"]*"/u.exec(message.body.toString()) ?? [];
      const arrivedAtMs = Math.max(last.get(sender) ?? 0, message.arrivedAtMs + random() * LATE_MAX_MS);
      last.set(sender, arrivedAtMs);
      return { ...message, arrivedAtMs };
    })
    .sort((one, other) => one.arrivedAtMs - other.arrivedAtMs);
}

function reportRuns(
  messages: readonly WholeMessage[],
  wanted: 'all' | 'none' = 'all',
  {
    exemplarFilter,
    exemplify,
    record,
    remember,
  }: Partial<ReturnType<typeof exemplifying> & Pick<TelemetryOptions, 'remember'>> = {},
): Reported {
  const spans: Span[] = [];
  const records: LogRecord[] = [];
  const reported: SelfEvent[] = [];
  const observed: Observation[] = [];
  const all: Reports = {
    spans: { settings: EVERYTHING, exceptions: SHOWN, add: (span) => spans.push(span) },
    records: { settings: LOGS, add: (record) => records.push(record) },
  };
  const reports: Reports = wanted === 'all' ? all : { spans: undefined, records: undefined };
  const telemetry = createTelemetry(
    {
      ...{ service: 'shop', broker: BROKER, ...reports, exemplarFilter, remember },
      report: (it) => reported.push(it),
    },
    exemplify,
  );
  let nowMs = 0;
  const cluster = createCluster(
    SETTINGS,
    (observation) => {
      observed.push(observation);
      record?.(observation);
      telemetry?.observe(observation, nowMs);
    },
    telemetry && finishedRuns(telemetry.listener),
  );
  for (const message of messages) {
    nowMs = message.arrivedAtMs;
    for (const event of decode(message, 0, undefined, telemetry?.wants).events)
      cluster.apply(event, nowMs, nowMs);
  }
  const lastMs = nowMs;
  for (const afterMs of [
    2000,
    SETTINGS.workerTimeoutMs + 1,
    SETTINGS.workerTimeoutMs + 60_000,
    UNKNOWN_AFTER_MS.uncertain + 90_000,
  ]) {
    nowMs = lastMs + afterMs;
    collectAt(cluster, nowMs);
  }
  telemetry?.end(nowMs);
  return { observed, spans, records, reported };
}

function idsOf(spans: readonly Span[]): readonly string[] {
  return spans
    .map(({ traceId, spanId, parentSpanId, name }) => `${traceId} ${spanId} ${parentSpanId} ${name}`)
    .sort();
}

function treeFlaws(spans: readonly Span[], isLossy: boolean): readonly string[] {
  return [...Map.groupBy(spans, ({ traceId }) => traceId)].flatMap(([traceId, trace]) => {
    const ids = new Set(trace.map(({ spanId }) => spanId));
    const roots = trace.filter(({ parentSpanId }) => parentSpanId === ROOT);
    const orphans = trace.filter(({ parentSpanId }) => parentSpanId !== ROOT && !ids.has(parentSpanId));
    return [
      ...(ids.size === trace.length ? [] : [`an id twice in ${traceId}`]),
      ...(isLossy || roots.length === 1
        ? []
        : [`${roots.length} roots in ${traceId}: ${trace.map(({ name }) => name).join()}`]),
      ...(isLossy ? [] : orphans.map(({ name }) => `the parent of ${name} is missing in ${traceId}`)),
    ];
  });
}

/** A recorder whose meter notes what is recorded of which series, and which exemplars are offered to it. */
function exemplifying(t: TestContext, exemplarFilter: ExemplarFilter) {
  const { meter } = collectingMeter(t);
  const recorded: string[] = [];
  const offered: { readonly text: string; readonly context: ExemplarContext }[] = [];
  const create = (name: string) => {
    const textOf = (value: number, attributes: Attributes) =>
      `${name} ${JSON.stringify(attributes)} ${value}`;
    const noting = (attributes: Attributes) => (value: number) => recorded.push(textOf(value, attributes));
    return {
      add: (value: number, attributes: Attributes) => recorded.push(textOf(value, attributes)),
      record: () => {},
      bind: (attributes: Attributes) => ({ add: noting(attributes), record: noting(attributes) }),
      bindExemplars: (attributes: Attributes) => (value: number, context: ExemplarContext) =>
        offered.push({ text: textOf(value, attributes), context }),
    };
  };
  t.mock.method(meter, 'createCounter', create);
  t.mock.method(meter, 'createHistogram', create);
  const view = () => ({ workers: [], queues: [], ends: [] });
  const recorder = createRecorder(meter, view, { metrics: new Set(METRIC_NAMES), optIns: new Set() });
  /** Offered before they were recorded. */
  const early: string[] = [];
  function exemplify(run: FinishedRun, context: ExemplarContext): void {
    const before = offered.length;
    recorder.exemplify(run, context);
    const texts = offered.slice(before).map(({ text }) => text);
    early.push(...texts.filter((text) => !recorded.includes(text)));
  }
  return { exemplarFilter, exemplify, early, offered, recorded, record: recorder.record };
}

/** What has exemplars. */
const EXEMPLIFIED = /^celery\.task\.(runtime|wait_time|queue_time|prefetch_time|failed|retried|lost) /u;

const value = ({ attributes, shared }: Span, key: string) => attributes[key] ?? shared[key];
const tally = (names: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...Map.groupBy(names, (name) => name)].map(([name, same]) => [name, same.length] as const).sort(),
  );

/** The outcome in the words of spans; undefined for what is no end. */
function outcomeOf(it: Observation): string | undefined {
  switch (it.kind) {
    case 'task-succeeded':
    case 'task-failed':
    case 'task-retried':
    case 'task-cancelled':
    case 'task-lost':
      return it.kind.slice('task-'.length);
    case 'task-rejected':
      return it.requeue ? 'requeued' : 'rejected';
    case 'task-revoked':
      return it.revocation;
    default:
      return undefined;
  }
}

for (const [name, { lossy = false }] of Object.entries(RECORDED_CLUSTERS)) {
  test(`${name}: there is a span for each end that is counted, by task and outcome`, () => {
    const { observed, spans } = reportRuns(messagesOf(name));
    const ends = observed.flatMap((it) => {
      const outcome = outcomeOf(it);
      return outcome !== undefined && 'run' in it ? [`${it.run.task} ${it.run.queue} ${outcome}`] : [];
    });
    const processed = spans.filter(
      (span) =>
        span.kind === 'consumer' &&
        !['unknown', 'redelivered', 'replaced'].includes(String(value(span, 'celery.task.outcome'))),
    );
    const reported = processed.map((span) =>
      ['celery.task.name', 'celery.queue.name', 'celery.task.outcome']
        .map((key) => value(span, key))
        .join(' '),
    );
    assert.deepEqual(tally(reported), tally(ends));
  });

  test(`${name}: each measurement has an exemplar of its series and value, with the ids of a span`, (t) => {
    const health = exemplifying(t, 'trace_based');
    const { spans } = reportRuns(messagesOf(name), 'all', health);
    const ids = new Set(spans.map(({ traceId, spanId }) => `${traceId} ${spanId}`));
    for (const { context } of health.offered) {
      assert.ok(ids.has(`${context.traceId} ${context.spanId}`));
      assert.deepEqual(context.attributes, {});
    }
    assert.deepEqual(health.early, []);
    const measured = health.recorded.filter((text) => EXEMPLIFIED.test(text));
    const reported = health.offered.map(({ text }) => text);
    // Of what is lost, the beginning or the end is missing.
    if (lossy) assert.ok(reported.length > measured.length / 2);
    else assert.deepEqual(tally(reported), tally(measured));
  });

  test(`${name}: a record of each failure and retry, with the ids of its span`, () => {
    const { spans, records } = reportRuns(messagesOf(name));
    const ids = new Map(spans.map((span) => [span.spanId, span]));
    const ofRuns = records.filter(({ eventName }) => /exception|retried/u.test(eventName));
    const failed = spans.filter((span) =>
      ['failed', 'retried', 'rejected'].includes(String(value(span, 'celery.task.outcome'))),
    );
    assert.ok(failed.length > 0 === ofRuns.length > 0);
    for (const { spanId, traceId, attributes } of ofRuns) {
      const span = ids.get(spanId);
      assert.equal(span?.traceId, traceId);
      assert.equal(span && value(span, 'error.type'), attributes['error.type']);
    }
  });
}

for (const [name, { lossy = false }] of Object.entries({ ...RECORDED_CLUSTERS, [SHOP]: { lossy: false } })) {
  test(`${name}: each trace has one root and no gap, and is the same if senders are late, each by another time`, () => {
    const messages = messagesOf(name);
    const { spans: all } = reportRuns(messages);
    assert.ok(all.length > 0);
    const ids = idsOf(all);
    const random = seeded(SEED);
    for (let round = 0; round < ROUNDS; round += 1) {
      const { spans, reported } = reportRuns(disturbed(messages, random));
      assert.deepEqual(
        reported.filter(({ kind }) => kind === 'defect'),
        [],
      );
      // Where Celery lost the receipt of a parent, nothing tells in which trace it ran.
      assert.deepEqual(treeFlaws(spans, lossy), [], `seed ${SEED}, round ${round}`);
      assert.deepEqual(idsOf(spans), ids, `seed ${SEED}, round ${round}`);
    }
  });
}

test('without a span, a run has exemplars only if all have some, and they name the task', (t) => {
  const messages = messagesOf('newest-prefork');
  const [always, ifTraced] = [exemplifying(t, 'always_on'), exemplifying(t, 'trace_based')];
  reportRuns(messages, 'none', ifTraced);
  assert.equal(ifTraced.offered.length, 0);
  reportRuns(messages, 'none', always);
  assert.ok(always.offered.length > 100);
  const uuids = new Set(
    reportRuns(messages).spans.map((span) => String(value(span, 'messaging.message.id'))),
  );
  for (const { context } of always.offered) {
    assert.deepEqual([context.traceId, context.spanId], ['', '']);
    assert.ok(uuids.has(String(context.attributes['celery.task.id'])));
  }
});

test('nobody is told of finished runs where nothing is made of them', () => {
  const telemetry = (exemplarFilter: ExemplarFilter) =>
    createTelemetry({ service: 'shop', broker: BROKER, exemplarFilter, report: () => {} }, () => {});
  assert.equal(telemetry('trace_based'), undefined);
  assert.equal(telemetry('always_off'), undefined);
  const wants = { lineage: false, errors: false, arguments: false, traced: false };
  assert.deepEqual(telemetry('always_on')?.wants, wants);
});

test('the same runs are remembered with spans and without, with errors, and then without parents and sendings', () => {
  const messages = messagesOf('newest-prefork');
  const remembered = (wanted: 'all' | 'none') => {
    const runs: FinishedRun[] = [];
    const { observed, reported } = reportRuns(messages, wanted, {
      remember: { add: (run) => runs.push(run), correct: () => assert.fail() },
    });
    assert.deepEqual(reported, []);
    return { runs, observed };
  };
  const [alone, beside] = [remembered('none'), remembered('all')];
  assert.deepEqual(alone.observed, beside.observed);
  const briefly = ({ uuid, outcome, retries, errorType, run, endedMs, waitTimeS }: FinishedRun) =>
    [uuid, outcome, retries, errorType, run.task, run.worker, endedMs, waitTimeS].join(' ');
  assert.deepEqual(alone.runs.map(briefly), beside.runs.map(briefly));
  assert.ok(alone.runs.some(({ error }) => error !== undefined && error.stacktrace !== ''));
  assert.ok(alone.runs.every(({ parentId, sent, args, result }) => parentId + args + result === '' && !sent));
  assert.ok(beside.runs.some(({ parentId }) => parentId !== ''));
});

test('a bridge that was restarted in between makes the same ids, and counts runs whose trace it cannot know', () => {
  const messages = messagesOf('newest-prefork');
  const whole = new Set(reportRuns(messages).spans.map(({ traceId, spanId }) => `${traceId} ${spanId}`));
  const half = Math.floor(messages.length / 2);
  const parts = [messages.slice(0, half), messages.slice(half)].map((part) => reportRuns(part));
  const spans = parts.flatMap((part) => part.spans);
  assert.ok(spans.length > whole.size / 2);
  const others = spans.filter(({ traceId, spanId }) => !whole.has(`${traceId} ${spanId}`));
  assert.deepEqual(
    others.map(({ name }) => name),
    [],
  );
  const ends = parts.flatMap(({ observed }) => observed).filter((it) => outcomeOf(it) !== undefined);
  const nameless = ends.filter((it) => 'run' in it && it.run.task === 'unknown').length;
  const [dropped, ...more] = parts.flatMap(({ reported }) => reported);
  assert.ok(dropped?.kind === 'items-dropped' && more.length === 0);
  assert.equal(dropped.reason, 'unknown_root');
  // Others have no end that is counted.
  assert.ok(nameless > 0 && dropped.count >= nameless, `${dropped.count} of ${nameless}`);
});
