/**
 * Decides whether a worker’s heartbeats show that it has moved past a received run, which then no longer waits: the start of the
 * run was missed, as after `disable_events`, or the worker dropped the run. Pure.
 */

import type { Run } from '../tasks/run.ts';
import type { ExpectationMoment } from './run-expectation.ts';

/** An idle worker starts a due task much sooner than after this many ms. */
const BEGUN_WITHIN_MS = 1000;
/** A rate-limited task waits in an idle worker, but hardly for this many ms without any task starting. */
const IDLE_MS = 300_000;

/**
 * Whether the worker has moved past the run.
 * @param run a run that is due and has not started
 * @param silentMs how long ago the last event of its task arrived
 */
export function hasMovedPast(
  { instance, sinceMs }: Run,
  silentMs: number,
  { wallMs, listenedMs }: ExpectationMoment,
): boolean {
  const { counts } = instance;
  if (counts === undefined) return false;
  if (sinceMs <= counts.overtakenMs) return true;
  // Unseen starts may be those of other tasks. But an idle worker would have started this run.
  if (counts.unseen > 0 && sinceMs <= counts.unseenMs) {
    const last = instance.settledActive(listenedMs);
    if (last?.active === 0 && sinceMs <= last.timestampMs - BEGUN_WITHIN_MS) return true;
  }
  const { idle } = counts;
  if (idle === undefined) return false;
  const idleMs = idle.untilMs - Math.max(idle.sinceMs, listenedMs - silentMs);
  return idleMs >= IDLE_MS && wallMs - sinceMs >= IDLE_MS;
}
