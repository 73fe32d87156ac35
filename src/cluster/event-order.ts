/**
 * The order in which the events of one task happened. It follows from the events alone, so that the order in which they
 * reach us makes no difference.
 */
import type { HeldEvent, WorkerTaskEvent } from './task.ts';

/** Of events of one task at the same time by the same clock, in this order. */
const RANKS: Readonly<Record<WorkerTaskEvent['type'], number>> = {
  'task-received': 1,
  'task-started': 2,
  'task-retried': 3,
  'task-failed': 4,
  'task-succeeded': 5,
  'task-rejected': 6,
  'task-revoked': 7,
  'task-cancelled': 8,
};

/** A number for each type. */
export function rankOf(type: WorkerTaskEvent['type']): number {
  return RANKS[type];
}

/** Whether one happened before the other. */
export function isBefore(one: HeldEvent, other: HeldEvent): boolean {
  if ((one.disbelieved || other.disbelieved) && one.instance === other.instance) {
    // When they reached us is known, but one may have overtaken the other; the logical clock of a process never lies.
    if (one.clock !== other.clock && one.clock >= 0 && other.clock >= 0) return one.clock < other.clock;
  }
  if (one.timestampMs !== other.timestampMs) return one.timestampMs < other.timestampMs;
  if (one.clock !== other.clock) return one.clock < other.clock;
  const ranks = RANKS[one.type] - RANKS[other.type];
  if (ranks !== 0) return ranks < 0;
  if (one.instance.nodename !== other.instance.nodename)
    return one.instance.nodename < other.instance.nodename;
  return one.instance.pid < other.instance.pid;
}
