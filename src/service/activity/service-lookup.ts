/**
 * Looks up single tasks, queues, workers and runs of one service: in its remembered history, and in the current state
 * of its cluster. Types only.
 */
import type { ErrorTexts } from '../../celery/event.ts';
import type { OpenRun, RunningOn } from '../../cluster/lookup.ts';
import type { Steps } from '../../cluster/steps.ts';
import type { Activity } from './activity.ts';
import type { RememberedRuns } from './remembered-runs.ts';

export interface ServiceLookup extends Pick<Activity, 'hourOfTask' | 'hourOfQueue' | 'exitsOf'> {
  /** When this was opened, by the clock of arrivals. */
  readonly nowMs: number;
  readonly runs: Pick<RememberedRuns, 'limit' | 'size' | 'each' | 'namesOf' | 'failuresOf' | 'failureOf'>;
  /** Removes secrets from the texts of an exception, as in log records. */
  readonly redacted: (error: ErrorTexts) => ErrorTexts;
  openRuns(id: string): readonly OpenRun[];
  runningOn(nodename: string, most: number): Steps<RunningOn>;
  queuesOf(nodename: string): readonly string[] | undefined;
  consumersOf(queue: string): Steps<readonly string[] | undefined>;
}
