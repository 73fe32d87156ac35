/**
 * Decodes a broker's message into events, and rejects with a reason whatever it cannot decode. Pure: no clock, no state
 * except the reserve of processor time that is passed in, and no input makes it throw.
 */
import type { RawMessage } from '../broker/broker.ts';
import { isJsonObject } from '../text/json-structure.ts';
import { BODY_LIMITS } from './body-limits.ts';
import { open } from './envelope.ts';
import type { CeleryEvent } from './event.ts';
import { EVENT_TYPES, type EventType } from './event-types.ts';
import type { ExpansionReserve } from './expansion.ts';
import { type DecodeWants, withExtras } from './extras.ts';
import { epochMs, identifier, implausibleTime, name } from './fields.ts';
import {
  type Findings,
  type Implausible,
  NOTHING_IMPLAUSIBLE,
  NUMERIC_FIELDS,
  numeric,
} from './numeric-fields.ts';
import { type Rejection, reject } from './rejection.ts';

export type { DecodeWants };

/** The events of a message in their order, and the rejections of its other parts. */
export interface Decoded {
  readonly events: readonly CeleryEvent[];
  readonly rejections: readonly Rejection[];
  /** Fields of these events that were ignored because their values are implausible. */
  readonly implausible: readonly Implausible[];
}

const BATCH_EVENTS_MAX = BODY_LIMITS.batch.max;

const NO_EVENTS: readonly CeleryEvent[] = [];
const NO_REJECTIONS: readonly Rejection[] = [];

/**
 * A body is one event or a list of events (Celery: events/receiver.py). The body alone decides which, because the routing
 * key is not reliable.
 * @param listenedMs the current time of a monotonic clock, ms
 * @param reserve the processor time for decompressing all bodies of a service; undefined: the message gets its own
 * @param wants which optional fields to read
 */
export function decode(
  message: RawMessage,
  listenedMs = 0,
  reserve?: ExpansionReserve,
  wants?: DecodeWants,
): Decoded {
  const opened = open(message, listenedMs, reserve, wants?.errors);
  if (!opened.ok) return rejectedWhole(opened.rejection);
  const { value } = opened;
  const { arrivedAtMs } = message;
  if (!Array.isArray(value)) return decodeSingle(value, arrivedAtMs, wants);
  const list: readonly unknown[] = value;
  if (list.length === 0) return rejectedWhole(reject('empty-batch', '[]'));
  if (list.length > BATCH_EVENTS_MAX)
    return rejectedWhole(reject('batch-too-long', `${list.length} elements`));
  return decodeBatch(list, arrivedAtMs, wants);
}

function decodeSingle(value: unknown, arrivedAtMs: number, wants: DecodeWants | undefined): Decoded {
  const decoded = { events: NO_EVENTS, rejections: NO_REJECTIONS, implausible: NOTHING_IMPLAUSIBLE };
  const outcome = readEvent(value, arrivedAtMs, decoded, wants);
  if (isEvent(outcome)) decoded.events = [wants === undefined ? outcome : withExtras(outcome, value, wants)];
  else decoded.rejections = [outcome];
  return decoded;
}

function rejectedWhole(rejection: Rejection): Decoded {
  return { events: NO_EVENTS, rejections: [rejection], implausible: NOTHING_IMPLAUSIBLE };
}

function decodeBatch(list: readonly unknown[], arrivedAtMs: number, wants: DecodeWants | undefined): Decoded {
  const events: CeleryEvent[] = [];
  const rejections: Rejection[] = [];
  const decoded = { events, rejections, implausible: NOTHING_IMPLAUSIBLE };
  for (const value of list) {
    const outcome = readEvent(value, arrivedAtMs, decoded, wants);
    if (isEvent(outcome)) events.push(wants === undefined ? outcome : withExtras(outcome, value, wants));
    else rejections.push(outcome);
  }
  return decoded;
}

function isEvent(outcome: CeleryEvent | Rejection): outcome is CeleryEvent {
  return 'type' in outcome;
}

/** @param findings collects the fields that are ignored; a rejected event adds none */
function readEvent(
  raw: unknown,
  arrivedAtMs: number,
  findings: Findings,
  wants: DecodeWants | undefined,
): CeleryEvent | Rejection {
  if (!isJsonObject(raw))
    return reject('not-an-event', raw === null ? 'null' : Array.isArray(raw) ? 'a list' : typeof raw);
  const typeName = raw['type'];
  if (typeof typeName !== 'string' || typeName === '')
    return reject('missing-type', `type is ${typeof typeName}`);
  const type = EVENT_TYPES.get(typeName);
  if (type === undefined || !isWanted(type, wants)) return reject('unknown-type', 'custom event');
  const hostname = name(raw['hostname']);
  if (hostname === '') return reject('missing-hostname', typeName);
  const ownMs = epochMs(raw['timestamp']);
  if (ownMs === undefined) return reject('bad-timestamp', typeName);
  const uuid = type.group === 'task' ? identifier(raw['uuid']) : '';
  if (type.group === 'task' && uuid === '') return reject('missing-uuid', typeName);
  const implausibleMs = implausibleTime(ownMs, arrivedAtMs, findings);
  const timestampMs = implausibleMs === undefined ? ownMs : arrivedAtMs;
  const pid = numeric(raw['pid'], NUMERIC_FIELDS.pid, findings) ?? 0;
  const clock = numeric(raw['clock'], NUMERIC_FIELDS.clock, findings) ?? -1;
  return type.group === 'task'
    ? type.read(raw, { hostname, pid, clock, timestampMs, implausibleMs, uuid }, findings)
    : type.read(raw, { hostname, pid, clock, timestampMs, implausibleMs }, findings);
}

function isWanted(type: EventType, wants: DecodeWants | undefined): boolean {
  return type.group === 'worker' || type.wanted === undefined || wants?.[type.wanted] === true;
}
