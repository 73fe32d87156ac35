/**
 * Whether a worker’s heartbeats show that it has moved past a received run, which then no longer waits: its start was
 * missed, as after `disable_events`, or the worker dropped it. Pure.
 */

import type { Run } from '../tasks/run.ts';
import type { ExpectationMoment } from './run-expectation.ts';

/** An idle worker starts a due task much sooner. */
const BEGUN_WITHIN_MS = 1000;
/** A rate-limited task waits in an idle worker, but hardly this long without any task starting. */
const IDLE_MS = 300_000;

/**
 * @param run that is due and has not started
 * @param silentMs how long ago the last event of its task arrived
 */
export function hasGoneOn(
  { instance, sinceMs }: Run,
  silentMs: number,
  { wallMs, listenedMs }: ExpectationMoment,
): boolean {
  const { counts } = instance;
  if (counts === undefined) return false;
  if (sinceMs <= counts.overtakenMs) return true;
  // Other tasks may have started unseen; but not while the worker was idle, since this one was waiting.
  if (counts.unseen > 0 && sinceMs <= counts.unseenMs) {
    const last = instance.settledActive(listenedMs);
    if (last?.active === 0 && sinceMs <= last.timestampMs - BEGUN_WITHIN_MS) return true;
  }
  const { idle } = counts;
  if (idle === undefined) return false;
  const idleMs = idle.untilMs - Math.max(idle.sinceMs, listenedMs - silentMs);
  return idleMs >= IDLE_MS && wallMs - sinceMs >= IDLE_MS;
}
