/**
 * The table of event types, with a reader for each. An event of another type, or of a type that is not wanted, counts as a
 * custom event. A reader reads only the fields that `event.ts` declares.
 */
import { errorType, failureOf, unregistered } from './error-type.ts';
import type { CeleryEvent, EventBase, TaskEventBase, WorkerSignal } from './event.ts';
import type { DecodeWants } from './extras.ts';
import { identifier, isoMs, loadAverages, name, type RawFields } from './fields.ts';
import { type Findings, NUMERIC_FIELDS, numeric } from './numeric-fields.ts';

/** How to read one type of event. Task events must have the uuid of a task; worker events have none. */
export type EventType =
  | {
      readonly group: 'task';
      readonly read: Read<TaskEventBase>;
      /** The optional field that must be wanted for the event to be read; absent if the event is always read. */
      readonly wanted?: keyof DecodeWants;
    }
  | { readonly group: 'worker'; readonly read: Read<EventBase> };

type Read<Base> = (raw: RawFields, base: Base, findings: Findings) => CeleryEvent;

/** UTF-16 units of the name of a version or an operating system; real ones have at most about half as many. */
const VERSION_CHARS_MAX = 64;

/** See "Event Reference" in Celery's documentation, and worker/request.py and app/amqp.py for the fields. */
const TABLE: Record<CeleryEvent['type'], EventType> = {
  'task-sent': {
    group: 'task',
    read: (raw, base, findings) => ({
      ...base,
      type: 'task-sent',
      name: name(raw['name']),
      queue: name(raw['queue']),
      routingKey: name(raw['routing_key']),
      etaMs: isoMs(raw['eta'], NUMERIC_FIELDS.eta, findings),
      expiresMs: isoMs(raw['expires'], NUMERIC_FIELDS.expires, findings),
      retries: numeric(raw['retries'], NUMERIC_FIELDS.retries, findings) ?? 0,
    }),
  },
  'task-received': {
    group: 'task',
    read: (raw, base, findings) => ({
      ...base,
      type: 'task-received',
      name: name(raw['name']),
      etaMs: isoMs(raw['eta'], NUMERIC_FIELDS.eta, findings),
      expiresMs: isoMs(raw['expires'], NUMERIC_FIELDS.expires, findings),
      retries: numeric(raw['retries'], NUMERIC_FIELDS.retries, findings) ?? 0,
      // Without a root id, the message uses an older protocol, which has no parents.
      hasNoParent: raw['parent_id'] === null && typeof raw['root_id'] === 'string',
    }),
  },
  'task-started': { group: 'task', read: (_raw, base) => ({ ...base, type: 'task-started' }) },
  'task-succeeded': {
    group: 'task',
    read: (raw, base, findings) => ({
      ...base,
      type: 'task-succeeded',
      runtimeS: numeric(raw['runtime'], NUMERIC_FIELDS.runtime, findings),
    }),
  },
  'task-failed': {
    group: 'task',
    read: (raw, base) => ({
      ...base,
      type: 'task-failed',
      ...failureOf(raw['exception'], raw['traceback']),
      ...unregistered(raw['exception'], raw['traceback']),
    }),
  },
  'task-retried': {
    group: 'task',
    read: (raw, base) => ({
      ...base,
      type: 'task-retried',
      errorType: errorType(raw['exception'], raw['traceback']),
    }),
  },
  'task-rejected': {
    group: 'task',
    read: (raw, base) => ({ ...base, type: 'task-rejected', requeue: raw['requeue'] === true }),
  },
  'task-revoked': {
    group: 'task',
    read: (raw, base) => ({
      ...base,
      type: 'task-revoked',
      terminated: raw['terminated'] === true,
      expired: raw['expired'] === true,
    }),
  },
  'task-cancelled': { group: 'task', read: (_raw, base) => ({ ...base, type: 'task-cancelled' }) },
  'task-traced': {
    group: 'task',
    wanted: 'traced',
    read: (raw, base, findings) => ({
      ...base,
      type: 'task-traced',
      traceparent: identifier(raw['traceparent']),
      parentSpanId: identifier(raw['parent_span_id']),
      retries: numeric(raw['retries'], NUMERIC_FIELDS.retries, findings) ?? 0,
    }),
  },
  'worker-online': { group: 'worker', read: signal('worker-online') },
  'worker-heartbeat': { group: 'worker', read: signal('worker-heartbeat') },
  'worker-offline': { group: 'worker', read: signal('worker-offline') },
};

/** Event types by name. It is a Map, in which a type such as `constructor` is not found. */
export const EVENT_TYPES: ReadonlyMap<string, EventType> = new Map(Object.entries(TABLE));

function signal(type: WorkerSignal['type']): Read<EventBase> {
  return (raw, base, findings) => ({
    ...base,
    type,
    active: numeric(raw['active'], NUMERIC_FIELDS.active, findings),
    processed: numeric(raw['processed'], NUMERIC_FIELDS.processed, findings),
    loadavg: loadAverages(raw['loadavg'], findings),
    freqS: numeric(raw['freq'], NUMERIC_FIELDS.freq, findings),
    softwareVersion: name(raw['sw_ver'], VERSION_CHARS_MAX),
    softwareSystem: name(raw['sw_sys'], VERSION_CHARS_MAX),
  });
}
