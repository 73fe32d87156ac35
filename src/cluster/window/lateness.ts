/**
 * The times for which the cluster waits for events that may be late: some follow from the reordering window, others are fixed.
 * Pure; it waits for nothing itself.
 */
import type { EventBase } from '../../celery/event.ts';

/**
 * By how many ms more a task event may be late: Celery publishes `task-sent` after the task itself, so that it may arrive some
 * ms after the `task-received` of that task.
 */
const SENDING_LATENESS_MS = 100;

/** For how long events of a replaced process may still arrive, ms; meanwhile the broker redelivers its tasks. */
export const LATE_EVENTS_MS = 10_000;

/** Within this time after `worker-offline`, a worker that reconnects sends `worker-online`; Celery 5.7 takes a second. */
export const RECONNECT_MS = 2000;

/** A `worker-online` more than this many ms after a `worker-offline` is from another process, unless its counts continue. */
export const RESTART_MS = 5000;

/**
 * For how long a sent task is expected to be received and a received one to start, once it is due, ms. Some queues are consumed
 * once a day. After that, its worker is assumed to send no events, or they were lost.
 */
export const EXPECTED_MS = 24 * 3_600_000;

/** For how long a task without an event is expected, whatever its ETA, ms: an ETA in the year 9999 must not keep it forever. */
export const SCHEDULED_MS_MAX = 30 * 24 * 3_600_000;

/**
 * For how long an end that may have been missed is awaited before the run is reported without an end, ms, unless the listener
 * sets another time: an end that was sent may be late; and if it is not certain which run of a worker is over, that run may go on.
 */
export const UNKNOWN_AFTER_MS = { certain: LATE_EVENTS_MS, uncertain: 3_600_000 } as const;

/** How much later an end may be reported again, ms. Celery repeats an end at once, unless the broker was unavailable. */
export const END_REPEATED_MS = 60_000;

/** How long a task event is held, ms. */
export function holdingMs(windowMs: number): number {
  return windowMs + SENDING_LATENESS_MS;
}

/** How long after the arrival of a worker event all earlier task events are applied, ms. */
export function settlingMs(windowMs: number): number {
  // A task event may arrive up to a window later, and is then held.
  return windowMs + holdingMs(windowMs);
}

/** Whether this much time has passed, by a monotonic clock. */
export function hasPassed(durationMs: number, sinceMs: number, nowMs: number): boolean {
  return nowMs - sinceMs >= durationMs;
}

/** How long an event took to arrive by the clock of its sender, ms; from 0 to one window, since that clock may be wrong. */
export function delayMs(
  { timestampMs, implausibleMs }: EventBase,
  steadyMs: number,
  windowMs: number,
): number {
  if (implausibleMs !== undefined) return 0;
  return Math.min(Math.max(0, steadyMs - timestampMs), windowMs);
}
