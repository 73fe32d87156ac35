/** The judge of one service: causes hide their consequences, and a trouble that is over is no problem. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Checked, judge } from '../../src/health/judge.ts';
import { ServiceHealth } from '../../src/health/service-health.ts';
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
const NONE = { known: 0, up: 0, deaf: 0, active: 0, gone: [], silent: [], silentCount: 0 };
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

function codesOf({ events, state = {}, checked, nowMs = 0 }: Told): readonly string[] {
  const health = new ServiceHealth();
  for (const event of events) health.note(event, 0);
  const found = judge({
    ...{ health, nowMs, unseenMs: MINUTE_MS, observedMs: 2 * MINUTE_MS },
    state: { phase: 'listening', workers: { ...NONE, known: 1, up: 1 }, queues: undefined, ...state },
    ...(checked && { checked: { ...UNCHECKED, ...checked } }),
  });
  return found.map(({ code }) => code);
}

test('a broker that blocks publishers, or refuses them, does so until it is over or the session ends', () => {
  assert.deepEqual(codesOf({ events: [CONNECTED, BLOCKED, REFUSED] }), [
    'publishers-blocked',
    'publishing-refused',
  ]);
  const over: SelfEvent = { kind: 'publish-unblocked', ...of, broker: 'amqp://b', reason: '' };
  assert.deepEqual(codesOf({ events: [CONNECTED, BLOCKED, over] }), []);
  const again = [CONNECTED, BLOCKED, REFUSED, ended('amqp://b', 'lost'), CONNECTED];
  assert.deepEqual(codesOf({ events: again }), []);
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

test('a broker that is away explains workers and queues, too', () => {
  const state = {
    workers: { ...NONE, known: 2, gone: ['w1@a', 'w2@a'], silent: ['w1@a'], silentCount: 1 },
    queues: {
      ...{ polled: 1, waiting: 40, ageMs: 0, consumed: undefined },
      unconsumed: [{ queue: 'mails', length: 40 }],
    },
  };
  const events = [CONNECTED];
  assert.deepEqual(codesOf({ events, state }), ['workers-gone', 'queue-without-consumers']);
  assert.deepEqual(codesOf({ events, state: { ...state, phase: 'waiting' } }), []);
  assert.deepEqual(codesOf({ events, state, checked: { hasUnwatched: true } }), ['queue-without-consumers']);
});

test('no worker is seen: signs of some are named, also while a bridge runs', () => {
  const queues = { polled: 1, waiting: 0, ageMs: 0, unconsumed: [], consumed: 'orders' };
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
