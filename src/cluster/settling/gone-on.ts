/**
 * Whether a worker has gone on without a run that it had received, as its heartbeats show: then the run waits no longer. Its start was not
 * seen, as after `disable_events`, or the worker has dropped it. Pure.
 */

import type { Run } from '../tasks/run.ts';
import type { ExpectationMoment } from './run-expectation.ts';

/** A worker with nothing to do begins a task that is due within much less. */
const BEGUN_WITHIN_MS = 1000;
/** A task with a rate limit waits in an idle worker, but hardly for so long without any task beginning. */
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
  // Others may have begun unseen; but not while it ran nothing, since this one was there.
  if (counts.unseen > 0 && sinceMs <= counts.unseenMs) {
    const last = instance.settledActive(listenedMs);
    if (last?.active === 0 && sinceMs <= last.timestampMs - BEGUN_WITHIN_MS) return true;
  }
  const { idle } = counts;
  if (idle === undefined) return false;
  const idleMs = idle.untilMs - Math.max(idle.sinceMs, listenedMs - silentMs);
  return idleMs >= IDLE_MS && wallMs - sinceMs >= IDLE_MS;
}
