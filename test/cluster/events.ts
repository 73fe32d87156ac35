/** Makes decoded events, and formats observations as lines. */

import type * as celery from '../../src/celery/event.ts';
import { type Cluster, type ClusterSettings, createCluster } from '../../src/cluster/cluster.ts';
import type { Moment } from '../../src/cluster/moment.ts';
import type { ClusterView, Observation } from '../../src/cluster/observation.ts';
import type { Steps } from '../../src/cluster/steps.ts';
import type { FinishedListener } from '../../src/tracer/ancestry/finished.ts';
import { finishedRuns } from '../../src/tracer/ancestry/finished-runs.ts';
import { atOnce } from './at-once.ts';
import { type Collected, collection } from './collection.ts';

export const WORKER = 'w1@shop';
/** When the first event of a sequence happens; each further one happens a second later. */
export const T0_MS = 1_795_260_275_000;

const TASK = {
  uuid: 'u1',
  hostname: WORKER,
  pid: 17,
  clock: 1,
  timestampMs: T0_MS,
  implausibleMs: undefined,
};
const MESSAGE = { name: 'shop.pay', etaMs: undefined, expiresMs: undefined, retries: 0 };

export function sent(over: Partial<celery.TaskSent> = {}): celery.TaskSent {
  const client = { hostname: 'gen4711@shop', queue: 'orders', routingKey: 'orders' };
  return { type: 'task-sent', ...TASK, ...MESSAGE, ...client, ...over };
}
export function received(over: Partial<celery.TaskReceived> = {}): celery.TaskReceived {
  return { type: 'task-received', ...TASK, ...MESSAGE, hasNoParent: false, ...over };
}
export function started(over: Partial<celery.TaskStarted> = {}): celery.TaskStarted {
  return { type: 'task-started', ...TASK, ...over };
}
export function succeeded(over: Partial<celery.TaskSucceeded> = {}): celery.TaskSucceeded {
  return { type: 'task-succeeded', ...TASK, runtimeS: 0.25, ...over };
}
export function failed(errorType: string, over: Partial<celery.TaskFailed> = {}): celery.TaskFailed {
  return { type: 'task-failed', ...TASK, errorType, rejection: false, ...over };
}
export function retried(errorType: string, over: Partial<celery.TaskRetried> = {}): celery.TaskRetried {
  return { type: 'task-retried', ...TASK, errorType, ...over };
}
export function rejected(requeue: boolean, over: Partial<celery.TaskRejected> = {}): celery.TaskRejected {
  return { type: 'task-rejected', ...TASK, requeue, ...over };
}
export function revoked(over: Partial<celery.TaskRevoked> = {}): celery.TaskRevoked {
  return { type: 'task-revoked', ...TASK, terminated: false, expired: false, ...over };
}
export function cancelled(over: Partial<celery.TaskCancelled> = {}): celery.TaskCancelled {
  return { type: 'task-cancelled', ...TASK, ...over };
}
/** As a pool process sends it, which has a pid of its own. */
export function traced(over: Partial<celery.TaskTraced> = {}): celery.TaskTraced {
  return {
    type: 'task-traced',
    ...TASK,
    pid: 18,
    retries: 0,
    traceparent: 'span 1',
    parentSpanId: '',
    ...over,
  };
}
export function signal(
  type: celery.WorkerSignal['type'],
  over: Partial<celery.WorkerSignal> = {},
): celery.WorkerSignal {
  const figures = {
    implausibleMs: undefined,
    active: 0,
    processed: 0,
    loadavg: undefined,
    freqS: undefined,
    softwareVersion: '5.7.0',
    softwareSystem: 'Linux',
  };
  return { type, hostname: WORKER, pid: 17, clock: 1, timestampMs: T0_MS, ...figures, ...over };
}

export const SETTINGS: ClusterSettings = {
  tasksMax: 1_000,
  workersMax: 100,
  workerTimeoutMs: 30_000,
  lostTimeoutMs: 120_000,
  seriesRetentionMs: 600_000,
  windowMs: 500,
  heldMax: 10_000,
  skewPairsMax: 10,
};

/** A cluster and everything that was observed of it so far. */
export interface Watched {
  readonly cluster: Omit<Cluster, 'view' | 'apply'> & {
    /** @param listenedMs by default all the time was listened to */
    apply(event: celery.CeleryEvent, wallMs: number, listenedMs?: number): void;
    collect(wallMs: number, listenedMs?: number): Collected;
    /** In steps, as in production; all the time is listened to. */
    collectInSteps(now: number | (() => number)): Steps<Collected>;
    /** At once; nothing is settled before. */
    view(wallMs: number): ClusterView;
    /** In steps. */
    viewInSteps(wallMs: number): Steps<ClusterView>;
  };
  readonly observed: Observation[];
  /** What was observed since the last call. */
  news(): readonly Observation[];
}

export function watch(over: Partial<ClusterSettings> = {}, listener?: FinishedListener): Watched {
  const observed: Observation[] = [];
  let reported = 0;
  const observe = (observation: Observation) => observed.push(observation);
  const cluster = createCluster({ ...SETTINGS, ...over }, observe, listener && finishedRuns(listener));
  return {
    cluster: {
      ...cluster,
      apply: (event, wallMs, listenedMs = wallMs) => cluster.apply(event, wallMs, listenedMs),
      collect: (wallMs, listenedMs = wallMs) => atOnce(collection(cluster, () => ({ wallMs, listenedMs }))),
      collectInSteps: (now) => collection(cluster, () => momentOf(typeof now === 'number' ? now : now())),
      view: (wallMs) => atOnce(cluster.view(() => momentOf(wallMs))),
      viewInSteps: (wallMs) => cluster.view(() => momentOf(wallMs)),
    },
    observed,
    news() {
      const news = observed.slice(reported);
      reported = observed.length;
      return news;
    },
  };
}

function momentOf(nowMs: number): Moment {
  return { wallMs: nowMs, listenedMs: nowMs };
}

/** Each event a second after the one before it, by a process whose logical clock goes on. */
export function spaced<Event extends celery.CeleryEvent>(events: readonly Event[]): readonly Event[] {
  return events.map((event, index) => ({ ...event, timestampMs: T0_MS + index * 1_000, clock: 1 + index }));
}

/** What a cluster observes of the events in the end, a line each. */
export function observe(events: readonly celery.CeleryEvent[], on: Watched = watch()): readonly string[] {
  for (const event of events) on.cluster.apply(event, event.timestampMs);
  on.cluster.flush();
  return on.news().map(line);
}

/** `failed shop.pay orders w1@shop KeyError 1s`: kind, task, queue, worker and what else there is, but for waits. */
export function line(it: Observation): string {
  switch (it.kind) {
    case 'worker-progressed':
      return `progressed ${it.worker} ${it.processed} lost ${it.eventsLost}`;
    case 'clock-skewed':
      return `skewed ${it.senderHost} ${it.workerHost}`;
    case 'task-sent':
      return `sent ${it.run.task} ${it.run.queue}`;
    case 'worker-appeared':
      return `appeared ${it.worker}`;
    case 'worker-returned':
      return `returned ${it.worker}`;
    case 'worker-exited':
      return `exited ${it.worker} ${it.reason}`;
    case 'worker-cpu-used':
      return `used ${it.worker} ${it.userS} ${it.systemS}`;
    default:
  }
  const { task, queue, worker } = it.run;
  const words: string[] = [it.kind.replace('task-', ''), task, queue, worker];
  if ('errorType' in it) words.push(it.errorType);
  if ('requeue' in it) words.push(it.requeue ? 'requeued' : 'dropped');
  if ('revocation' in it) words.push(it.revocation);
  if ('runtimeS' in it) words.push(it.runtimeS === undefined ? 'unmeasured' : `${it.runtimeS}s`);
  return words.join(' ');
}
