/**
 * The order in which the events of one task happened: those of one process by its logical clock, all others by time. It
 * follows from the events alone, so that the order in which they reach us makes no difference, unless a clock was set back
 * while several processes had the task.
 */
import type { HeldEvent, WorkerTaskEvent } from './task.ts';
import { apart } from './word-order.ts';

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
  const order = apart(one, other, one.instance === other.instance) || RANKS[one.type] - RANKS[other.type];
  if (order !== 0) return order < 0;
  if (one.instance.nodename !== other.instance.nodename)
    return one.instance.nodename < other.instance.nodename;
  return one.instance.pid < other.instance.pid;
}
