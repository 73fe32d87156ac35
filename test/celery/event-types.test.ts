import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../../src/celery/decode.ts';
import type { CeleryEvent } from '../../src/celery/event.ts';
import { EVENT_TYPES } from '../../src/celery/event-types.ts';
import { message, outcome, TRACED, UUID, WIRE_EVENTS, type WireEvent, without } from './wire.ts';

const WORKER = { hostname: 'w1@vm', pid: 13842, implausibleMs: undefined };
const FIGURES = {
  freqS: 2,
  processed: 42,
  loadavg: [1.03, 0.42, 0.21],
  softwareVersion: '5.7.0',
  softwareSystem: 'Linux',
} as const;

/** The expected decoded event for each type. */
const READ: Readonly<Record<CeleryEvent['type'], CeleryEvent>> = {
  'task-sent': {
    type: 'task-sent',
    hostname: 'gen13864@vm',
    pid: 13864,
    clock: 1,
    timestampMs: 1795260275384.8267,
    implausibleMs: undefined,
    uuid: UUID,
    name: 'shop.pay',
    queue: 'orders',
    routingKey: 'orders.usual',
    etaMs: Date.UTC(2026, 10, 21, 3, 19, 13, 694),
    expiresMs: Date.UTC(2026, 10, 21, 3, 20, 11, 694),
    retries: 0,
  },
  'task-received': {
    type: 'task-received',
    ...WORKER,
    clock: 6,
    timestampMs: 1795260275387.6038,
    uuid: UUID,
    name: 'shop.pay',
    etaMs: undefined,
    expiresMs: undefined,
    retries: 1,
    hasNoParent: true,
  },
  'task-started': { type: 'task-started', ...WORKER, clock: 11, timestampMs: 1795260275390, uuid: UUID },
  'task-succeeded': {
    type: 'task-succeeded',
    ...WORKER,
    clock: 107,
    timestampMs: 1795260275912.814,
    uuid: UUID,
    runtimeS: 0.0010044379996543285,
  },
  'task-failed': {
    type: 'task-failed',
    ...WORKER,
    clock: 35,
    timestampMs: 1795260275486.2224,
    uuid: UUID,
    errorType: 'KeyError',
    rejection: false,
  },
  'task-retried': {
    type: 'task-retried',
    ...WORKER,
    clock: 36,
    timestampMs: 1795260275490,
    uuid: UUID,
    errorType: 'TimeoutError',
  },
  'task-rejected': {
    type: 'task-rejected',
    ...WORKER,
    clock: 101,
    timestampMs: 1795260275903.2729,
    uuid: UUID,
    requeue: true,
  },
  'task-revoked': {
    type: 'task-revoked',
    ...WORKER,
    clock: 51,
    timestampMs: 1795260274770,
    uuid: UUID,
    terminated: true,
    expired: false,
  },
  'task-cancelled': { type: 'task-cancelled', ...WORKER, clock: 52, timestampMs: 1795260274780, uuid: UUID },
  'task-traced': {
    type: 'task-traced',
    ...WORKER,
    pid: 4712,
    clock: 12,
    timestampMs: 1795260274790,
    uuid: UUID,
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    parentSpanId: '5fb397be34d26b51',
    retries: 1,
  },
  'worker-online': {
    type: 'worker-online',
    ...WORKER,
    clock: 2,
    timestampMs: 1795260272670,
    ...FIGURES,
    active: 0,
    processed: 0,
  },
  'worker-heartbeat': {
    type: 'worker-heartbeat',
    ...WORKER,
    clock: 4,
    timestampMs: 1795260274678.4395,
    ...FIGURES,
    active: 1,
  },
  'worker-offline': {
    type: 'worker-offline',
    ...WORKER,
    clock: 146,
    timestampMs: 1795260290471.5068,
    ...FIGURES,
    active: 1,
  },
};

test('every event type of the table is tested here', () => {
  assert.deepEqual(Object.keys(READ).sort(), [...EVENT_TYPES.keys()].sort());
});

for (const [type, expected] of Object.entries(READ)) {
  test(`a ${type} is decoded into its own fields only`, () => {
    const wire = WIRE_EVENTS[expected.type];
    const { events, rejections } = decode(
      message({ ...wire, some_field_of_tomorrow: 1 }),
      0,
      undefined,
      TRACED,
    );
    assert.deepEqual(rejections, []);
    assert.deepEqual(events, [expected]);
  });
}

/** Not a value of the right type for any field. */
const WRONG: readonly unknown[] = [null, true, [], {}, [[]], { __type__: 'decimal', __value__: '1.5' }];
/** Required fields, and the reason under which a missing one is counted. */
const NEEDED: Readonly<Record<string, string>> = {
  type: 'missing-type',
  hostname: 'missing-hostname',
  timestamp: 'bad-timestamp',
  uuid: 'missing-uuid',
};

for (const [type, wire] of Object.entries(WIRE_EVENTS)) {
  test(`each field of a ${type} may be missing or have a wrong type`, () => {
    for (const field of Object.keys(wire)) {
      const broken: readonly WireEvent[] = [
        without(wire, field),
        ...WRONG.map((value) => ({ ...wire, [field]: value })),
      ];
      for (const event of broken) {
        const { types, reasons } = outcome(message(event), TRACED);
        const reason = NEEDED[field];
        const expected =
          reason === undefined ? { types: [type], reasons: [] } : { types: [], reasons: [reason] };
        assert.deepEqual({ types, reasons }, expected, `${field}: ${JSON.stringify(event[field])}`);
      }
    }
  });
}

/** What is read where a field is missing. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  ...{ pid: 0, clock: -1, implausibleMs: undefined, retries: 0 },
  ...{ name: '', queue: '', routingKey: '', etaMs: undefined, expiresMs: undefined, hasNoParent: false },
  ...{ runtimeS: undefined, errorType: 'unknown', rejection: false, requeue: false },
  ...{ terminated: false, expired: false, traceparent: '', parentSpanId: '' },
  ...{ freqS: undefined, active: undefined, processed: undefined, loadavg: undefined },
  ...{ softwareVersion: '', softwareSystem: '' },
};

test('a missing field becomes the documented default, never a guess', () => {
  for (const [type, whole] of Object.entries(READ)) {
    const bare = message({ type, hostname: 'w1@vm', uuid: UUID, timestamp: 1795260275 });
    const { events } = decode(bare, 0, undefined, TRACED);
    const needed = { type, hostname: 'w1@vm', uuid: UUID, timestampMs: 1795260275000 };
    const read: Readonly<Record<string, unknown>> = { ...needed, ...DEFAULTS };
    const expected = Object.fromEntries(Object.keys(whole).map((field) => [field, read[field]]));
    assert.deepEqual(events, [expected]);
  }
});

test('a receipt says that no task has sent it, if its protocol has parents', () => {
  for (const [lineage, expected] of [
    [{ root_id: 'a', parent_id: null }, true],
    [{ root_id: 'a', parent_id: 'a' }, false],
    [{ root_id: null, parent_id: null }, false],
    [{ root_id: 'a', parent_id: undefined }, false],
    [{ root_id: 'a', parent_id: 7 }, false],
  ] as const) {
    const [event] = decode(message({ ...WIRE_EVENTS['task-received'], ...lineage })).events;
    assert.ok(event?.type === 'task-received');
    assert.equal(event.hasNoParent, expected, JSON.stringify(lineage));
  }
});

test('versions and systems are cut at 64 characters and stay well-formed', () => {
  const { events } = decode(
    message({
      ...WIRE_EVENTS['worker-heartbeat'],
      sw_ver: `5.7.0 ${'x'.repeat(255)}`,
      sw_sys: `${'x'.repeat(63)}😀`,
    }),
  );
  assert.deepEqual(
    events.map((event) => 'softwareVersion' in event && [event.softwareVersion, event.softwareSystem]),
    [[`5.7.0 ${'x'.repeat(58)}`, `${'x'.repeat(63)}\ufffd`]],
  );
});
