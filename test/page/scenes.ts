/** What a status page shows in the tests: a shop that is well, and each way in which it is not. */

import type { WorkerStats } from '../../src/celery/control-reply.ts';
import type { ClusterView, WorkerReading } from '../../src/cluster/observation.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { Activity } from '../../src/service/activity/activity.ts';
import type { Scene } from './served-page.ts';

const NOW_MS = 1_790_000_000_000;
const of = { service: 'shop' } as const;
const WINDOW = NOW_MS / 10_000;

const CONNECTED: SelfEvent = {
  ...{ kind: 'broker-connected', ...of, broker: 'amqp://shop:***@rabbit:5672', attempts: 1 },
};
const exported = (outcome: 'success' | 'partial' | 'failure', reason = ''): SelfEvent => ({
  ...{ kind: 'export-finished', ...of, backend: 'http://collector:4317 (grpc)', outcome, durationMs: 5 },
  ...{ points: 1830, rejectedPoints: outcome === 'partial' ? 3 : 0, reason },
});
const EXPORTED = exported('success');
const AWAY: SelfEvent = {
  ...{ kind: 'broker-session-ended', ...of, broker: 'amqp://shop:***@rabbit:5672', end: 'unreachable' },
  ...{ reason: 'ECONNREFUSED', retryInMs: 1000 },
};

function workerOf(worker: string, more: Partial<WorkerReading> = {}): WorkerReading {
  const stats: WorkerStats = {
    ...{ pid: 1, pool: 'prefork', processes: 8, limit: 8, autoscaler: undefined, prefetchLimit: 32 },
    ...{ uptimeS: 1, cpuUserS: 1, cpuSystemS: 1, memoryMaxBytes: 1, writes: [] },
  };
  return {
    ...{
      worker,
      up: true,
      hasLeft: false,
      deaf: false,
      active: 3,
      prefetched: 12,
      scheduled: 1,
      heartbeatAgeS: 1.2,
    },
    ...{ load: undefined, versions: [{ version: '5.5.3', system: 'Linux' }] },
    ...{ pool: 'prefork', reported: { stats, ageMs: 1000, utilization: 0.4 } },
    ...more,
  };
}

const VIEW: ClusterView = {
  workers: [
    workerOf('celery@web-1'),
    workerOf('celery@web-2', { active: 1 }),
    workerOf('celery@old', { up: false, hasLeft: true, active: 0, heartbeatAgeS: 4000 }),
  ],
  queues: [
    { queue: 'orders', waitingAgeS: 8, runningAgeS: 2 },
    { queue: 'mails', waitingAgeS: 0, runningAgeS: 700 },
  ],
  ends: [],
  reported: {
    consumers: [{ queue: 'orders', workers: 2, processes: 16, utilization: 0.4 }],
    isWhole: true,
    ageMs: 1,
  },
  broker: {
    queues: [
      { queue: 'orders', length: 17, consumers: 2 },
      { queue: 'reports', length: 240, consumers: 1 },
      { queue: 'mails', length: 0, consumers: 1 },
    ],
    incomplete: [],
    ageMs: 5,
  },
};

/** Runs of a task in the last minutes. */
function ran(activity: Activity, task: string, count: number, failures: number, runtimeS: number): void {
  const run = { task, queue: 'orders', worker: 'celery@web-1' };
  for (let index = 0; index < count; index += 1) {
    const atMs = NOW_MS - 200_000 + index;
    activity.observe({ kind: 'task-started', run, waitTimeS: 0.4, prefetchTimeS: undefined }, atMs);
    if (index < failures)
      activity.observe({ kind: 'task-failed', run, errorType: 'PaymentRefused', runtimeS }, atMs);
    else activity.observe({ kind: 'task-succeeded', run, runtimeS: runtimeS * (1 + (index % 7)) }, atMs);
  }
}

function shop(): Activity {
  const activity = new Activity();
  for (let step = 350; step > 0; step -= 1)
    activity.history.set(WINDOW - step, 80 + Math.round(60 * Math.sin(step / 25)) + (step % 9) * 5);
  // Long before, so that their failures are not the first ones.
  for (const task of ['shop.pay', 'shop.mail.send_receipt']) {
    const run = { task, queue: 'orders', worker: 'celery@web-1' };
    activity.observe(
      { kind: 'task-failed', run, errorType: 'PaymentRefused', runtimeS: 1 },
      NOW_MS - 7_200_000,
    );
  }
  ran(activity, 'shop.pay', 400, 30, 0.31);
  ran(activity, 'shop.mail.send_receipt', 900, 3, 0.08);
  ran(activity, 'shop.reports.nightly', 2, 0, 240);
  return activity;
}

export function wellScene(more: readonly SelfEvent[] = []): Scene {
  return {
    events: [CONNECTED, EXPORTED, ...more],
    services: [{ state: { name: 'shop' }, activity: shop(), view: VIEW }],
    nowMs: NOW_MS,
  };
}

function sceneOf(events: readonly SelfEvent[]): Scene {
  const isAway = events.includes(AWAY);
  const isEmpty = isAway || events.some(({ kind }) => kind === 'events-missing');
  const activity = isEmpty ? new Activity() : shop();
  const view = isEmpty ? { workers: [], queues: [], ends: [] } : VIEW;
  const none = { phase: 'waiting', workers: undefined, queues: undefined } as const;
  return {
    events,
    services: [
      {
        state: { name: 'shop', ...(isEmpty && none), ...(!isAway && { phase: 'listening' }) },
        ...{ activity, view },
      },
    ],
    nowMs: NOW_MS,
  };
}

export function largeScene(workers: number, tasks: number): Scene {
  const all = Array.from({ length: workers }, (_, index) => workerOf(`celery@worker-${index}.example.com`));
  const activity = shop();
  const view = { ...VIEW, workers: all };
  const digits = String(tasks).length;
  for (let index = 3; index < tasks; index += 1)
    ran(activity, `app.module_${index % 50}.task_${String(index).padStart(digits, '0')}`, 2, index % 2, 0.2);
  const services = [{ state: { name: 'shop' }, activity, view }];
  return { events: [CONNECTED, EXPORTED], services, nowMs: NOW_MS };
}

export function hostileScene(name: string): Scene {
  const activity = shop();
  const view = {
    workers: [workerOf(name)],
    queues: [{ queue: name, waitingAgeS: 1, runningAgeS: 1 }],
    ends: [],
  };
  ran(activity, name, 5000, 1, 1);
  const second = { state: { name: `${name}2` }, activity, view };
  return {
    events: [CONNECTED, EXPORTED, { kind: 'worker-deaf', ...of, worker: name }],
    services: [{ state: { name: 'shop' }, activity, view }, second],
    nowMs: NOW_MS,
  };
}

/** All are dead, and the producers go on sending. */
function goneScene(): Scene {
  const workers = VIEW.workers.map((each) => ({ ...each, up: false, active: 0, heartbeatAgeS: 45 }));
  const services = [{ state: { name: 'shop' }, activity: shop(), view: { ...VIEW, workers } }];
  return { events: [CONNECTED, EXPORTED], services, nowMs: NOW_MS };
}

/** The only consumer of a queue was killed, and messages wait in it. */
function killedScene(): Scene {
  const [first, second] = VIEW.workers;
  const workers = [
    ...(first === undefined ? [] : [first]),
    workerOf('celery@mails-1', { up: false, active: 0, load: [0, 0, 0] }),
  ];
  const queues = [
    { queue: 'orders', length: 17, consumers: 2 },
    { queue: 'mails', length: 40, consumers: 0 },
  ];
  const view = {
    ...VIEW,
    workers: second === undefined ? workers : [...workers, second],
    broker: { queues, incomplete: [], ageMs: 5 },
  };
  const services = [{ state: { name: 'shop' }, activity: shop(), view }];
  return { events: [CONNECTED, EXPORTED], services, nowMs: NOW_MS };
}

/** Twenty services: 17 share a backend that is away, one lost a worker, and two are fine. */
export function manyScene(): Scene {
  const refused = exported('failure', 'ECONNREFUSED');
  const names = Array.from({ length: 20 }, (_, index) => `service-${String(index + 1).padStart(2, '0')}`);
  const well = wellScene().services;
  const killed = killedScene().services;
  return {
    events: names.flatMap((service, index) =>
      [CONNECTED, ...(index < 17 ? [refused, refused] : [EXPORTED])].map((event) => ({ ...event, service })),
    ),
    services: names.flatMap((name, index) =>
      (index === 17 ? killed : well).map((each) => ({ ...each, state: { ...each.state, name } })),
    ),
    nowMs: NOW_MS,
  };
}

/** By what is wrong: the scene, and what the first problem says. */
export const TROUBLES: Readonly<Record<string, readonly [scene: Scene, says: RegExp]>> = {
  'broker-away': [
    sceneOf([AWAY]),
    /^Downshop: amqp:.* cannot be reached: ECONNREFUSEDWhat to do: Correct broker_url/u,
  ],
  'no-workers': [
    sceneOf([
      CONNECTED,
      EXPORTED,
      { kind: 'events-missing', ...of, exchange: 'celeryev', forMs: 60_000, unread: 0 },
    ]),
    /^Downshop: no worker was seen in 60 sWhat to do: Start a worker/u,
  ],
  'workers-gone': [
    goneScene(),
    /^Downshop: no worker is up: celery@web-1, celery@web-2, celery@old left or went silent, and 257 messages waitWhat to do: /u,
  ],
  'worker-killed': [
    killedScene(),
    /^Degradedshop: celery@mails-1 went silentWhat to do: For a busy solo worker, nothing\..*since [\d:]+$/u,
  ],
  'events-off': [
    sceneOf([
      CONNECTED,
      EXPORTED,
      { kind: 'task-events-missing', ...of, workers: ['celery@web-1'], more: 2 },
    ]),
    /^Downshop: celery@web-1 and 2 more ran tasks and sent no task eventsWhat to do: Start them with celery worker -E/u,
  ],
  'backend-away': [
    sceneOf([CONNECTED, exported('failure', 'ECONNREFUSED'), exported('failure', 'ECONNREFUSED')]),
    /^Downshop: .*collector:4317 .*is not available/u,
  ],
  'backend-refuses': [sceneOf([CONNECTED, exported('partial', 'too old')]), /collector:4317.*too old/u],
};
