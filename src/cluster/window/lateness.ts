/**
 * How long to wait for late events: what follows from the reordering window, and fixed times. Pure.
 */
import type { EventBase } from '../../celery/event.ts';

/**
 * Celery publishes `task-sent` after the task itself, so its timestamp may be some ms older than that of an earlier
 * `task-received`, and it may arrive that much later.
 */
const SENDING_LATENESS_MS = 100;

/** How long events of a replaced process may still arrive; in the meantime a broker redelivers its tasks. */
export const LATE_EVENTS_MS = 10_000;

/** A worker that reconnects sends `worker-offline` and, in Celery 5.7 a second later, `worker-online`. */
export const RECONNECT_MS = 2000;

/** A `worker-online` this long after a `worker-offline` is from another process, unless its counts continue. */
export const RESTART_MS = 5000;

/**
 * For how long a sent task is expected to run, once it is due. Some queues are consumed once a day. After that, its
 * worker is assumed to send no events, or they were lost.
 */
export const EXPECTED_MS = 24 * 3_600_000;

/** The same without an event, whatever its ETA: an ETA in the year 9999 must not keep it forever. */
export const SCHEDULED_MS_MAX = 30 * 24 * 3_600_000;

/** For how long an end that may have been missed could still arrive, before its run is reported as having none, unless the
 * listener says otherwise. */
export const UNKNOWN_AFTER_MS = 3_600_000;

/** How much later an end may be reported again. Celery does so immediately, unless the broker was unavailable. */
export const END_REPEATED_MS = 60_000;

/** How long a task event is held, ms. */
export function holdingMs(windowMs: number): number {
  return windowMs + SENDING_LATENESS_MS;
}

/** How long after a worker event all task events from before it are applied, ms. */
export function settlingMs(windowMs: number): number {
  // Task events may arrive a window later, and are then held.
  return windowMs + holdingMs(windowMs);
}

/** Whether this much time has passed, by a monotonic clock. */
export function hasPassed(durationMs: number, sinceMs: number, nowMs: number): boolean {
  return nowMs - sinceMs >= durationMs;
}

/** How long an event took, as far as the clock of its sender can be right, ms: at most a window. */
export function delayMs(
  { timestampMs, implausibleMs }: EventBase,
  steadyMs: number,
  windowMs: number,
): number {
  if (implausibleMs !== undefined) return 0;
  return Math.min(Math.max(0, steadyMs - timestampMs), windowMs);
}
