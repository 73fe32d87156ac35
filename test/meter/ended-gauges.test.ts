/** Which gauges are exported once more without a value: those that stop for good, and none that is only not known now. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Attributes } from '@opentelemetry/api';
import type { MetricData } from '@opentelemetry/sdk-metrics';
import type { BrokerReading } from '../../src/broker/broker-reading.ts';
import type { WorkerStats } from '../../src/celery/control-reply.ts';
import { createCluster } from '../../src/cluster/cluster.ts';
import type { ClusterView, WorkerReading } from '../../src/cluster/observation.ts';
import { type InstrumentRow, METRIC_NAMES, METRICS, type MetricName } from '../../src/meter/catalog.ts';
import { endedIn } from '../../src/meter/ended-gauges.ts';
import { createRecorder } from '../../src/meter/recorder.ts';
import { createInstrumentStreams } from '../../src/otlp/collect/instrument-streams.ts';
import { collectAt } from '../cluster/collection.ts';
import { received, SETTINGS, sent, signal, started, succeeded, T0_MS } from '../cluster/events.ts';
import { otlpSettings } from '../otlp/settings.ts';

const WORKER = 'w1@shop';
const INTERVAL_MS = 10_000;
const STATS: WorkerStats = {
  ...{ pid: 17, pool: 'prefork', processes: 4, limit: 8, autoscaler: { min: 2, max: 8 } },
  ...{ prefetchLimit: 16, uptimeS: 90, cpuUserS: 1, cpuSystemS: 2, memoryMaxBytes: 53_084_160 },
  writes: [5, 4],
};
const READING: BrokerReading = {
  queues: [{ queue: 'orders', length: 7, consumers: 2 }],
  ...{ delayed: 5, incomplete: [] },
  unacked: {
    ...{ count: 4, oldestAgeS: 60.5, expiring: 1, visibilityTimeoutS: 75 },
    byQueue: [['orders', 3]],
  },
};
const rowOf = (name: MetricName): InstrumentRow => METRICS[name];
const GAUGES = METRIC_NAMES.filter((name) => rowOf(name).instrument === 'gauge');

/** A worker and a queue of which everything is known, exported to a backend that forgets only what is marked. */
class Story {
  nowMs = T0_MS;
  /** What the last export had a point for. */
  exported: ReadonlySet<string> = new Set();
  /** What the backend shows. */
  readonly shown = new Set<string>();
  readonly cluster = createCluster(SETTINGS, (observation) => this.#recorder.record(observation));
  readonly #streams = createInstrumentStreams({
    settings: otlpSettings('', { streams: { markEnded: true, zeroFirstMs: 0 } }).streams,
    combination: () => 'max in order',
    nowMs: () => this.nowMs,
    steadyMs: () => this.nowMs,
    onFailure: (reason) => assert.fail(String(reason)),
    yieldToLoop: nextTurn,
  });
  readonly #recorder = createRecorder(
    this.#streams.getMeter('test'),
    () => {
      const { forgotten, ...view } = collectAt(this.cluster, this.nowMs);
      this.#streams.retire('celery.worker.name', forgotten);
      return view;
    },
    { metrics: new Set(METRIC_NAMES), optIns: new Set() },
  );

  /** It says all that a worker says. */
  beat(): void {
    const figures = { active: 1, processed: 1, loadavg: [1, 2, 3] as const };
    this.cluster.apply(signal('worker-heartbeat', figures), this.nowMs, this.nowMs);
    const now = { wallMs: this.nowMs, listenedMs: this.nowMs };
    const { answers } = this.cluster;
    answers.workerReported(WORKER, STATS, now);
    answers.consumes(WORKER, ['orders'], now);
    answers.workerDeaf(WORKER, true);
  }

  asked(workers: boolean, broker: BrokerReading | undefined): void {
    this.cluster.answers.workersAsked(workers ? () => 0 : undefined);
    this.cluster.answers.brokerKnows(broker, () => 0, this.nowMs);
  }

  async export(): Promise<void> {
    this.nowMs += INTERVAL_MS;
    const exported = new Set<string>();
    for (const { metrics, ended = [] } of await this.#streams.collect()) {
      for (const metric of metrics) {
        for (const key of keysOf(metric.slice(0, metric.pointCount))) exported.add(key);
        metric.acknowledge(0, metric.pointCount);
      }
      for (const key of exported) this.shown.add(key);
      for (const end of ended) {
        for (const key of keysOf(end.metric)) this.shown.delete(key);
        end.arrived();
      }
    }
    this.exported = exported;
  }

  /** Names of the metrics that the backend shows, of those in the list. */
  names(of: readonly MetricName[]): readonly MetricName[] {
    const names = new Set([...this.shown].map((key) => key.split(' ', 1)[0]));
    return of.filter((name) => names.has(name));
  }
}

function keysOf({ descriptor, dataPoints }: MetricData): readonly string[] {
  return dataPoints.map(({ attributes }) => `${descriptor.name} ${JSON.stringify(attributes)}`);
}

async function everythingShown(): Promise<Story> {
  const story = new Story();
  const running = { uuid: 'u2', clock: 2 } as const;
  for (const event of [
    ...[sent(), received(), started(), succeeded()],
    ...[sent(running), received(running), started(running)],
  ])
    story.cluster.apply(event, T0_MS, T0_MS);
  story.beat();
  story.asked(true, READING);
  await story.export();
  return story;
}

test('of a worker and a queue that end, nothing stays without a mark for two exports', async () => {
  const story = await everythingShown();
  assert.deepEqual(story.names(GAUGES), GAUGES, 'each row is in the story: extend it');
  /** Exports with the worker dead, none of which leaves anything that two of them had no point for. */
  async function goOn(forMs: number): Promise<void> {
    for (const untilMs = story.nowMs + forMs; story.nowMs < untilMs; ) {
      const before = story.exported;
      const isKnown = story.cluster.answers.knownQueues(story.nowMs).includes('orders');
      story.asked(true, isKnown ? READING : { queues: [], incomplete: [] });
      await story.export();
      const left = [...story.shown].filter((key) => !(story.exported.has(key) || before.has(key)));
      assert.deepEqual(left, []);
    }
  }
  await goOn(SETTINGS.workerTimeoutMs + 2 * INTERVAL_MS);
  const stopped = GAUGES.filter((name) => !story.names(GAUGES).includes(name));
  assert.deepEqual(stopped, [
    ...['celery.queue.utilization', 'celery.worker.deaf', 'celery.worker.pool.processes'],
    ...['celery.worker.pool.limit', 'celery.worker.pool.utilization', 'celery.worker.pool.writes'],
    ...['celery.worker.autoscaler.min', 'celery.worker.autoscaler.max', 'celery.worker.prefetch.limit'],
    ...['celery.worker.uptime', 'celery.worker.memory.max'],
  ]);
  await goOn(2 * SETTINGS.seriesRetentionMs);
  assert.deepEqual(story.names(GAUGES), ['celery.task.last_end.age'], 'what the task did last remains true');
  assert.deepEqual(
    [...story.shown].filter((key) => key.includes(WORKER)),
    [],
  );
});

test('what is only missing while nobody can be asked has no mark, and has one if it ended meanwhile', async () => {
  const story = await everythingShown();
  const all = [...story.shown];
  for (let exports = 0; exports < 2; exports += 1) {
    story.asked(false, undefined);
    await story.export();
  }
  assert.deepEqual([...story.shown], all);
  const missing = all.filter((key) => !story.exported.has(key));
  assert.ok(missing.length > 15, missing.join('\n'));
  story.beat();
  story.asked(true, { ...READING, queues: [], incomplete: ['a queue does not answer'] });
  await story.export();
  assert.deepEqual([...story.shown], all);
  story.asked(true, { queues: [], incomplete: [] });
  await story.export();
  const gone = all.filter((key) => !story.shown.has(key)).map((key) => key.split(' ', 1)[0]);
  assert.deepEqual(new Set(gone), new Set(GAUGES.filter((name) => rowOf(name).asked === 'broker')));
});

const UP: WorkerReading = {
  ...{ worker: WORKER, up: true, hasLeft: false, deaf: false, active: 1, prefetched: 0, scheduled: 0 },
  ...{ heartbeatAgeS: 1, load: [1, 2, 3], versions: [] },
  reported: { stats: STATS, ageMs: 0, utilization: 0.5 },
};
const { reported: _, ...UNTOLD } = UP;
const ORDERS = { queue: 'orders', workers: 1, processes: 4, utilization: 0.5 };
const reported = (over: Partial<NonNullable<ClusterView['reported']>>): Partial<ClusterView> => ({
  reported: { consumers: [ORDERS], isWhole: true, ageMs: 0, ...over },
});
const OF_WORKER = { 'celery.worker.name': WORKER };
const OF_QUEUE = { 'celery.queue.name': 'orders' };
const OVERFLOW = { 'otel.metric.overflow': true };
const utilized = (utilization: number | undefined, processes: number | undefined) => ({
  ...UP,
  reported: { stats: { ...STATS, processes }, ageMs: 0, utilization },
});

/** A series that has no value in a view, and whether it has ended. */
const CASES: readonly (readonly [
  title: string,
  name: MetricName,
  attributes: Attributes,
  view: Partial<ClusterView>,
  hasEnded: boolean,
])[] = [
  ['a worker that is not known', 'celery.worker.up', OF_WORKER, {}, true],
  ['a version that gave way to others', 'celery.worker.info', OF_WORKER, { workers: [UP] }, true],
  ['a new process that was not asked yet', 'celery.worker.uptime', OF_WORKER, { workers: [UNTOLD] }, false],
  [
    'another worker was not asked yet',
    'celery.worker.uptime',
    { 'celery.worker.name': 'w2' },
    { workers: [UNTOLD] },
    true,
  ],
  ['a worker without an autoscaler', 'celery.worker.autoscaler.max', OF_WORKER, { workers: [UP] }, true],
  ['a worker that listens again', 'celery.worker.deaf', OF_WORKER, { workers: [UNTOLD] }, true],
  [
    'a new process without a number',
    'celery.worker.tasks.active',
    OF_WORKER,
    { workers: [{ ...UP, active: undefined }] },
    false,
  ],
  [
    'a new process without a load',
    'celery.worker.load',
    OF_WORKER,
    { workers: [{ ...UP, load: undefined }] },
    false,
  ],
  [
    'a pool of no known size',
    'celery.worker.pool.utilization',
    OF_WORKER,
    { workers: [utilized(undefined, undefined)] },
    false,
  ],
  [
    'a pool of size 0',
    'celery.worker.pool.utilization',
    OF_WORKER,
    { workers: [utilized(undefined, 0)] },
    true,
  ],
  ['another pool', 'celery.worker.pool.utilization', OF_WORKER, { workers: [UP] }, true],
  [
    'workers that a view merged, one not asked',
    'celery.worker.uptime',
    {},
    { workers: [UP, { ...UNTOLD, worker: 'w2' }] },
    false,
  ],
  ['an overflow of workers that fit now', 'celery.worker.uptime', OVERFLOW, { workers: [UP] }, true],
  ['an overflow of queues, nobody asked', 'celery.queue.workers', OVERFLOW, {}, false],
  ['an overflow of queues that fit now', 'celery.queue.workers', OVERFLOW, reported({}), true],
  ['a queue that was forgotten', 'celery.queue.workers', OF_QUEUE, reported({ consumers: [] }), true],
  [
    'a queue of a worker that did not say',
    'celery.queue.workers',
    OF_QUEUE,
    reported({ consumers: [], unsure: ['orders'] }),
    false,
  ],
  [
    'another queue than that',
    'celery.queue.workers',
    OF_QUEUE,
    reported({ consumers: [], unsure: ['mails'] }),
    true,
  ],
  [
    'processes of which one is not known',
    'celery.queue.processes',
    OF_QUEUE,
    reported({ consumers: [{ ...ORDERS, processes: undefined, utilization: undefined }] }),
    false,
  ],
  [
    'a part of these',
    'celery.queue.utilization',
    OF_QUEUE,
    reported({ consumers: [{ ...ORDERS, processes: undefined, utilization: undefined }] }),
    false,
  ],
  [
    'a part of none',
    'celery.queue.utilization',
    OF_QUEUE,
    reported({ consumers: [{ ...ORDERS, processes: 0, utilization: undefined }] }),
    true,
  ],
  ['a broker that was not asked', 'celery.queue.length', OF_QUEUE, {}, false],
  ['a queue that nothing runs in', 'celery.task.oldest_age', OF_QUEUE, {}, true],
];

for (const [title, name, attributes, view, hasEnded] of CASES) {
  test(`${title}: ${name} ${hasEnded ? 'has ended' : 'may return'}`, () => {
    const viewed = { workers: [], queues: [], ends: [], ...view };
    assert.equal(endedIn(viewed)(name, attributes), hasEnded);
  });
}
