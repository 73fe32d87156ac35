/** The table of outcomes: the status and `error.type` that each gives to the span of a run. Pure. */
import type { FinishedOutcome, FinishedRun } from './ancestry/finished.ts';

export interface OutcomeRow {
  readonly description: string;
  /** Whether the span has the status ERROR; otherwise its status is unset. */
  readonly isError: boolean;
  /** `error.type`. `reported` stands for the class of the exception, as on the metrics. */
  readonly errorType: string | undefined;
  /** Whether an instrumented worker cannot report it: the process that would do so was killed, or never ran the task. */
  readonly isBeyondWorkers: boolean;
}

const REPORTED = 'reported';
/** The label of an unknown class on metrics. */
const UNKNOWN = 'unknown';

const UNEVENTFUL = { isError: false, errorType: undefined, isBeyondWorkers: false };

export const OUTCOMES: Readonly<Record<FinishedOutcome, OutcomeRow>> = {
  succeeded: { ...UNEVENTFUL, description: 'The task returned.' },
  failed: { ...UNEVENTFUL, description: 'The task raised an exception.', isError: true, errorType: REPORTED },
  rejected: {
    description:
      'The task raised `Reject`, or its message was rejected. The message does not go back to its queue.',
    isError: true,
    errorType: 'Reject',
    isBeyondWorkers: true,
  },
  requeued: { ...UNEVENTFUL, description: 'The message was rejected and goes back to its queue.' },
  // An error that is retried should not be recorded (semantic conventions, recording-errors). If it set the status, tail samplers
  // that keep errors would keep every retry.
  retried: { ...UNEVENTFUL, description: 'The task will be retried.', errorType: REPORTED },
  revoked: { ...UNEVENTFUL, description: 'The task was revoked before it ran.', isBeyondWorkers: true },
  expired: { ...UNEVENTFUL, description: 'The task expired before it ran.', isBeyondWorkers: true },
  terminated: {
    description: 'The task was revoked while it ran, and its process was killed.',
    isError: true,
    errorType: 'terminated',
    isBeyondWorkers: true,
  },
  cancelled: {
    ...UNEVENTFUL,
    description: 'The worker cancelled the task because it lost the connection to the broker.',
  },
  lost: {
    description: 'The worker died while the task ran. The span ends at the last sign of life of the worker.',
    isError: true,
    errorType: 'lost',
    isBeyondWorkers: true,
  },
  redelivered: {
    ...UNEVENTFUL,
    description:
      'The worker died before the run had ended, and the message went back to its queue: another run follows.',
    isBeyondWorkers: true,
  },
  replaced: { ...UNEVENTFUL, description: 'Another task took over the id (`replace`).' },
  unknown: {
    ...UNEVENTFUL,
    description: 'No end was reported: the task raised `Ignore`, or an event was lost.',
  },
};

/** Failures that only the main process of a worker can report, because the pool process was killed. */
const FAILURES_BEYOND_WORKERS = new Set(['WorkerLostError', 'TimeLimitExceeded']);

/** The `error.type` of a run; '' if it has none. */
export function errorTypeOf({ outcome, errorType }: FinishedRun): string {
  const type = OUTCOMES[outcome].errorType ?? '';
  return type === REPORTED ? errorType || UNKNOWN : type;
}

export function isBeyondWorkers({ outcome, errorType }: FinishedRun): boolean {
  return (
    OUTCOMES[outcome].isBeyondWorkers || (outcome === 'failed' && FAILURES_BEYOND_WORKERS.has(errorType))
  );
}
