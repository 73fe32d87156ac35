/** What sightings of a service mean: each finding has a case, and what looks alike is told apart. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WorkerStats } from '../../src/celery/control-reply.ts';
import type { CeleryEvent } from '../../src/celery/event.ts';
import { diagnose, type Watched } from '../../src/check/diagnose.ts';
import { Sightings } from '../../src/check/sightings.ts';
import { SYMPTOMS, type SymptomCode } from '../../src/check/symptoms.ts';
import type { ClusterView, WorkerReading } from '../../src/cluster/observation.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { failed, received, sent, signal, succeeded, T0_MS } from '../cluster/events.ts';

const WORKER = 'w1@shop';
const STATS: WorkerStats = {
  ...{ pid: 17, pool: 'prefork', processes: 4, limit: 4, autoscaler: undefined, prefetchLimit: 16 },
  ...{ uptimeS: 5, cpuUserS: 1, cpuSystemS: 2, memoryMaxBytes: 3, writes: [] },
};
const CONNECTED: SelfEvent = {
  ...{ kind: 'broker-connected', service: 'shop', broker: 'amqp://b' },
  ...{ exchange: 'celeryev', attempts: 1 },
};
/** An observer that found no exchange. */
const WITHOUT_EXCHANGE: SelfEvent = {
  ...{ kind: 'broker-connected', service: 'shop', broker: 'amqp://b', attempts: 1 },
};
const HEARTBEAT = signal('worker-heartbeat', { hostname: WORKER });

/** A worker that is up, and has not replied. */
function silent(more: Partial<WorkerReading> = {}): WorkerReading {
  return {
    ...{
      worker: WORKER,
      up: true,
      active: 0,
      prefetched: 0,
      scheduled: 0,
      heartbeatAgeS: 1,
      load: undefined,
    },
    ...{ versions: [{ version: '5.7.0', system: 'Linux' }], pool: 'prefork' },
    ...more,
  };
}

/** One that has. */
function worker(more: Partial<WorkerReading> = {}): WorkerReading {
  return silent({ told: { stats: STATS, ageMs: 1, utilization: 0 }, ...more });
}

interface Seen {
  readonly instances?: number;
  readonly events?: readonly CeleryEvent[];
  /** How late they arrive, ms. */
  readonly lateMs?: number;
  readonly told?: readonly SelfEvent[];
  readonly view?: Partial<ClusterView>;
  readonly watched?: Partial<Watched>;
}

function diagnosed(seen: Seen) {
  const { events = [HEARTBEAT], lateMs = 0, told = [CONNECTED], view = {}, watched = {} } = seen;
  const sightings = new Sightings();
  sightings.instances = seen.instances;
  for (const event of told) sightings.tell(event);
  for (const event of events) sightings.note(event, event.timestampMs + lateMs, event.timestampMs - T0_MS);
  return diagnose({
    sightings,
    view: { workers: [worker()], queues: [], ...view },
    ...{ watchedMs: 5000, listenedMs: 5000, addresses: 'amqp://b', exchange: 'celeryev', asking: 'on' },
    visibilityTimeoutMs: undefined,
    ...watched,
  });
}

function ended(end: SelfEvent<'broker-session-ended'>['end'], reason: string): SelfEvent {
  return { kind: 'broker-session-ended', service: 'shop', broker: 'amqp://b', end, reason, retryInMs: 1 };
}

function asked(more: Partial<SelfEvent<'workers-asked'>>): SelfEvent {
  const none = { command: 'stats', outcome: 'partial', reason: 'no', replies: {} } as const;
  return { ...none, kind: 'workers-asked', service: 'shop', ...more };
}

function later(event: CeleryEvent, ms: number): CeleryEvent {
  return { ...event, timestampMs: event.timestampMs + ms };
}

const TOLD_ABOUT = { ageMs: 1 } as const;

/** What leads to each finding, and its line. */
const CASES: Readonly<Partial<Record<SymptomCode, readonly [Seen, line: string]>>> = {
  'broker-reached': [{}, 'connected to amqp://b'],
  'exchange-found': [{}, 'the exchange "celeryev" is there'],
  'exchange-missing': [{ told: [WITHOUT_EXCHANGE] }, 'there is no exchange "celeryev" at amqp://b'],
  'broker-unreachable': [
    { told: [ended('unreachable', 'connect ECONNREFUSED')] },
    'amqp://b cannot be reached: connect ECONNREFUSED',
  ],
  'connection-lost': [
    { told: [CONNECTED, ended('lost', 'Socket closed abruptly')] },
    'the connection to amqp://b broke meanwhile: Socket closed abruptly',
  ],
  'broker-refused': [
    { told: [ended('refused', 'ACCESS-REFUSED')] },
    'amqp://b refuses the connection: ACCESS-REFUSED',
  ],
  'publishers-blocked': [
    { told: [CONNECTED, { kind: 'publish-blocked', service: 'shop', broker: 'b', reason: 'low on memory' }] },
    'amqp://b blocks publishers: low on memory',
  ],
  'publishing-refused': [
    { told: [CONNECTED, { kind: 'publish-refused', service: 'shop', broker: 'b', reason: '403' }] },
    'the user may not publish to the default exchange: 403',
  ],
  'remote-control-failed': [
    { told: [CONNECTED, asked({ outcome: 'failure', reason: 'NOPERM' })] },
    'the workers could not be asked: NOPERM',
  ],
  'remote-control-faulty': [
    { told: [CONNECTED, asked({ replies: { repeated: 1 }, reason: 'two workers have the name a' })] },
    'remote control: two workers have the name a',
  ],
  'remote-control-off': [
    { watched: { asking: 'off' }, view: { workers: [silent()] } },
    'workers are not asked: control_commands is none',
  ],
  'queues-unread': [
    { told: [CONNECTED, { kind: 'broker-polled', service: 'shop', outcome: 'partial', reason: 'NOPERM' }] },
    'the broker did not tell all about the queues: NOPERM',
  ],
  'exported-already': [{ instances: 1 }, 'a celery-otel listens to these events already'],
  'exported-twice': [{ instances: 2 }, '2 or more celery-otel listen to these events'],
  'events-unreadable': [
    {
      told: [
        CONNECTED,
        ...Array(3).fill({
          ...{ kind: 'input-dropped', service: 'shop', intentional: false, detail: '' },
          reason: 'unsafe-serializer',
        }),
      ],
    },
    '3 messages could not be read: unsafe-serializer',
  ],
  'no-workers': [{ view: { workers: [worker({ up: false })] } }, 'no worker was seen in 5 s'],
  'workers-hidden': [
    {
      view: {
        workers: [],
        broker: { ...TOLD_ABOUT, queues: [{ queue: 'orders', length: 0, consumers: 1 }], incomplete: [] },
      },
    },
    'no worker was seen in 5 s, but the queue orders is consumed',
  ],
  'workers-seen': [{}, '1 worker: 1 sent heartbeats, 1 replied to remote control'],
  worker: [{}, 'w1@shop: Celery 5.7.0, pool prefork of 4'],
  'more-workers': [{ view: { workers: many((name) => worker({ worker: name })) } }, '5 more workers'],
  'no-reply': [{ view: { workers: [silent()] } }, 'w1@shop did not reply to remote control'],
  'no-heartbeat': [{ events: [] }, 'w1@shop replied, but sent no heartbeat'],
  'task-events-on': [{ events: [HEARTBEAT, received()] }, 'task events are on: w1@shop'],
  'task-events-off': [
    { events: [HEARTBEAT, later(signal('worker-heartbeat', { processed: 3 }), 1000)] },
    'w1@shop ran tasks and sent no task events',
  ],
  'task-events-unknown': [{}, 'w1@shop ran no task meanwhile, so it is not known whether task events are on'],
  'task-sent-on': [{ events: [HEARTBEAT, sent()] }, 'clients send task-sent events'],
  'task-sent-off': [
    { events: [HEARTBEAT, ...Array(4).fill(later(received(), 2000))] },
    '4 tasks arrived, and no client sent a task-sent event',
  ],
  'task-sent-unknown': [
    { events: [HEARTBEAT, received()] },
    'few tasks arrived, so it is not known whether clients send task-sent events',
  ],
  queue: [
    {
      view: {
        broker: { ...TOLD_ABOUT, queues: [{ queue: 'orders', length: 7, consumers: 2 }], incomplete: [] },
      },
    },
    'queue orders: 7 waiting, 2 consumers',
  ],
  'more-queues': [
    {
      view: {
        broker: { ...TOLD_ABOUT, queues: many((queue) => ({ queue, length: 0 })), incomplete: [] },
      },
    },
    '5 more queues',
  ],
  'queue-without-consumers': [
    {
      view: {
        broker: { ...TOLD_ABOUT, queues: [{ queue: 'orders', length: 7 }], incomplete: [] },
        told: { ...TOLD_ABOUT, consumers: [{ queue: 'mail', workers: 1, processes: 4, utilization: 0 }] },
      },
    },
    'queue orders: 7 waiting, and no worker consumes it',
  ],
  'clock-skew': [{ lateMs: -90_000 }, 'the clock of w1@shop is 90 s fast'],
  'deaf-after-bad-reply': [
    {
      watched: { visibilityTimeoutMs: 3_600_000 },
      view: { workers: [worker({ versions: [{ version: '5.6.3', system: 'Linux' }] })] },
    },
    'w1@shop may stop consuming after one reply that cannot be encoded',
  ],
  'failure-told-twice': [
    { events: [HEARTBEAT, failed('TimeLimitExceeded'), failed('TimeLimitExceeded')] },
    'failures sent twice, as Celery does after a hard time limit: 1; celery-otel counts each once',
  ],
  'eta-beyond-visibility': [
    {
      watched: { visibilityTimeoutMs: 3_600_000 },
      events: [HEARTBEAT, received({ etaMs: T0_MS + 7_200_000 }), received({ etaMs: T0_MS + 60_000 })],
    },
    '1 task with an ETA beyond the visibility timeout of 3600 s, the furthest in 7200 s',
  ],
  'runtime-beyond-visibility': [
    {
      watched: { visibilityTimeoutMs: 3_600_000 },
      events: [HEARTBEAT, succeeded({ runtimeS: 4000 })],
    },
    'tasks run longer than the visibility timeout of 3600 s, for 4000 s or more',
  ],
  'visibility-expires': [
    {
      watched: { visibilityTimeoutMs: 3_600_000 },
      view: {
        broker: {
          ...{ ...TOLD_ABOUT, queues: [], incomplete: [] },
          unacked: { count: 9, oldestAgeS: 3500, expiring: 2, visibilityTimeoutS: 3600 },
        },
      },
    },
    '2 unacknowledged messages will be delivered again soon',
  ],
};

function many<Thing>(make: (name: string) => Thing): readonly Thing[] {
  return Array.from({ length: 25 }, (_, index) => make(`w${index + 1}@shop`));
}

for (const [code, [seen, line]] of Object.entries(CASES)) {
  test(`${code}: ${line}`, () => {
    const found = diagnosed(seen).filter((finding) => finding.code === code);
    assert.ok(
      found.some((finding) => finding.line === line),
      JSON.stringify(diagnosed(seen), undefined, 1),
    );
  });
}

test('every finding about a service has a case', () => {
  const missing = Object.keys(SYMPTOMS).filter((code) => !(code in CASES) && !code.startsWith('backend-'));
  assert.deepEqual(missing, []);
});

const codes = (seen: Seen) => diagnosed(seen).map(({ code }) => code);

test('a healthy cluster has neither warnings nor failures', () => {
  const seen = {
    events: [HEARTBEAT, sent(), received(), succeeded()],
    view: {
      broker: { ...TOLD_ABOUT, queues: [{ queue: 'orders', length: 3, consumers: 1 }], incomplete: [] },
    },
    watched: { visibilityTimeoutMs: 3_600_000 },
  };
  assert.deepEqual(
    diagnosed(seen).filter(({ level }) => level !== 'ok'),
    [],
  );
});

test('tasks of the last moment do not show that task events are off: workers send them in batches', () => {
  const seen = { events: [HEARTBEAT, later(signal('worker-heartbeat', { processed: 3 }), 4000)] };
  assert.ok(codes(seen).includes('task-events-unknown'));
});

test('a worker that has left neither owes a reply nor heartbeats', () => {
  const seen = { view: { workers: [worker(), silent({ worker: 'old@shop', up: false })] } };
  assert.ok(!codes(seen).includes('no-reply'));
});

test('workers that only received the questions are told from none', () => {
  const reached = (receivers?: number) =>
    codes({
      told: [CONNECTED, asked({ outcome: 'success', ...(receivers === undefined ? {} : { receivers }) })],
      view: { workers: [] },
    });
  assert.ok(reached(1).includes('workers-hidden'));
  assert.ok(reached().includes('workers-hidden'), 'RabbitMQ says only if there is none');
  assert.ok(reached(0).includes('no-workers'));
});

test('tasks that were sent before the check began do not show that task-sent events are off', () => {
  assert.ok(codes({ events: [HEARTBEAT, ...Array(4).fill(received())] }).includes('task-sent-unknown'));
  const events = [HEARTBEAT, ...Array(4).fill(later(received(), 2000))];
  const broker = { ...TOLD_ABOUT, queues: [{ queue: 'orders', length: 7, consumers: 1 }], incomplete: [] };
  assert.ok(codes({ events, view: { broker } }).includes('task-sent-unknown'), 'they waited in the queue');
});

test('after a disconnect, no worker is blamed for a reply that is missing', () => {
  const told = [CONNECTED, ended('lost', 'Socket closed abruptly')];
  assert.ok(!codes({ told, view: { workers: [silent()] } }).includes('no-reply'));
});

test('if nobody could be asked, no worker is blamed for it', () => {
  const told = [CONNECTED, asked({ outcome: 'failure' })];
  assert.ok(!codes({ told, view: { workers: [silent()] } }).includes('no-reply'));
});

test('late events of a worker among punctual ones are no clock skew', () => {
  const sightings = [HEARTBEAT, later(HEARTBEAT, -60_000)];
  assert.ok(!codes({ events: sightings }).includes('clock-skew'));
});

test('on RabbitMQ, no reply deafens a worker and no visibility timeout expires', () => {
  const old = worker({ versions: [{ version: '5.2.6', system: 'Linux' }] });
  const events = [HEARTBEAT, received({ etaMs: T0_MS + 1e9 })];
  const found = codes({ events, view: { workers: [old] } });
  assert.ok(!found.includes('deaf-after-bad-reply') && !found.includes('eta-beyond-visibility'));
});

test('an address that was reached in the end counts, whatever failed before', () => {
  const told = [ended('unreachable', 'ECONNREFUSED'), CONNECTED];
  assert.ok(!codes({ told }).includes('broker-unreachable'));
});

test('hostile names cannot forge lines, and what is kept is bounded', () => {
  const hostname = 'w1\n✗ all is lost\u001b[31m@shop';
  const found = diagnosed({ view: { workers: [worker({ worker: hostname })] } });
  assert.ok(found.every(({ line }) => !line.includes('\n') && !line.includes('\u001b')));
  const sightings = new Sightings();
  for (let each = 0; each < 30_000; each += 1) {
    sightings.note(signal('worker-heartbeat', { hostname: `w${each}` }), T0_MS, 0);
    sightings.note(failed('X', { uuid: `u${each}` }), T0_MS, 0);
  }
  assert.equal(sightings.workers.size, 10_000);
});
