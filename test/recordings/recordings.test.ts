/**
 * Compares the observations of recorded clusters with Celery's own reports from the recording, and
 * with what Celery's own `State` derives from the same recording.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { decodeHeader, decodeMessage } from '../../src/broker/recording/format.ts';
import { decode } from '../../src/celery/decode.ts';
import { type Cluster, createCluster } from '../../src/cluster/cluster.ts';
import type { ClusterView, Observation } from '../../src/cluster/observation.ts';
import { UNKNOWN_AFTER_MS } from '../../src/cluster/window/lateness.ts';
import type { Finished, FinishedRun, LoneSending, RunPlace } from '../../src/tracer/ancestry/finished.ts';
import { finishedRuns } from '../../src/tracer/ancestry/finished-runs.ts';
import { EVERYTHING } from '../celery/wire.ts';
import { collectAt } from '../cluster/collection.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { newestCelery } from '../real/install.ts';
import { RECORDED_CLUSTERS, type RecordedCluster, workersOf } from './recorded-clusters.ts';

type Counts = Readonly<Record<string, number>>;

/** One task name: how often each event happened. */
interface Counters {
  readonly sent: number;
  readonly received: number;
  readonly started: number;
  readonly succeeded: number;
  readonly lost: number;
  /** Class of the exception → how often. */
  readonly failed: Counts;
  readonly retried: Counts;
  /** `dropped` or `requeued` → how often. */
  readonly rejected: Counts;
  /** `revoked`, `terminated` or `expired` → how often. */
  readonly revoked: Counts;
}

/** The document that `drive.py` printed. */
interface Expected {
  readonly celery: string;
  readonly expected: Readonly<Record<string, Counters>>;
  /** Task name → the queue to which Celery routes it. */
  readonly queues: Readonly<Record<string, string>>;
  readonly reported: { readonly workers: Readonly<Record<string, Counts>> };
}

/** What `second_opinion.py` prints. */
interface SecondOpinion {
  /** Task name → state → how many tasks. */
  readonly tasks: Readonly<Record<string, Counts>>;
  readonly workers: readonly string[];
}

const SETTINGS = {
  tasksMax: 1_000,
  workersMax: 100,
  workerTimeoutMs: 30_000,
  lostTimeoutMs: 30_000,
  seriesRetentionMs: 600_000,
  windowMs: 1_000,
  heldMax: 10_000,
  skewPairsMax: 10,
};
/** Other messages in the recordings: custom events of tasks, and the empty batches of Celery 5.2. */
const PASSED_OVER: ReadonlySet<string> = new Set(['unknown-type', 'empty-batch']);

/** Then what was doubted is told as unknown. */
const AFTER_MS = SETTINGS.workerTimeoutMs + 60_000;

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

function readExpected(name: string): Expected {
  return JSON.parse(readFileSync(pathOf(`${name}.expected.json`), 'utf8'));
}

/** A cluster after a recording, and its observations until all its workers must be gone. */
interface Replayed {
  readonly cluster: Cluster;
  readonly observed: readonly Observation[];
  readonly finished: readonly FinishedRun[];
  readonly sendings: readonly LoneSending[];
  /** The state some time after the last event, before any worker timed out. */
  readonly atRest: ClusterView;
  /** When all its workers must be gone. */
  readonly inTheEnd: ClusterView;
}

/** @param listens whether finished runs are told too */
function replay(name: string, listens = true): Replayed {
  const [header = '', ...lines] = readFileSync(pathOf(`${name}.ndjson`), 'utf8')
    .trimEnd()
    .split('\n');
  assert.ok(decodeHeader(Buffer.from(header)).ok);
  const observed: Observation[] = [];
  const reported: Finished[] = [];
  const cluster = createCluster(
    SETTINGS,
    (observation) => observed.push(observation),
    listens
      ? finishedRuns({
          service: 'shop',
          onFinished: (each) => reported.push(each),
          beginsTrace: () => false,
          delayMaxMs: 600_000,
        })
      : undefined,
  );
  let lastMs = 0;
  for (const line of lines) {
    const read = decodeMessage(Buffer.from(line));
    assert.ok(read.ok, line);
    lastMs = read.message.arrivedAtMs;
    const { events, rejections } = decode(read.message, 0, undefined, listens ? EVERYTHING : undefined);
    for (const { reason } of rejections) assert.ok(PASSED_OVER.has(reason), `${reason}: ${line}`);
    for (const event of events) cluster.apply(event, lastMs, lastMs);
  }
  const atRest = collectAt(cluster, lastMs + 2 * SETTINGS.windowMs);
  const inTheEnd = collectAt(cluster, lastMs + SETTINGS.workerTimeoutMs + 1);
  collectAt(cluster, lastMs + AFTER_MS);
  collectAt(cluster, lastMs + AFTER_MS + UNKNOWN_AFTER_MS.uncertain);
  const finished = reported.filter((each) => each.kind === 'run');
  return {
    cluster,
    observed,
    finished,
    sendings: reported.filter((each) => each.kind === 'sending'),
    atRest,
    inTheEnd,
  };
}

/** A task observation with its name and queue. */
type TaskObservation = Extract<Observation, { kind: `task-${string}` }> & { task: string; queue: string };

function ofTasks({ observed }: Replayed): readonly TaskObservation[] {
  return observed.flatMap((it): readonly TaskObservation[] => {
    return 'run' in it && it.kind !== 'loss-refuted' ? [{ ...it, ...it.run }] : [];
  });
}

/** An observation as a line, in the format of `expectedTally`. */
function counted(it: TaskObservation): string {
  switch (it.kind) {
    case 'task-sent':
    case 'task-received':
    case 'task-started':
    case 'task-succeeded':
    case 'task-lost':
      return `${it.task} ${it.kind.slice('task-'.length)}`;
    case 'task-failed':
    case 'task-retried':
      return `${it.task} ${it.kind.slice('task-'.length)} ${it.errorType}`;
    case 'task-rejected':
      return `${it.task} rejected ${it.requeue ? 'requeued' : 'dropped'}`;
    case 'task-revoked':
      return `${it.task} revoked ${it.revocation}`;
    case 'task-cancelled':
      return `${it.task} cancelled`;
  }
}

/** The same line of a run that has ended. */
function countedEnd({ run, outcome, errorType }: FinishedRun): string {
  switch (outcome) {
    case 'failed':
    case 'retried':
      return `${run.task} ${outcome} ${errorType}`;
    case 'rejected':
    case 'requeued':
      return `${run.task} rejected ${outcome === 'requeued' ? 'requeued' : 'dropped'}`;
    case 'revoked':
    case 'terminated':
    case 'expired':
      return `${run.task} revoked ${outcome}`;
    default:
      return `${run.task} ${outcome}`;
  }
}

/** Line → count; without zeros. */
function tally(lines: Iterable<string>): Counts {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return sorted(counts);
}

function sorted(counts: Iterable<readonly [string, number]>): Counts {
  return Object.fromEntries([...counts].filter(([, times]) => times > 0).sort());
}

/** The expected counts from Celery's report. */
function expectedTally(expected: Expected): Counts {
  return sorted(
    Object.entries(expected.expected).flatMap(([task, counters]) =>
      Object.entries(counters).flatMap(([counter, value]: [string, number | Counts]) =>
        typeof value === 'number'
          ? [[`${task} ${counter}`, value] as const]
          : Object.entries(value).map(([why, times]) => [`${task} ${counter} ${why}`, times] as const),
      ),
    ),
  );
}

/** The outcome in `State`; undefined if it has none. */
function stateOf(it: TaskObservation, { celery }: RecordedCluster): string | undefined {
  switch (it.kind) {
    case 'task-succeeded':
      return `${it.task} SUCCESS`;
    case 'task-failed':
      return `${it.task} FAILURE`;
    case 'task-revoked':
      return `${it.task} REVOKED`;
    case 'task-rejected':
      // Newer Celery reports a rejection as a failure first; `State` shows none after a start.
      return celery === 'newest' && !it.requeue ? `${it.task} FAILURE` : undefined;
    default:
      return undefined;
  }
}

/** In CI it is installed, so these tests run there at least. */
const newest = newestCelery();

function countedLines(name: string): Counts {
  return tally(ofTasks(replay(name)).map(counted));
}

/** Recordings with every event that Celery sent. */
function compareExactly(name: string, row: RecordedCluster): void {
  test(`${name}: every task is counted as often as Celery reported it`, () => {
    assert.deepEqual(countedLines(name), expectedTally(readExpected(name)));
  });

  test(`${name}: every task is counted under the queue to which Celery routes it`, () => {
    const { queues } = readExpected(name);
    const isKnown = row.sentEvents !== false;
    for (const it of ofTasks(replay(name)))
      assert.equal(it.queue, isKnown ? queues[it.task] : 'unknown', counted(it));
  });

  test(`${name}: each run has all times that can be known`, () => {
    for (const it of ofTasks(replay(name))) {
      if (it.kind === 'task-started') assert.ok((it.prefetchTimeS ?? -1) >= 0, counted(it));
      if (it.kind === 'task-failed') assert.ok((it.runtimeS ?? -1) >= 0, counted(it));
    }
  });

  test(`${name}: no event is lost and no clock is wrong`, () => {
    for (const it of replay(name).observed) {
      if (it.kind === 'worker-progressed') assert.equal(it.eventsLost, 0, JSON.stringify(it));
      assert.notEqual(it.kind, 'clock-skewed');
    }
  });

  test(`${name}: at the end no worker is up, and nothing waits or runs`, () => {
    const { cluster, inTheEnd } = replay(name);
    assert.deepEqual(
      inTheEnd.workers.map(({ worker, up }) => [worker, up]).sort(),
      Object.keys(workersOf(row)).map((worker) => [worker, false]),
    );
    for (const { prefetched, scheduled, active } of inTheEnd.workers)
      assert.deepEqual({ prefetched, scheduled, active }, { prefetched: 0, scheduled: 0, active: 0 });
    for (const { queue, waitingAgeS, runningAgeS } of inTheEnd.queues)
      assert.deepEqual({ queue, waitingAgeS, runningAgeS }, { queue, waitingAgeS: 0, runningAgeS: 0 });
    assert.ok(Object.values(cluster.tables()).every(({ evicted }) => evicted === 0));
  });
}

/** Recordings in which Celery lost events: nothing is made up. */
function compareWithLosses(name: string): void {
  test(`${name}: nothing is counted more often than Celery reported it`, () => {
    const expected = expectedTally(readExpected(name));
    for (const [line, times] of Object.entries(countedLines(name)))
      assert.ok(times <= (expected[line] ?? 0), `${line}: ${times} instead of ${expected[line]}`);
  });
}

test('the table lists exactly the recordings that exist', () => {
  const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.ndjson'));
  assert.deepEqual(
    files.sort(),
    Object.keys(RECORDED_CLUSTERS)
      .map((name) => `${name}.ndjson`)
      .sort(),
  );
});

test('no number that a real Celery sent is implausible', () => {
  const demo = fileURLToPath(new URL('../../examples/demo/shop.ndjson', import.meta.url));
  for (const file of [demo, ...Object.keys(RECORDED_CLUSTERS).map((name) => pathOf(`${name}.ndjson`))]) {
    const [, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
    for (const line of lines) {
      const message = decodeMessage(Buffer.from(line));
      assert.ok(message.ok);
      assert.deepEqual(decode(message.message).implausible, [], line);
    }
  }
});

for (const [name, row] of Object.entries(RECORDED_CLUSTERS)) {
  test(`${name}: as many runs finished with each outcome as were counted`, () => {
    const replayed = replay(name);
    const isEnd = ({ kind }: TaskObservation): boolean => !/^task-(?:sent|received|started)$/u.test(kind);
    const ends = ofTasks(replayed).filter(isEnd).map(counted);
    assert.ok(ends.length > 0);
    const isCounted = ({ outcome }: FinishedRun): boolean =>
      !['redelivered', 'replaced', 'unknown'].includes(outcome);
    assert.deepEqual(tally(replayed.finished.filter(isCounted).map(countedEnd)), tally(ends));
  });

  test(`${name}: each run that began is told once, at a place of its own, below a parent that is told`, () => {
    const { finished, observed } = replay(name);
    const begun = observed.filter(({ kind }) => kind === 'task-received').length;
    // On Redis an expired task may not be received; where events are lost, some runs seem to wait for ever.
    const unreceived = finished.filter(({ receivedMs }) => receivedMs === undefined);
    assert.ok(row.lossy === true || unreceived.every(({ outcome }) => outcome === 'expired'));
    const isAll = finished.length === begun + unreceived.length;
    assert.ok(isAll || (row.lossy === true && finished.length <= begun + unreceived.length), `${begun}`);
    const places = finished.map(({ uuid, retries, delivery }) => `${uuid} ${retries} ${delivery}`);
    assert.equal(new Set(places).size, places.length);
    const known = new Set(places);
    for (const {
      uuid,
      rootId,
      parentId,
      parentPlace,
      previous,
      receivedMs,
      startedMs,
      endedMs,
      run,
    } of finished) {
      const isHere = (id: string, at: RunPlace) => known.has(`${id} ${at.retries} ${at.delivery}`);
      if (row.lossy !== true) assert.ok(isHere(rootId, { retries: 0, delivery: 0 }), run.task);
      if (row.lossy !== true) assert.ok(parentId === '' || isHere(parentId, parentPlace), run.task);
      assert.ok(previous === undefined || isHere(uuid, previous), run.task);
      assert.ok((receivedMs ?? 0) <= (startedMs ?? endedMs ?? Infinity), run.task);
    }
  });

  test(`${name}: each sending is told once, with the first run under its name`, () => {
    const { finished, sendings, observed } = replay(name);
    const reported = [...finished.filter(({ isSentNew }) => isSentNew), ...sendings];
    const names = reported.map(({ uuid, sent }) => `${uuid} ${sent?.name}`);
    assert.equal(new Set(names).size, names.length);
    const firsts = new Map(
      finished.map((run) => [`${run.uuid} ${run.run.task}`, run.sent] as const).reverse(),
    );
    for (const sent of firsts.values()) assert.equal(sent !== undefined, row.sentEvents !== false);
    assert.ok(names.length <= observed.filter(({ kind }) => kind === 'task-sent').length);
  });

  test(`${name}: nothing is observed otherwise because finished runs are told`, () => {
    assert.deepEqual(replay(name).observed, replay(name, false).observed);
  });

  if (row.lossy === true) compareWithLosses(name);
  else compareExactly(name, row);

  if (!newest.available) continue;
  const { python } = newest;

  test(`${name}: Celery’s own State has the same outcomes and workers`, () => {
    const output = execFileSync(python, [pathOf('second_opinion.py'), pathOf(`${name}.ndjson`)], {
      encoding: 'utf8',
      timeout: DEADLINE_MS,
    });
    const opinion: SecondOpinion = JSON.parse(output);
    const ours = ofTasks(replay(name))
      .map((it) => stateOf(it, row))
      .filter((line) => line !== undefined);
    const theirs = Object.entries(opinion.tasks).flatMap(([task, states]) =>
      ['SUCCESS', 'FAILURE', 'REVOKED'].map((state) => [`${task} ${state}`, states[state] ?? 0] as const),
    );
    assert.deepEqual(tally(ours.filter((line) => line !== undefined)), sorted(theirs));
    assert.deepEqual(opinion.workers, Object.keys(workersOf(row)).sort());
  });
}
