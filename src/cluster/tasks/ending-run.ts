/** Finds the run that an event of an end belongs to, since these events do not identify a run. It changes nothing. */
import { isOfOneProcess, isRetryAfter } from '../window/event-order.ts';
import type { Run } from './run.ts';
import type { HeldEvent } from './task.ts';

/**
 * The run with the highest rank: usually the oldest one of the same worker process. A retry may be received, and even start,
 * while the previous attempt is still ending: then `retried` belongs to the older run, and any other end to the newer one.
 */
export function endingRun(first: Run | undefined, event: HeldEvent): Run | undefined {
  let best: Run | undefined;
  let bestRank = 0;
  for (let run = first; run !== undefined; run = run.next) {
    const rank = isRetryAfter(run, event) ? 0 : endingRank(run, event);
    const isLikelier =
      best !== undefined &&
      rank === bestRank &&
      (isEndOfRetry(run, best, event) || isEndOfOther(run, best, event));
    if (rank > bestRank || isLikelier) {
      best = run;
      bestRank = rank;
    }
  }
  return best;
}

/** Whether the event ends the later of two runs of one worker, because that run retries the earlier one. */
function isEndOfRetry(run: Run, before: Run, { outcome }: HeldEvent): boolean {
  return run.hasStarted && run.retries > before.retries && outcome !== 'retried';
}

/** Whether a success belongs to the later of two runs of different tasks under one id: its runtime shows when it began. */
function isEndOfOther(run: Run, before: Run, { type, timestampMs, runtimeS }: HeldEvent): boolean {
  if (type !== 'task-succeeded' || runtimeS === undefined || !run.hasStarted || !before.hasStarted)
    return false;
  if (run.identity.task === before.identity.task) return false;
  const beganMs = timestampMs - 1000 * runtimeS;
  return Math.abs(beganMs - run.sinceMs) < Math.abs(beganMs - before.sinceMs);
}

/** How likely the event ends this run, from 5 for most likely down to 0 for never. */
function endingRank(run: Run, event: HeldEvent): number {
  if (run.instance.nodename === event.instance.nodename) {
    if (run.standing === 'replaced') return isOwnEnd(run, event) ? 5 : 2;
    // After a restart, the task may have been delivered again to another process with the same nodename.
    return isOfOneProcess(run, event) ? 4 : 3;
  }
  // Another worker may report the revocation of a waiting task; any other end is reported by the run’s own worker.
  return event.type === 'task-revoked' && !run.hasStarted ? 1 : 0;
}

/**
 * Whether the event ends a run that `replace()` seemed to have ended, so that the later run is merely another task with the
 * same id. That is so if the later run has not started, and the task that succeeded began before that run was received. The
 * event of a start may have been lost, but that is unlikely here.
 */
function isOwnEnd({ next: later, instance }: Run, event: HeldEvent): boolean {
  if (later === undefined || later.next !== undefined || later.hasStarted) return false;
  if (later.instance.nodename !== instance.nodename) return false;
  const { type, timestampMs, runtimeS } = event;
  if (type === 'task-succeeded')
    return runtimeS !== undefined && timestampMs - 1000 * runtimeS < later.sinceMs;
  return type === 'task-failed' || type === 'task-retried';
}
