/** What sightings of a service mean: each finding has a case, and what looks alike is told apart. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Elsewhere } from '../../src/broker/broker.ts';
import type { QueueDepth } from '../../src/broker/broker-reading.ts';
import type { CeleryEvent } from '../../src/celery/event.ts';
import { CheckEvidence } from '../../src/check/check-evidence.ts';
import { diagnose, type Watched } from '../../src/check/diagnose.ts';
import type { ClusterView, WorkerReading } from '../../src/cluster/observation.ts';
import { SYMPTOMS, type SymptomCode } from '../../src/health/symptoms.ts';
import type { SelfEvent, Skipped } from '../../src/self/self-event.ts';
import type { TroubledTask, TroublesReading } from '../../src/service/activity/troubles.ts';
import { failed, received, sent, signal, started, succeeded, T0_MS } from '../cluster/events.ts';
import { STATS } from './watched-cluster.ts';

const WORKER = 'w1@shop';
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
      hasLeft: false,
      deaf: false,
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
  return silent({ reported: { stats: STATS, ageMs: 1, utilization: 0 }, ...more });
}

interface Seen {
  readonly workersMax?: number;
  readonly instances?: number;
  readonly elsewhere?: Elsewhere;
  /** The queues are known, and empty, before the events. */
  readonly isEmpty?: boolean;
  readonly events?: readonly CeleryEvent[];
  /** After the events. */
  readonly asked?: readonly SelfEvent[];
  /** How late they arrive, ms. */
  readonly lateMs?: number;
  readonly reported?: readonly SelfEvent[];
  readonly view?: Partial<ClusterView>;
  readonly watched?: Partial<Watched>;
  /** Polls of the broker after the events. */
  readonly readings?: number;
}

function diagnosed(seen: Seen) {
  const { lateMs = 0, reported = [CONNECTED], view = {}, workersMax = 50 } = seen;
  const { events = view.workers?.length === 0 ? [] : [HEARTBEAT] } = seen;
  const evidence = new CheckEvidence(workersMax, seen.watched?.visibilityTimeoutMs);
  evidence.health.instances = seen.instances;
  evidence.elsewhere = seen.elsewhere ?? evidence.elsewhere;
  for (const event of reported) evidence.report(event);
  if (seen.isEmpty === true) empty(evidence);
  for (const event of events) evidence.note(event, event.timestampMs + lateMs, event.timestampMs - T0_MS);
  for (let readings = seen.readings ?? 0; readings > 0; readings -= 1) evidence.noteDepths([]);
  for (const event of seen.asked ?? []) evidence.report(event);
  for (const each of view.workers ?? [worker()])
    if (each.reported !== undefined) evidence.noteReply(each.worker);
  return diagnosedOf(evidence, seen);
}

function diagnosedOf(evidence: CheckEvidence, { view = {}, watched = {} }: Pick<Seen, 'view' | 'watched'>) {
  return diagnose({
    evidence,
    view: { workers: [worker()], queues: [], ends: [], ...view },
    troubles: undefined,
    ...{
      watchedMs: 5000,
      listenedMs: 5000,
      silentMs: 900,
      addresses: 'amqp://b',
      exchange: 'celeryev',
      asking: 'on',
      isConnected: true,
    },
    visibilityTimeoutMs: undefined,
    ...watched,
  });
}

function notAsked(
  why: Skipped,
  { worker = 'w1@shop', commands = ['stats'] }: Partial<SelfEvent<'command-skipped'>> = {},
): SelfEvent<'command-skipped'> {
  return { kind: 'command-skipped', service: 'shop', worker, commands, why };
}

function ended(
  end: SelfEvent<'broker-session-ended'>['end'],
  reason: string,
): SelfEvent<'broker-session-ended'> {
  return { kind: 'broker-session-ended', service: 'shop', broker: 'amqp://b', end, reason, retryInMs: 1 };
}

function asked(more: Partial<SelfEvent<'workers-asked'>>): SelfEvent {
  const none = { command: 'stats', outcome: 'partial', reason: 'no', replies: {} } as const;
  return { ...none, kind: 'workers-asked', service: 'shop', ...more };
}

const QUEUES_REPORTED = asked({ command: 'active_queues', outcome: 'success', replies: { answer: 1 } });

function empty(evidence: CheckEvidence): void {
  evidence.noteReply(WORKER);
  evidence.noteDepths([{ queue: 'celery', length: 0 }]);
  evidence.report(QUEUES_REPORTED);
  evidence.noteDepths([{ queue: 'orders', length: 0 }]);
}

function later(event: CeleryEvent, ms: number): CeleryEvent {
  return { ...event, timestampMs: event.timestampMs + ms };
}

const TOLD_ABOUT = { ageMs: 1 } as const;

const TROUBLES: TroublesReading = {
  spanMs: 5000,
  tasks: [],
  failed: 0,
  lost: 0,
  crashes: [],
  eventsLost: [],
};
const TROUBLED: TroubledTask = {
  ...{ task: 'shop.pay', failed: 0, ended: 10, lost: 0, isFirstFailure: true, errors: [] },
};

/** What leads to each finding, and its line. */
const CASES: Readonly<Partial<Record<SymptomCode, readonly [Seen, line: string]>>> = {
  'broker-reached': [{}, 'connected to amqp://b'],
  'exchange-found': [{}, 'the exchange "celeryev" exists'],
  'exchange-missing': [{ reported: [WITHOUT_EXCHANGE] }, 'there is no exchange "celeryev" at amqp://b'],
  'broker-unreachable': [
    { reported: [ended('unreachable', 'connect ECONNREFUSED')] },
    'amqp://b cannot be reached: connect ECONNREFUSED',
  ],
  'broker-untrusted': [
    { reported: [{ ...ended('unreachable', 'permitted subtree violation'), isTls: true }] },
    'TLS to amqp://b fails: permitted subtree violation',
  ],
  'connection-lost': [
    { reported: [CONNECTED, ended('lost', 'Socket closed abruptly')] },
    'the connection to amqp://b broke: Socket closed abruptly',
  ],
  'broker-silent': [{ watched: { silentMs: 4200 } }, 'amqp://b has not replied for 4 s'],
  'broker-refused': [
    { reported: [ended('refused', 'ACCESS-REFUSED')] },
    'amqp://b refuses the connection: ACCESS-REFUSED',
  ],
  'broker-malformed': [
    { reported: [ended('malformed', 'Invalid frame')] },
    'amqp://b does not behave like a broker: Invalid frame',
  ],
  'publishers-blocked': [
    {
      reported: [
        CONNECTED,
        { kind: 'publish-blocked', service: 'shop', broker: 'b', reason: 'low on memory' },
      ],
    },
    'amqp://b blocks publishers: low on memory',
  ],
  'publishing-refused': [
    { reported: [CONNECTED, { kind: 'publish-refused', service: 'shop', broker: 'b', reason: '403' }] },
    'the user may not publish to the default exchange, so a broker that blocks publishers is not noticed: 403',
  ],
  'remote-control-failed': [
    { reported: [CONNECTED, asked({ outcome: 'failure', reason: 'NOPERM' })] },
    'remote control failed: NOPERM',
  ],
  'remote-control-faulty': [
    { reported: [CONNECTED, asked({ replies: { repeated: 1 }, reason: 'two workers have the name a' })] },
    'remote control: two workers have the name a',
  ],
  'workers-unasked': [
    { watched: { asking: 'off' }, view: { workers: [silent()] } },
    'workers are not asked, so their pools and queues are unknown',
  ],
  'queues-unread': [
    {
      reported: [CONNECTED, { kind: 'broker-polled', service: 'shop', outcome: 'partial', reason: 'NOPERM' }],
    },
    'the broker’s report on the queues is incomplete: NOPERM',
  ],
  'exported-already': [{ instances: 1 }, 'an instance of celery-otel already listens to these events'],
  'exported-twice': [{ instances: 2 }, '2 or more instances of celery-otel listen to these events'],
  'events-shed': [
    {
      reported: [
        CONNECTED,
        {
          ...{ kind: 'input-dropped', service: 'shop', intentional: false, detail: '' },
          ...{ reason: 'arrived-too-fast', count: 12 },
        },
      ],
    },
    '12 messages arrived faster than they could be read',
  ],
  'events-unreadable': [
    {
      reported: [
        CONNECTED,
        ...Array(3).fill({
          ...{ kind: 'input-dropped', service: 'shop', intentional: false, detail: '' },
          reason: 'unsafe-serializer',
        }),
      ],
    },
    '3 messages could not be read: unsafe-serializer',
  ],
  'no-workers': [{ view: { workers: [] } }, 'no worker was seen in 5 s'],
  'workers-gone': [
    { view: { workers: [worker({ up: false })] } },
    'no worker is up: w1@shop left or went silent',
  ],
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
  'workers-beyond': [
    {
      workersMax: 1,
      events: [HEARTBEAT, ...['w2@shop', 'w3@shop', 'w3@shop'].map((hostname) => received({ hostname }))],
    },
    'not checked, because workers_max is 1: 2 workers',
  ],
  'workers-silent': [
    {
      events: [HEARTBEAT, signal('worker-heartbeat', { hostname: 'w2@shop' })],
      view: { workers: [worker(), silent({ worker: 'w2@shop', up: false, load: [0, 0, 0] })] },
    },
    'w2@shop went silent',
  ],
  'no-reply': [
    { asked: [asked({}), asked({})], view: { workers: [silent()] } },
    'w1@shop did not reply to remote control',
  ],
  'worker-deaf': [
    {
      reported: [CONNECTED, { kind: 'worker-deaf', service: 'shop', worker: WORKER }],
      view: { workers: [silent({ deaf: true })] },
      asked: [asked({}), asked({})],
    },
    'w1@shop deaf: heartbeats continue, but no tasks are consumed',
  ],
  'replies-unreadable': [
    {
      reported: [CONNECTED, notAsked({ kind: 'serializer' })],
      asked: [asked({}), asked({})],
      view: { workers: [silent()] },
    },
    'w1@shop reply in a format other than JSON, and get no more commands',
  ],
  'questions-withheld': [
    {
      reported: [
        CONNECTED,
        ...['w1@shop', 'w2@shop'].map((worker) =>
          notAsked({ kind: 'version', version: '5.5.3' }, { worker, commands: ['stats', 'active_queues'] }),
        ),
      ],
    },
    'unknown for w1@shop, w2@shop: pools and workers of queues; Celery 5.5.3 on Redis does not get stats and active_queues',
  ],
  'reply-failed': [
    { reported: [CONNECTED, notAsked({ kind: 'unanswered' })] },
    'w1@shop did not reply to stats, but replied to a later ping',
  ],
  'deafened-by-question': [
    { reported: [CONNECTED, notAsked({ kind: 'deaf' })] },
    'w1@shop went deaf after stats, so no other worker gets it',
  ],
  'workers-elsewhere': [
    {
      view: { workers: [] },
      elsewhere: {
        places: [
          { database: 3, prefix: undefined },
          { database: 4, prefix: 'shop:' },
          { database: undefined, prefix: '' },
        ],
        exchanges: ['shopev'],
      },
    },
    'no worker was seen in 5 s, but there are signs of workers in the database 3, the database 4 with the prefix "shop:", this database without a prefix, and the exchange "shopev"',
  ],
  'events-elsewhere': [
    { events: [], elsewhere: { places: [], exchanges: ['shopev'] } },
    'w1@shop replied, but no event came from the exchange "celeryev"; there is also "shopev"',
  ],
  'no-heartbeat': [{ events: [received()] }, 'w1@shop replied, but sent no heartbeat'],
  'workers-unseen': [
    { asked: [asked({ receivers: 3 })] },
    '2 more workers received the commands, but returned neither state nor heartbeat',
  ],
  'task-events-on': [{ events: [HEARTBEAT, received()] }, 'task events are on: w1@shop'],
  'task-events-off': [
    { events: [HEARTBEAT, later(signal('worker-heartbeat', { processed: 3 }), 1000)] },
    'w1@shop ran tasks and sent no task events',
  ],
  'task-events-unknown': [
    {},
    'no task of w1@shop was seen to start, so it is unknown whether task events are on',
  ],
  'task-sent-on': [{ events: [HEARTBEAT, sent()] }, 'clients send task-sent events'],
  'tasks-unseen': [
    {
      events: [HEARTBEAT, ...Array(5).fill(sent({ name: 'shop.quiet' }))],
      readings: 2,
      view: { broker: { queues: [{ queue: 'orders', length: 2 }], incomplete: [], ageMs: 0 } },
    },
    'sent and consumed, but no worker sent an event: shop.quiet',
  ],
  'task-sent-off': [
    { isEmpty: true, events: [HEARTBEAT, ...Array(4).fill(received())] },
    '4 tasks arrived, and no client sent a task-sent event',
  ],
  'task-sent-unknown': [
    { events: [HEARTBEAT, received()] },
    'too few tasks were sent to show whether clients send task-sent events',
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
      asked: [QUEUES_REPORTED],
      view: {
        broker: { ...TOLD_ABOUT, queues: [{ queue: 'orders', length: 7 }], incomplete: [] },
        reported: {
          ...TOLD_ABOUT,
          isWhole: true,
          consumers: [{ queue: 'mail', workers: 1, processes: 4, utilization: 0 }],
        },
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
      events: [
        HEARTBEAT,
        ...Array(12_000).fill(received({ etaMs: T0_MS + 7_200_000 })),
        received({ etaMs: T0_MS + 60_000 }),
      ],
    },
    '12000 tasks with an ETA beyond the visibility timeout of 3600 s, the furthest in 7200 s',
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
    '2 unacknowledged messages will soon be redelivered',
  ],
  'workers-left': [
    { view: { workers: [{ ...worker(), up: false, hasLeft: true }] } },
    'no worker is up: all said goodbye',
  ],
  'worker-crashes': [
    { watched: { troubles: { ...TROUBLES, crashes: [{ worker: 'w1@shop', count: 3 }] } } },
    'w1@shop crashes again and again: 3 restarts without a goodbye in half an hour',
  ],
  'tasks-lost': [
    { watched: { troubles: { ...TROUBLES, tasks: [{ ...TROUBLED, lost: 1 }] } } },
    '1 run of shop.pay lost in the last 1 min',
  ],
  'task-fails-often': [
    {
      watched: {
        troubles: { ...TROUBLES, tasks: [{ ...TROUBLED, failed: 5, errors: [['ValueError', 5]] }] },
      },
    },
    'shop.pay fails often: 50 % of 10 runs in the last 1 min: ValueError ×5',
  ],
  'task-waits-long': [
    { view: { queues: [{ queue: 'orders', waitingAgeS: 700, runningAgeS: 0 }] } },
    'a task has waited in orders for 11 min',
  ],
  'task-runs-long': [
    { view: { queues: [{ queue: 'orders', waitingAgeS: 0, runningAgeS: 7200 }] } },
    'a task of orders has run for 120 min',
  ],
  'events-lost': [
    { watched: { troubles: { ...TROUBLES, eventsLost: [{ worker: 'w1@shop', count: 2 }] } } },
    'w1@shop started 2 tasks of which no event arrived',
  ],
  'table-full': [
    { reported: [CONNECTED, { kind: 'table-evicted', service: 'shop', table: 'tasks', count: 7 }] },
    'the table tasks is full: 7 entries evicted',
  ],
  'internal-error': [
    { reported: [CONNECTED, { kind: 'defect', service: 'shop', where: 'transport', reason: 'x' }] },
    'internal errors of celery-otel: 1',
  ],
  'queues-unpolled': [
    { reported: [CONNECTED] },
    'the broker is not asked about queues, so their lengths are unknown',
  ],
  'queues-known': [
    {
      view: {
        broker: { ...TOLD_ABOUT, queues: [{ queue: 'orders', length: 0, consumers: 1 }], incomplete: [] },
      },
    },
    'RabbitMQ did not list its queues: looked at orders',
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

test('where RabbitMQ listed its queues, no others can be named', () => {
  const broker = { ...TOLD_ABOUT, queues: [{ queue: 'orders', length: 0, consumers: 1 }], incomplete: [] };
  const hasKnown = (areAll: boolean): boolean =>
    diagnosed({ view: { broker: { ...broker, areAll } } }).some(({ code }) => code === 'queues-known');
  assert.deepEqual([hasKnown(false), hasKnown(true)], [true, false]);
});

/** What a check is too short for, or does not do. */
const OF_A_BRIDGE = ['task-first-failure', 'task-stale', 'events-late', 'series-overflow', 'items-dropped'];

test('a check that ends while the broker is away is down; if it came back, the break is a warning', () => {
  const reported = [CONNECTED, ended('lost', 'Socket closed abruptly')];
  const gradeAt = (isConnected: boolean) =>
    diagnosed({ reported, watched: { isConnected } }).find(({ code }) => code === 'connection-lost')?.grade;
  assert.deepEqual([gradeAt(false), gradeAt(true)], ['down', 'degraded']);
});

test('every finding about a service has a case', () => {
  const missing = Object.keys(SYMPTOMS).filter(
    (code) => !(code in CASES) && !code.startsWith('backend-') && !OF_A_BRIDGE.includes(code),
  );
  assert.deepEqual(missing, []);
});

const codes = (seen: Seen) => diagnosed(seen).map(({ code }) => code);

test('a healthy cluster has neither warnings nor failures', () => {
  const seen = {
    asked: [QUEUES_REPORTED, QUEUES_REPORTED],
    events: [HEARTBEAT, sent(), received(), succeeded()],
    view: {
      broker: { ...TOLD_ABOUT, queues: [{ queue: 'orders', length: 3, consumers: 1 }], incomplete: [] },
    },
    watched: { visibilityTimeoutMs: 3_600_000 },
  };
  assert.deepEqual(
    diagnosed(seen).filter(({ grade }) => grade === 'degraded' || grade === 'down'),
    [],
  );
});

test('tasks of the last moment do not show that task events are off: workers send them in batches', () => {
  const seen = { events: [HEARTBEAT, later(signal('worker-heartbeat', { processed: 3 }), 4000)] };
  assert.ok(codes(seen).includes('task-events-unknown'));
});

test('two workers of one name that are idle, and one that was restarted, ran no tasks', () => {
  const beat = (pid: number, processed: number, ms: number) =>
    later(signal('worker-heartbeat', { pid, processed }), ms);
  const idle = [beat(17, 3, 0), beat(18, 9, 100), beat(17, 3, 2000), beat(18, 9, 2100)];
  assert.ok(codes({ events: idle }).includes('task-events-unknown'));
  assert.ok(codes({ events: [beat(17, 0, 0), beat(18, 4, 100)] }).includes('task-events-unknown'));
  assert.ok(
    codes({ events: [beat(17, 3, 0), beat(18, 9, 100), beat(18, 10, 2000)] }).includes('task-events-off'),
  );
});

test('tasks that began while the connection was lost do not show that task events are off', () => {
  const evidence = new CheckEvidence(50);
  const heartbeat = (processed: number, atMs: number) =>
    evidence.note(signal('worker-heartbeat', { processed }), T0_MS + atMs, atMs);
  const isOff = () =>
    diagnosedOf(evidence, { view: { workers: [worker()] }, watched: { listenedMs: 9000 } }).some(
      ({ code }) => code === 'task-events-off',
    );
  evidence.report(CONNECTED);
  heartbeat(1, 0);
  heartbeat(2, 1000);
  assert.ok(isOff());
  evidence.report(ended('lost', 'Socket closed abruptly'));
  evidence.report(CONNECTED);
  heartbeat(3, 2000);
  assert.ok(!isOff());
  heartbeat(4, 4000);
  assert.ok(isOff());
  const shed = { reason: 'arrived-too-fast', intentional: false, detail: '', count: 9 };
  evidence.report({ ...shed, kind: 'input-dropped', service: 'shop' });
  heartbeat(5, 5000);
  assert.ok(!isOff(), 'nor do those whose events were dropped');
});

test('a worker that has left neither owes a reply nor heartbeats', () => {
  const workers = [worker(), silent({ worker: 'old@shop', up: false })];
  const beat = signal('worker-heartbeat', { hostname: 'old@shop' });
  const seen = { events: [HEARTBEAT, beat], asked: [asked({}), asked({})], view: { workers } };
  assert.ok(!codes(seen).includes('no-reply'));
});

test('workers that only received the questions are told from none', () => {
  const reached = (receivers?: number) =>
    codes({
      reported: [CONNECTED, asked({ outcome: 'success', ...(receivers === undefined ? {} : { receivers }) })],
      view: { workers: [] },
    });
  assert.ok(reached(1).includes('workers-hidden'));
  assert.ok(reached().includes('workers-hidden'), 'RabbitMQ says only if there is none');
  assert.ok(reached(0).includes('no-workers'));
});

test('tasks that other tasks sent show nothing of clients', () => {
  const extras = { lineage: { rootId: 'a', parentId: 'a' } };
  const codeOf = (...events: readonly CeleryEvent[]) =>
    diagnosed({ isEmpty: true, events: [HEARTBEAT, ...events] }).find(({ code }) =>
      code.startsWith('task-sent'),
    )?.code;
  const ofTasks = [sent({ extras }), ...Array(4).fill(received({ extras }))];
  assert.equal(codeOf(...ofTasks), 'task-sent-unknown');
  assert.equal(codeOf(...ofTasks, ...Array(4).fill(received())), 'task-sent-off');
  assert.equal(codeOf(...ofTasks, sent()), 'task-sent-on');
});

test('tasks that were just sent, wait, or were seen on a worker are not named as sending no events', () => {
  const named = (events: readonly CeleryEvent[], readings = 2, length = 2): boolean => {
    const evidence = new CheckEvidence(50);
    evidence.report(CONNECTED);
    for (const event of events) evidence.note(event, T0_MS, 0);
    for (let left = readings; left > 0; left -= 1) evidence.noteDepths([]);
    const view = { broker: { queues: [{ queue: 'orders', length }], incomplete: [], ageMs: 0 } };
    return diagnosedOf(evidence, { view }).some(({ code }) => code === 'tasks-unseen');
  };
  const five = Array(5).fill(sent());
  assert.equal(named(five), true);
  assert.equal(named(five, 1), false, 'they may be on their way');
  assert.equal(named(five, 2, 3), false, 'three of them wait');
  assert.equal(named([...five, received()]), false);
  assert.equal(named([...five, received({ name: 'shop.other' })]), true);
  assert.equal(named(Array(5).fill(sent({ queue: 'mails' }))), false, 'the queue is not known');
  const ran = [0, 4].map((processed) => signal('worker-heartbeat', { processed }));
  assert.equal(named([...ran, ...five]), false, 'the worker sends no task events at all');
});

test('only tasks that were sent while the check listened show that task-sent events are off', () => {
  const after = (...readings: readonly (readonly QueueDepth[] | undefined)[]) => {
    const evidence = new CheckEvidence(50);
    evidence.report(CONNECTED);
    empty(evidence);
    for (const reading of readings) evidence.noteDepths(reading);
    for (const event of [HEARTBEAT, ...Array(4).fill(received())]) evidence.note(event, T0_MS, 0);
    return diagnosedOf(evidence, {}).find(({ code }) => code.startsWith('task-sent'))?.code;
  };
  const [none, some] = [[{ queue: 'orders', length: 0 }], [{ queue: 'orders', length: 7 }]];
  assert.equal(after(none), 'task-sent-off');
  assert.equal(after(some, none), 'task-sent-off', 'those that waited have been taken before');
  assert.equal(after(some), 'task-sent-unknown', 'they may have waited');
  assert.equal(after(undefined), 'task-sent-unknown', 'queues are unknown');
  const evidence = new CheckEvidence(50);
  evidence.noteDepths(none);
  evidence.noteDepths(none);
  for (const event of Array(4).fill(received())) evidence.note(event, T0_MS, 0);
  assert.equal(evidence.received, 0, 'nobody told which queues there are');
});

test('a worker that replied is not said to be silent, though its question is not over', () => {
  const evidence = new CheckEvidence(50);
  evidence.report(CONNECTED);
  evidence.note(HEARTBEAT, T0_MS, 0);
  evidence.noteReply(WORKER);
  const workers = [silent(), silent({ worker: 'w2@shop' })];
  const found = diagnosedOf(evidence, { view: { workers } });
  assert.ok(!found.some(({ code }) => code === 'no-reply'));
  assert.ok(found.some(({ line }) => line === '2 workers: 1 sent heartbeats, 1 replied to remote control'));
});

test('a worker owes a reply only to a question that began after it was seen', () => {
  const silently = (count: number) =>
    codes({ asked: Array(count).fill(asked({})), view: { workers: [silent()] } }).includes('no-reply');
  assert.deepEqual([0, 1, 2].map(silently), [false, false, true]);
});

test('what a silent broker has not told is blamed on nobody else; one that blocks publishers is silent for that', () => {
  const polled = { kind: 'broker-polled', service: 'shop', outcome: 'failure', reason: 'no answer' } as const;
  const unasked = asked({ outcome: 'failure', reason: 'no answer' });
  const blocked: SelfEvent = { kind: 'publish-blocked', service: 'shop', broker: 'b', reason: 'memory' };
  const silently = (...reported: readonly SelfEvent[]) =>
    codes({ reported: [CONNECTED, ...reported], view: { workers: [] }, watched: { silentMs: 9000 } });
  assert.deepEqual(silently(polled, unasked), ['broker-reached', 'broker-silent', 'exchange-found']);
  assert.ok(!silently(blocked).includes('broker-silent'));
  assert.ok(!codes({ watched: { silentMs: 9e9, asking: 'impossible' } }).includes('broker-silent'));
});

test('failures of two runs of one task are not one that was told twice', () => {
  const run = (ms: number) => [received(), started(), failed('KeyError')].map((each) => later(each, ms));
  const found = diagnosed({ events: [HEARTBEAT, ...run(0), ...run(2000)] });
  assert.ok(!found.some(({ code }) => code === 'failure-told-twice'));
});

test('without an exchange no heartbeat can come, so no worker is blamed', () => {
  const silently = (reported: readonly SelfEvent[], more: Seen = {}) =>
    codes({ reported, events: [], ...more });
  assert.ok(silently([CONNECTED]).includes('events-elsewhere'));
  assert.ok(!silently([WITHOUT_EXCHANGE]).includes('events-elsewhere'));
  const elsewhere = { places: [], exchanges: ['celeryev'] };
  assert.ok(silently([WITHOUT_EXCHANGE], { elsewhere }).includes('events-elsewhere'), 'it is known where');
});

test('a check that is ended early does not miss heartbeats', () => {
  for (const events of [[], [received()]])
    assert.doesNotMatch(
      codes({ events, watched: { listenedMs: 1500 } }).join(),
      /no-heartbeat|events-elsewhere/u,
    );
});

test('no queue is said to have no consumers before all workers have told theirs', () => {
  const queues = [
    { queue: 'orders', length: 7 },
    { queue: 'mail', length: 1 },
  ];
  const view = {
    broker: { ...TOLD_ABOUT, queues, incomplete: [] },
    reported: {
      ...TOLD_ABOUT,
      isWhole: true,
      consumers: [{ queue: 'mail', workers: 1, processes: 4, utilization: 0 }],
    },
  };
  const replies = { answer: 1 };
  const incomplete = [
    [],
    [asked({ command: 'active_queues', replies })],
    [asked({ command: 'active_queues', outcome: 'success', receivers: 2, replies })],
    // Of a worker without remote control.
    [asked({ command: 'active_queues', outcome: 'success', receivers: 0 })],
    [asked({ command: 'stats', outcome: 'success', receivers: 1, replies })],
  ];
  for (const questions of incomplete) {
    const lines = diagnosed({ asked: questions, view }).map(({ line }) => line);
    assert.ok(lines.includes('queue orders: 7 waiting, consumers unknown'), lines.join('\n'));
    assert.ok(lines.includes('queue mail: 1 waiting, 1 or more consumers'), lines.join('\n'));
  }
});

test('after a disconnect, no worker is blamed for a reply that is missing', () => {
  const reported = [CONNECTED, ended('lost', 'Socket closed abruptly')];
  const questions = [asked({}), asked({})];
  assert.ok(!codes({ reported, asked: questions, view: { workers: [silent()] } }).includes('no-reply'));
});

test('a broker that blocks publishers is not said to keep the workers from being asked for want of a permission', () => {
  const blocked = { kind: 'publish-blocked', service: 'shop', broker: 'b', reason: 'low on memory' } as const;
  const failure = asked({ outcome: 'failure', reason: 'the broker takes no messages: low on memory' });
  const about = (reported: readonly SelfEvent[]) =>
    codes({ reported: [CONNECTED, ...reported, failure] }).filter((code) =>
      /^(?:publish|remote)/u.test(code),
    );
  assert.deepEqual(about([blocked]), ['publishers-blocked']);
  assert.deepEqual(about([]), ['remote-control-failed']);
});

test('if nobody could be asked, no worker is blamed for it', () => {
  const questions = [asked({}), asked({}), asked({ outcome: 'failure' })];
  assert.ok(!codes({ asked: questions, view: { workers: [silent()] } }).includes('no-reply'));
});

test('late events of a worker among punctual ones are no clock skew', () => {
  const evidence = [HEARTBEAT, later(HEARTBEAT, -60_000)];
  assert.ok(!codes({ events: evidence }).includes('clock-skew'));
});

test('on RabbitMQ, no reply deafens a worker and no visibility timeout expires', () => {
  const old = worker({ versions: [{ version: '5.2.6', system: 'Linux' }] });
  const events = [HEARTBEAT, received({ etaMs: T0_MS + 1e9 })];
  const found = codes({ events, view: { workers: [old] } });
  assert.ok(!found.includes('deaf-after-bad-reply') && !found.includes('eta-beyond-visibility'));
});

test('a reply that cannot be encoded deafens by version and pool', () => {
  const isExposed = (version: string, pool: NonNullable<WorkerReading['pool']>) => {
    const workers = [worker({ pool, versions: [{ version, system: 'Linux' }] })];
    const watched = { visibilityTimeoutMs: 3_600_000 };
    return codes({ view: { workers }, watched }).includes('deaf-after-bad-reply');
  };
  for (const pool of ['prefork', 'threads', 'solo'] as const)
    assert.deepEqual([isExposed('5.6.3', pool), isExposed('5.7.0', pool)], [true, false], pool);
  assert.ok(!isExposed('5.6.3', 'gevent'), 'it recovers');
  assert.ok(isExposed('5.7.0', 'eventlet'));
});

test('each address has its own failure, the last one', () => {
  const at = (broker: string, event: SelfEvent) => ({ ...event, broker });
  const reported = [
    at('amqp://b', ended('unreachable', 'ECONNREFUSED')),
    at('amqp://c', ended('unreachable', 'ENOTFOUND')),
    at('amqp://b', ended('refused', 'ACCESS-REFUSED')),
  ];
  assert.deepEqual(
    diagnosed({ reported, watched: { addresses: 'amqp://b, amqp://c' } }).map(({ line }) => line),
    ['amqp://c cannot be reached: ENOTFOUND', 'amqp://b refuses the connection: ACCESS-REFUSED'],
  );
  const [nothing] = diagnosed({ reported: [], watched: { addresses: 'amqp://b, amqp://c' } });
  assert.equal(nothing?.line, 'amqp://b, amqp://c cannot be reached: no answer in time');
});

test('a host named as a certificate is not reached, and its certificate is not blamed', () => {
  const reported = [ended('unreachable', 'getaddrinfo ENOTFOUND certificate.invalid')];
  assert.deepEqual(codes({ reported }), ['broker-unreachable']);
});

test('a broker that was lost and cannot be reached any more is a failure', () => {
  const gone = [CONNECTED, ended('lost', 'Socket closed abruptly'), ended('unreachable', 'ECONNREFUSED')];
  const lines = (reported: readonly SelfEvent[]) => diagnosed({ reported }).map(({ line }) => line);
  assert.ok(lines(gone).includes('amqp://b cannot be reached: ECONNREFUSED'));
  assert.ok(!lines([...gone, CONNECTED]).includes('amqp://b cannot be reached: ECONNREFUSED'));
});

test('an address that was reached in the end counts, whatever failed before', () => {
  const reported = [ended('unreachable', 'ECONNREFUSED'), CONNECTED];
  assert.ok(!codes({ reported }).includes('broker-unreachable'));
});

test('hostile names cannot forge lines, and what is kept is bounded', () => {
  const hostname = 'w1\n✗ all is lost\u001b[31m@shop';
  const found = diagnosed({ view: { workers: [worker({ worker: hostname })] } });
  assert.ok(found.every(({ line }) => !line.includes('\n') && !line.includes('\u001b')));
  const evidence = new CheckEvidence(10_000);
  evidence.report(CONNECTED);
  for (let each = 0; each < 120_000; each += 1) {
    evidence.noteReply(`w${each}`);
    if (each >= 30_000) continue;
    evidence.note(signal('worker-heartbeat', { hostname: `w${each}` }), T0_MS, 0);
    evidence.note(failed('X', { uuid: `u${each}` }), T0_MS, 0);
  }
  assert.deepEqual([evidence.workers.size, evidence.unwatched], [10_000, 100_000]);
  const workers = [...evidence.workers.keys()].map((name) => worker({ worker: name }));
  assert.ok(
    diagnosedOf(evidence, { view: { workers } }).some(({ line }) => line.includes('100000 or more workers')),
    'how many there are is known up to a limit',
  );
});
