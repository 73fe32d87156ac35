/** The judge of one service: causes hide their consequences, and a trouble that is over is no problem. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Checked, judge } from '../../src/health/judge.ts';
import { ServiceHealth } from '../../src/health/service-health.ts';
import type { Finding } from '../../src/health/symptoms.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import type { ServiceState } from '../../src/service/service-state.ts';

const of = { service: 'shop' } as const;
const CONNECTED: SelfEvent = { kind: 'broker-connected', ...of, broker: 'amqp://b', attempts: 1 };
const BLOCKED: SelfEvent = { kind: 'publish-blocked', ...of, broker: 'amqp://b', reason: 'low on memory' };
const REFUSED: SelfEvent = { kind: 'publish-refused', ...of, broker: 'amqp://b', reason: '403' };
const UNASKED: SelfEvent = {
  ...{
    kind: 'workers-asked',
    ...of,
    command: 'stats',
    outcome: 'failure',
    reason: 'no channel',
    replies: {},
  },
};
const REPEATED: SelfEvent = {
  ...{ kind: 'workers-asked', ...of, command: 'stats', outcome: 'partial' },
  ...{ reason: 'two workers have the name a', replies: { repeated: 1 } },
};
const UNPOLLED: SelfEvent = { kind: 'broker-polled', ...of, outcome: 'failure', reason: 'no channel' };
const NONE = {
  known: 0,
  up: 0,
  deaf: 0,
  active: 0,
  gone: [],
  silent: [],
  silentCount: 0,
  leftCount: 0,
  quietS: 90,
};
const EMPTY = {
  ...{ polled: 1, waiting: 0, ageMs: 0, unconsumed: [], consumed: undefined, consumedCount: 0, expiring: 0 },
};
const UNCHECKED: Checked = {
  ...{ withoutTaskEvents: [], silentMs: undefined, hasUnwatched: false },
  ...{ elsewhere: undefined, reachesWorkers: false },
};
const MINUTE_MS = 60_000;

function ended(broker: string, end: SelfEvent<'broker-session-ended'>['end'], isTls = false): SelfEvent {
  return { kind: 'broker-session-ended', ...of, broker, end, isTls, reason: 'no', retryInMs: 1 };
}

interface Told {
  readonly events: readonly SelfEvent[];
  readonly state?: Partial<ServiceState>;
  readonly checked?: Partial<Checked>;
  readonly nowMs?: number;
}

/** The problems, and with `all` what is fine or unknown, too. */
function codesOf(told: Told, all?: 'all'): readonly string[] {
  const found = findingsOf(told);
  return found
    .filter(({ grade }) => all === 'all' || grade === 'degraded' || grade === 'down')
    .map(({ code }) => code);
}

function findingsOf({ events, state = {}, checked, nowMs = 0 }: Told): readonly Finding[] {
  const health = new ServiceHealth();
  for (const event of events) health.note(event, 0);
  return judge({
    ...{ health, nowMs, unseenMs: MINUTE_MS, observedMs: 2 * MINUTE_MS },
    state: { phase: 'listening', workers: { ...NONE, known: 1, up: 1 }, queues: undefined, ...state },
    ...(checked && { checked: { ...UNCHECKED, ...checked } }),
  });
}

test('a broker that blocks publishers, or refuses them, does so until it is over or the session ends', () => {
  const unknown = ['workers-unasked', 'queues-unpolled'];
  assert.deepEqual(codesOf({ events: [CONNECTED, BLOCKED, REFUSED] }, 'all'), [
    ...['publishers-blocked', 'publishing-refused'],
    ...unknown,
  ]);
  const over: SelfEvent = { kind: 'publish-unblocked', ...of, broker: 'amqp://b', reason: '' };
  assert.deepEqual(codesOf({ events: [CONNECTED, BLOCKED, over] }), []);
  const again = [CONNECTED, BLOCKED, REFUSED, ended('amqp://b', 'lost'), CONNECTED];
  assert.deepEqual(codesOf({ events: again }, 'all'), unknown);
});

test('each address has its own failure until there is a connection', () => {
  const events = [
    ended('amqp://b', 'unreachable'),
    ended('amqp://c', 'refused'),
    ended('amqp://d', 'unreachable', true),
    ended('amqp://b', 'malformed'),
  ];
  assert.deepEqual(codesOf({ events, state: { phase: 'waiting' } }), [
    'broker-untrusted',
    'broker-refused',
    'broker-malformed',
  ]);
  assert.deepEqual(codesOf({ events: [...events, CONNECTED] }), []);
});

test('a broker that is away, silent or blocked explains what could not be asked or polled', () => {
  const events = [CONNECTED, UNASKED, UNPOLLED];
  assert.deepEqual(codesOf({ events }), ['remote-control-failed', 'queues-unread']);
  assert.deepEqual(codesOf({ events: [...events, ended('amqp://b', 'lost')], state: { phase: 'waiting' } }), [
    'connection-lost',
  ]);
  assert.deepEqual(codesOf({ events, checked: { silentMs: 4000 } }), ['broker-silent']);
  assert.deepEqual(codesOf({ events: [...events, BLOCKED] }), ['publishers-blocked', 'queues-unread']);
});

test('a broker that is away explains workers and queues, and so does a service without workers', () => {
  const state = {
    workers: {
      ...NONE,
      known: 2,
      gone: ['w1@a', 'w2@a'],
      silent: ['w1@a'],
      silentCount: 1,
      leftCount: 1,
      quietS: 90,
    },
    queues: { ...EMPTY, waiting: 40, unconsumed: [{ queue: 'mails', length: 40 }] },
  };
  const events = [CONNECTED];
  const [gone] = findingsOf({ events, state });
  assert.equal(gone?.line, 'no worker is up: w1@a, w2@a left or went silent, and 40 messages wait');
  assert.deepEqual(codesOf({ events, state }), ['workers-gone']);
  assert.deepEqual(codesOf({ events, state: { ...state, phase: 'waiting' } }), []);
  const oneUp = { ...state, workers: { ...state.workers, up: 1 } };
  assert.deepEqual(codesOf({ events, state: oneUp }), ['workers-silent', 'queue-without-consumers']);
});

test('workers that all said goodbye are missed only where messages wait, also once they are forgotten', () => {
  const events = [CONNECTED];
  const left = { ...NONE, known: 2, gone: ['w1@a', 'w2@a'], leftCount: 2, quietS: 90 };
  const queues = { ...EMPTY, waiting: 3 };
  for (const state of [{ workers: left }, { workers: NONE, formerWorkers: left }]) {
    assert.deepEqual(codesOf({ events, state: { ...state, queues: EMPTY } }), []);
    assert.ok(codesOf({ events, state: { ...state, queues: EMPTY } }, 'all').includes('workers-left'));
    assert.deepEqual(codesOf({ events, state: { ...state, queues } }), ['workers-gone']);
  }
  const silent = { ...left, leftCount: 1, quietS: 90, silentCount: 1 };
  assert.deepEqual(codesOf({ events, state: { workers: silent, queues: EMPTY } }), ['workers-gone']);
  const quiet: SelfEvent = {
    kind: 'events-missing',
    ...of,
    exchange: 'celeryev',
    forMs: MINUTE_MS,
    unread: 0,
  };
  const state = { workers: NONE, formerWorkers: left, queues: EMPTY };
  assert.deepEqual(codesOf({ events: [...events, quiet], state }), [], 'nobody sends events');
  assert.deepEqual(codesOf({ events: [...events, quiet], state: { ...state, formerWorkers: silent } }), [
    'workers-gone',
  ]);
  assert.deepEqual(codesOf({ events: [...events, quiet], state: { workers: NONE, queues: EMPTY } }), [
    'no-workers',
  ]);
});

test('tasks that fail often, or for the first time, are lost, wait or run long are named', () => {
  const task = { task: 'shop.pay', failed: 0, ended: 30, lost: 0, isFirstFailure: false, errors: [] };
  const troubles = { spanMs: 5 * MINUTE_MS, tasks: [task], failed: 0, lost: 0, crashes: [], eventsLost: [] };
  const linesOf = (tasks: Partial<typeof task>, more: Partial<ServiceState> = {}) =>
    findingsOf({
      events: [CONNECTED],
      state: { troubles: { ...troubles, tasks: [{ ...task, ...tasks }] }, ...more },
    })
      .filter(({ grade }) => grade !== 'unknown')
      .map(({ line }) => line);
  assert.deepEqual(linesOf({}), []);
  assert.deepEqual(linesOf({ failed: 3 }), [], 'that is a tenth');
  assert.deepEqual(linesOf({ failed: 2, ended: 2 }), [], 'too few');
  assert.deepEqual(linesOf({ failed: 6, isFirstFailure: true }), [
    'shop.pay fails often: 20 % of 30 runs in the last 5 min',
  ]);
  assert.deepEqual(linesOf({ failed: 1, isFirstFailure: true }), ['shop.pay failed for the first time']);
  assert.deepEqual(linesOf({ lost: 2 }), ['2 runs of shop.pay lost in the last 5 min']);
  assert.deepEqual(linesOf({ lost: 2 }, { phase: 'waiting' }), [], 'that is not of now');
  const old = { waiting: [{ queue: 'mails', ageS: 601 }], running: [{ queue: 'mails', ageS: 3600 }] };
  assert.deepEqual(linesOf({}, { old }), ['a task has waited in mails for 10 min']);
  const crashes = [
    { worker: 'w1@a', count: 3 },
    { worker: 'w2@a', count: 2 },
  ];
  assert.deepEqual(linesOf({}, { troubles: { ...troubles, crashes } }), [
    'w1@a crashes again and again: 3 restarts without a goodbye in half an hour',
  ]);
});

test('if all workers are deaf, or none sends task events, nothing works; else it is worse than it was', () => {
  const deaf: SelfEvent = { kind: 'worker-deaf', ...of, worker: 'w1@a' };
  const mute: SelfEvent = { kind: 'task-events-missing', ...of, workers: ['w1@a'], more: 0 };
  const gradesWith = (up: number) =>
    findingsOf({ events: [CONNECTED, deaf, mute], state: { workers: { ...NONE, known: up, up } } })
      .filter(({ grade }) => grade !== 'unknown')
      .map(({ grade }) => grade);
  assert.deepEqual(gradesWith(1), ['down', 'down']);
  assert.deepEqual(gradesWith(2), ['degraded', 'degraded']);
});

test('no worker is seen: signs of some are named, also while a bridge runs', () => {
  const queues = { ...EMPTY, consumed: 'orders', consumedCount: 1 };
  const state = { workers: NONE };
  const events = [CONNECTED];
  assert.deepEqual(codesOf({ events, state }), ['no-workers']);
  assert.deepEqual(codesOf({ events, state: { ...state, queues } }), ['workers-hidden']);
  assert.deepEqual(codesOf({ events, state, checked: { reachesWorkers: true } }), ['workers-hidden']);
  const checked = { elsewhere: 'the database 3', reachesWorkers: true };
  assert.deepEqual(codesOf({ events, state, checked }), ['workers-elsewhere']);
});

test('a reply that cannot be used is a problem for ten minutes', () => {
  const events = [CONNECTED, REPEATED];
  assert.deepEqual(codesOf({ events, nowMs: 9 * MINUTE_MS }), ['remote-control-faulty']);
  assert.deepEqual(codesOf({ events, nowMs: 11 * MINUTE_MS }), []);
});

test('workers without task events explain tasks that are never seen to run', () => {
  const state = { unseen: ['shop.quiet'] };
  const events = [CONNECTED];
  assert.deepEqual(codesOf({ events, state }), ['tasks-unseen']);
  assert.deepEqual(codesOf({ events, state, checked: { withoutTaskEvents: ['w1@a'] } }), ['task-events-off']);
  const missing: SelfEvent = { kind: 'task-events-missing', ...of, workers: ['w1@a'], more: 2 };
  assert.deepEqual(codesOf({ events: [...events, missing], state }), ['task-events-off']);
});

test('for a minute after the last goodbye others may follow', () => {
  const events = [CONNECTED];
  const left = { ...NONE, known: 1, gone: ['w1@a'], leftCount: 1, quietS: 20 };
  const queues = { ...EMPTY, waiting: 3 };
  assert.deepEqual(codesOf({ events, state: { workers: left, queues } }), []);
  assert.deepEqual(codesOf({ events, state: { workers: left, queues }, checked: {} }), ['workers-gone']);
  const silent = { ...left, leftCount: 0, silentCount: 1 };
  assert.deepEqual(codesOf({ events, state: { workers: silent, queues } }), ['workers-gone']);
});

test('a worker whose task events are off has lost none', () => {
  const lost = { worker: 'w1@a', count: 4 };
  const state = {
    troubles: { spanMs: MINUTE_MS, tasks: [], failed: 0, lost: 0, crashes: [], eventsLost: [lost] },
  };
  const events = [CONNECTED];
  assert.deepEqual(codesOf({ events, state }), ['events-lost']);
  assert.deepEqual(codesOf({ events, state, checked: { withoutTaskEvents: ['w1@a'] } }), ['task-events-off']);
  const missing: SelfEvent = { kind: 'task-events-missing', ...of, workers: ['w1@a'], more: 0 };
  assert.deepEqual(codesOf({ events: [...events, missing], state }), ['task-events-off']);
});

test('a periodic task is stale without a success for too long, from the start at first, and not while the broker is away', () => {
  const periodic = (succeededAgoS: number | undefined) => [
    { task: 'shop.report', staleAfterS: 90, succeededAgoS },
    { task: 'shop.sync', staleAfterS: 900, succeededAgoS },
  ];
  const lines = (state: Partial<ServiceState>) =>
    findingsOf({ events: [CONNECTED], state }).flatMap(({ code, line }) =>
      code === 'task-stale' ? line : [],
    );
  assert.deepEqual(lines({ periodic: periodic(90) }), []);
  assert.deepEqual(lines({ periodic: periodic(91) }), ['shop.report has not succeeded for 91 s']);
  assert.deepEqual(lines({ periodic: periodic(900 * 60) }), [
    'shop.report has not succeeded for 15 h',
    'shop.sync has not succeeded for 15 h',
  ]);
  assert.deepEqual(lines({ periodic: periodic(undefined) }), ['shop.report has not succeeded for 2 min']);
  assert.deepEqual(lines({ periodic: periodic(91), phase: 'waiting' }), []);
});
