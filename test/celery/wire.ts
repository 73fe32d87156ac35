/** Celery's events on the wire, one of each type, and messages that carry them. */
import type { RawMessage } from '../../src/broker/broker.ts';
import { type DecodeWants, decode } from '../../src/celery/decode.ts';
import type { CeleryEvent } from '../../src/celery/event.ts';

/** An event of the wire: anything may be in it. */
export type WireEvent = Readonly<Record<string, unknown>>;

export const UUID = '904eb9db-a232-4745-bcca-417c67cab09d';

const WORKER = { hostname: 'w1@vm', utcoffset: 0.0, pid: 13842 };
const FIGURES = {
  freq: 2.0,
  active: 1,
  processed: 42,
  loadavg: [1.03, 0.42, 0.21],
  sw_ident: 'py-celery',
  sw_ver: '5.7.0',
  sw_sys: 'Linux',
};

/** As sent by Celery 5.7 with its prefork pool; only the task-cancelled is derived from its source code. */
export const WIRE_EVENTS: Readonly<Record<CeleryEvent['type'], WireEvent>> = {
  'task-sent': {
    hostname: 'gen13864@vm',
    utcoffset: 0.0,
    pid: 13864,
    clock: 1,
    uuid: UUID,
    root_id: UUID,
    parent_id: null,
    name: 'shop.pay',
    args: "(17, 'é')",
    kwargs: '{}',
    retries: 0,
    eta: '2026-11-21T03:19:13.694047+00:00',
    expires: '2026-11-21T03:20:11.694047+00:00',
    queue: 'orders',
    exchange: '',
    routing_key: 'orders.usual',
    timestamp: 1795260275.3848267,
    type: 'task-sent',
  },
  'task-received': {
    ...WORKER,
    clock: 6,
    uuid: UUID,
    name: 'shop.pay',
    args: "(17, 'é')",
    kwargs: '{}',
    root_id: UUID,
    parent_id: null,
    retries: 1,
    eta: null,
    expires: null,
    timestamp: 1795260275.3876038,
    type: 'task-received',
  },
  'task-started': { ...WORKER, clock: 11, uuid: UUID, timestamp: 1795260275.39, type: 'task-started' },
  'task-succeeded': {
    ...WORKER,
    clock: 107,
    uuid: UUID,
    result: "{'paid': True}",
    runtime: 0.0010044379996543285,
    timestamp: 1795260275.912814,
    type: 'task-succeeded',
  },
  'task-failed': {
    ...WORKER,
    clock: 35,
    uuid: UUID,
    exception: "KeyError('k')",
    traceback:
      'Traceback (most recent call last):\n  File "/srv/shop.py", line 20, in pay\nKeyError: \'k\'\n',
    timestamp: 1795260275.4862225,
    type: 'task-failed',
  },
  'task-retried': {
    ...WORKER,
    clock: 36,
    uuid: UUID,
    exception: 'Retry(Retry(...), TimeoutError(), 0.5)',
    traceback: 'Traceback (most recent call last):\n  File "/srv/shop.py", line 21, in pay\nTimeoutError\n',
    timestamp: 1795260275.49,
    type: 'task-retried',
  },
  'task-rejected': {
    ...WORKER,
    clock: 101,
    uuid: UUID,
    requeue: true,
    timestamp: 1795260275.9032729,
    type: 'task-rejected',
  },
  'task-revoked': {
    ...WORKER,
    clock: 51,
    uuid: UUID,
    terminated: true,
    signum: 15,
    expired: false,
    timestamp: 1795260274.77,
    type: 'task-revoked',
  },
  'task-cancelled': { ...WORKER, clock: 52, uuid: UUID, timestamp: 1795260274.78, type: 'task-cancelled' },
  // As a handler of the signal task_prerun sends it, from the process that runs the task.
  'task-traced': {
    ...WORKER,
    pid: 4712,
    clock: 12,
    uuid: UUID,
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    parent_span_id: '5fb397be34d26b51',
    retries: 1,
    timestamp: 1795260274.79,
    type: 'task-traced',
  },
  'worker-online': {
    ...WORKER,
    clock: 2,
    ...FIGURES,
    active: 0,
    processed: 0,
    timestamp: 1795260272.67,
    type: 'worker-online',
  },
  'worker-heartbeat': {
    ...WORKER,
    clock: 4,
    ...FIGURES,
    timestamp: 1795260274.6784394,
    type: 'worker-heartbeat',
  },
  'worker-offline': {
    ...WORKER,
    clock: 146,
    ...FIGURES,
    timestamp: 1795260290.4715068,
    type: 'worker-offline',
  },
};

/** A message with that body: bytes and strings unchanged, anything else as JSON. */
export function message(body: unknown, overrides: Partial<RawMessage> = {}): RawMessage {
  return {
    arrivedAtMs: 1_795_260_275_400,
    exchange: 'celeryev',
    routingKey: 'task.multi',
    contentType: 'application/json',
    contentEncoding: 'utf-8',
    headers: { hostname: 'w1@vm' },
    body: Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    ...overrides,
  };
}

/** The types of the events and the reasons of the rejections that a message is decoded into. */
export function outcome(
  of: RawMessage,
  wants?: DecodeWants,
): { types: readonly string[]; reasons: readonly string[] } {
  const { events, rejections } = decode(of, 0, undefined, wants);
  return { types: events.map(({ type }) => type), reasons: rejections.map(({ reason }) => reason) };
}

/** The event without one of its fields. */
export function without(event: WireEvent, field: string): WireEvent {
  return Object.fromEntries(Object.entries(event).filter(([key]) => key !== field));
}

/** Only so that all event types are read. */
export const TRACED = { lineage: false, errors: false, arguments: false, traced: true };
/** All that traces and logs can want. */
export const EVERYTHING = { lineage: true, errors: true, arguments: true, traced: true };
