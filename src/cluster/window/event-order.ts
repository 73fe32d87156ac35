/**
 * The order in which the events of one task happened: those of one process by its logical clock, all others by time. The
 * order of arrival makes no difference, unless a clock was adjusted while several processes had the task.
 */

import type { Run } from '../tasks/run.ts';
import type { HeldEvent, WorkerTaskEvent } from '../tasks/task.ts';
import { compareSent, isFarBefore, placesAfter } from '../workers/process-identity.ts';
import { LATE_EVENTS_MS } from './lateness.ts';

/** The order of events of one task at the same time by the same clock. */
export const RANKS: Readonly<Record<WorkerTaskEvent['type'], number>> = {
  'task-received': 1,
  'task-started': 2,
  'task-retried': 3,
  'task-failed': 4,
  'task-succeeded': 5,
  'task-rejected': 6,
  'task-revoked': 7,
  'task-cancelled': 8,
};

/** An event at its place in the arrivals of a pid. */
type Placed = Pick<HeldEvent, 'instance' | 'place'>;

/** Whether one process sent them, as far as known: where the logical clock fell, another one may have started. */
export function isOfOneProcess(one: Placed, other: Placed): boolean {
  const instance = one.instance.at(one.place);
  if (instance !== other.instance.at(other.place)) return false;
  const { fallenAt } = instance.arrivals;
  const isBeforeFall = ({ place }: Placed) => fallenAt !== undefined && placesAfter(place, fallenAt) < 0;
  return isBeforeFall(one) === isBeforeFall(other);
}

/** Whether two processes sent them, one after the other with the same pid. */
function isOfAnother(one: HeldEvent, other: HeldEvent): boolean {
  if (one.instance.hash !== other.instance.hash || isOfOneProcess(one, other)) return false;
  if (one.instance.at(one.place) !== other.instance.at(other.place)) return true;
  const areTimesKnown = !one.implausibleTime && !other.implausibleTime;
  if (!areTimesKnown || one.clock < other.clock === one.timestampMs < other.timestampMs) return false;
  return isFarBefore(Math.min(one.clock, other.clock), Math.max(one.clock, other.clock));
}

/**
 * Whether processes of one worker with different pids sent them, and their times do not show which came first: if times
 * contradict the order of arrival by too much, the host’s clock was adjusted.
 */
function isOrderOfArrival(one: HeldEvent, other: HeldEvent): boolean {
  const { nodename, pid } = other.instance;
  if (one.instance.pid === pid || one.instance.nodename !== nodename) return false;
  if (one.implausibleTime || other.implausibleTime) return true;
  return other.timestampMs - one.timestampMs > LATE_EVENTS_MS;
}

/** Whether one happened before the other, which arrived first. */
export function isBefore(one: HeldEvent, other: HeldEvent): boolean {
  if (isOrderOfArrival(one, other)) return false;
  if (isOfAnother(one, other)) return placesAfter(one.place, other.place) < 0;
  const order =
    compareSent(one, other, one.instance.hash === other.instance.hash) || RANKS[one.type] - RANKS[other.type];
  if (order !== 0) return order < 0;
  if (one.instance.nodename !== other.instance.nodename)
    return one.instance.nodename < other.instance.nodename;
  return one.instance.pid < other.instance.pid;
}

/** A retry is received before the end of the run before it, which may have been missed; and it waits for its ETA. */
export function isRetryAfter({ stage, sinceMs }: Run, { outcome, timestampMs }: HeldEvent): boolean {
  return outcome === 'retried' && stage === 'scheduled' && sinceMs > timestampMs;
}
