/** Finds the run of a task that its worker reported before the events of its beginning arrived. It changes nothing. */
import { find } from './chain.ts';
import type { Run } from './run.ts';
import type { HeldEvent } from './task.ts';

/** By how much the start in an event may be later than the start in a reply, ms: Celery reads the clock for each. */
const SAME_START_MS = 1000;

/** The reported run that this event belongs to, as its receipt or start; undefined if there is none. */
export function reportedRun({ task, instance, timestampMs }: HeldEvent): Run | undefined {
  // Usually the task has no run yet.
  if (task.runs === undefined) return undefined;
  return find(
    task.runs,
    (run) => run.isReported && run.instance === instance && timestampMs <= run.sinceMs + SAME_START_MS,
  );
}
