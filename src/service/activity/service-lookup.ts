/** What is known of single tasks, queues, workers and runs of one service: what it remembers, and what its cluster knows now. Types only. */
import type { ErrorTexts } from '../../celery/event.ts';
import type { OpenRun, RunningOn } from '../../cluster/lookup.ts';
import type { Steps } from '../../cluster/steps.ts';
import type { Activity } from './activity.ts';
import type { RememberedRuns } from './remembered-runs.ts';

export interface ServiceLookup extends Pick<Activity, 'hourOfTask' | 'hourOfQueue' | 'exitsOf'> {
  /** By the clock of arrivals, ms. */
  readonly nowMs: number;
  readonly runs: Pick<RememberedRuns, 'limit' | 'size' | 'each' | 'namesOf' | 'failuresOf' | 'failureOf'>;
  /** The texts of an exception without secrets, as in log records. */
  readonly redacted: (error: ErrorTexts) => ErrorTexts;
  openRuns(id: string): readonly OpenRun[];
  runningOn(nodename: string, most: number): Steps<RunningOn>;
  queuesOf(nodename: string): readonly string[] | undefined;
  consumersOf(queue: string): Steps<readonly string[] | undefined>;
}
