/**
 * Which run of a task an end is of. Events of a run may have been missed, so that a retry of it waits already. It changes nothing.
 */
import { isOfOneProcess } from './event-order.ts';
import type { Run } from './run.ts';
import type { HeldEvent, Task } from './task.ts';

/** The oldest run of that worker; one whose end is not expected only if there is no other. */
export function endingRun(first: Run | undefined, event: HeldEvent): Run | undefined {
  let best: Run | undefined;
  let bestRank = 0;
  for (let run = first; run !== undefined; run = run.next) {
    const rank = endingRank(run, event);
    if (rank > bestRank) {
      best = run;
      bestRank = rank;
    }
  }
  return best;
}

function endingRank(run: Run, event: HeldEvent): number {
  if (isRetryOf(run, event)) return 0;
  if (run.instance.nodename === event.instance.nodename) {
    if (run.standing === 'replaced') return 2;
    // After a restart a task may have been delivered again to the same name.
    return isOfOneProcess(run, event) ? 4 : 3;
  }
  // Another worker may report the revocation of a waiting task; any other end is reported by the run’s own worker.
  return event.type === 'task-revoked' && !run.hasStarted ? 1 : 0;
}

/** A retry is received before the end of the run before it, which may have been missed; and it waits for its ETA. */
function isRetryOf(run: Run, event: HeldEvent): boolean {
  return event.outcome === 'retried' && run.stage === 'scheduled' && run.sinceMs > event.timestampMs;
}

/** Whether another run of the task has not started. */
export function isAnyWaiting({ runs }: Task, except: Run): boolean {
  for (let run = runs; run !== undefined; run = run.next) if (run !== except && !run.hasStarted) return true;
  return false;
}
