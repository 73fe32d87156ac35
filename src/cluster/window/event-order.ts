/**
 * Decides in which order the events of one task happened: events of one process by its logical clock, all others by time. The
 * order of arrival makes no difference, unless a clock was adjusted while several processes had the task. It sorts nothing.
 */

import type { Run } from '../tasks/run.ts';
import type { HeldEvent, WorkerTaskEvent } from '../tasks/task.ts';
import { compareSent, isFarBefore, placesAfter } from '../workers/process-identity.ts';
import { LATE_EVENTS_MS } from './lateness.ts';

/** The order of those events of one task whose times are equal. */
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

/** An event of a pid, and its place, which is its number among the arrivals of that pid. */
type Placed = Pick<HeldEvent, 'instance' | 'place'>;

/** Whether one process sent both, as far as known: where the logical clock fell, another process may have started. */
export function isOfOneProcess(one: Placed, other: Placed): boolean {
  const instance = one.instance.at(one.place);
  if (instance !== other.instance.at(other.place)) return false;
  const { fallenAt } = instance.arrivals;
  const isBeforeFall = ({ place }: Placed) => fallenAt !== undefined && placesAfter(place, fallenAt) < 0;
  return isBeforeFall(one) === isBeforeFall(other);
}

/** Whether two processes sent them that had the same pid one after the other. */
function isOfSuccessors(one: HeldEvent, other: HeldEvent): boolean {
  if (one.instance.hash !== other.instance.hash || isOfOneProcess(one, other)) return false;
  if (one.instance.at(one.place) !== other.instance.at(other.place)) return true;
  const areTimesKnown = !one.implausibleTime && !other.implausibleTime;
  if (!areTimesKnown || one.clock < other.clock === one.timestampMs < other.timestampMs) return false;
  return isFarBefore(Math.min(one.clock, other.clock), Math.max(one.clock, other.clock));
}

/**
 * Whether only the order of arrival counts: processes of one worker with different pids sent the events, and the times do not show
 * which came first. If times contradict the order of arrival by too much, the host’s clock was adjusted.
 */
function countsOnlyArrival(one: HeldEvent, other: HeldEvent): boolean {
  const { nodename, pid } = other.instance;
  if (one.instance.pid === pid || one.instance.nodename !== nodename) return false;
  if (one.implausibleTime || other.implausibleTime) return true;
  return other.timestampMs - one.timestampMs > LATE_EVENTS_MS;
}

/** Whether one event happened before the other. @param other the event that arrived first */
export function isBefore(one: HeldEvent, other: HeldEvent): boolean {
  if (countsOnlyArrival(one, other)) return false;
  if (isOfSuccessors(one, other)) return placesAfter(one.place, other.place) < 0;
  const order =
    compareSent(one, other, one.instance.hash === other.instance.hash) || RANKS[one.type] - RANKS[other.type];
  if (order !== 0) return order < 0;
  if (one.instance.nodename !== other.instance.nodename)
    return one.instance.nodename < other.instance.nodename;
  return one.instance.pid < other.instance.pid;
}

/** Whether the run is the retry that this end announces: it waits for its ETA, and was received before the end of the last run. */
export function isRetryAfter({ stage, sinceMs }: Run, { outcome, timestampMs }: HeldEvent): boolean {
  return outcome === 'retried' && stage === 'scheduled' && sinceMs > timestampMs;
}
