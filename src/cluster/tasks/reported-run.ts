/** Finds the run of a task that its worker reported before the events of its beginning arrived. It changes nothing. */
import { find } from './chain.ts';
import type { Run } from './run.ts';
import type { HeldEvent } from './task.ts';

/** Celery reads the clock separately for the event and for its reply. */
const SAME_START_MS = 1000;

/** The reported run that began with this event. */
export function reportedRun({ task, instance, timestampMs }: HeldEvent): Run | undefined {
  // The usual case.
  if (task.runs === undefined) return undefined;
  return find(
    task.runs,
    (run) => run.isReported && run.instance === instance && timestampMs <= run.sinceMs + SAME_START_MS,
  );
}
