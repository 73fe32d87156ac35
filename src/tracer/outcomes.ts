/** The table of outcomes: what each means for the span of a run. Pure. */
import type { FinishedOutcome, FinishedRun } from './ancestry/finished.ts';

export interface OutcomeRow {
  readonly description: string;
  /** The status of the span is an error; otherwise it is unset. */
  readonly isError: boolean;
  /** `error.type`; `told` is the class of the exception, as on the metrics. */
  readonly errorType: string | undefined;
  /** Instrumented workers cannot report it: the process that would has been killed, or never ran the task. */
  readonly isBeyondWorkers: boolean;
}

const REPORTED = 'reported';
/** As on the metrics. */
const UNKNOWN = 'unknown';

const UNEVENTFUL = { isError: false, errorType: undefined, isBeyondWorkers: false };

export const OUTCOMES: Readonly<Record<FinishedOutcome, OutcomeRow>> = {
  succeeded: { ...UNEVENTFUL, description: 'The task returned.' },
  failed: { ...UNEVENTFUL, description: 'It raised an exception.', isError: true, errorType: REPORTED },
  rejected: {
    description: 'It raised `Reject`, or was rejected, and does not go back to its queue.',
    isError: true,
    errorType: 'Reject',
    isBeyondWorkers: true,
  },
  requeued: { ...UNEVENTFUL, description: 'It was rejected and goes back to its queue.' },
  // Errors that were retried should not be recorded (recording-errors); tail samplers that keep errors would keep all of them.
  retried: { ...UNEVENTFUL, description: 'It is tried again.', errorType: REPORTED },
  revoked: { ...UNEVENTFUL, description: 'It was revoked before it ran.', isBeyondWorkers: true },
  expired: { ...UNEVENTFUL, description: 'It expired before it ran.', isBeyondWorkers: true },
  terminated: {
    description: 'It was revoked while it ran, and its process was killed.',
    isError: true,
    errorType: 'terminated',
    isBeyondWorkers: true,
  },
  cancelled: {
    ...UNEVENTFUL,
    description: 'It was cancelled, since its worker lost the connection to the broker.',
  },
  lost: {
    description: 'Its worker died while it ran. The span ends at the last sign of life.',
    isError: true,
    errorType: 'lost',
    isBeyondWorkers: true,
  },
  replaced: { ...UNEVENTFUL, description: 'Another task took over its id (`replace`).' },
  unknown: { ...UNEVENTFUL, description: 'No end was reported: it raised `Ignore`, or an event was lost.' },
};

/** Failures that the main process of a worker reports, since the pool process could not. */
const FAILURES_BEYOND_WORKERS = new Set(['WorkerLostError', 'TimeLimitExceeded']);

/** '' if there is none. */
export function errorTypeOf({ outcome, errorType }: FinishedRun): string {
  const type = OUTCOMES[outcome].errorType ?? '';
  return type === REPORTED ? errorType || UNKNOWN : type;
}

export function isBeyondWorkers({ outcome, errorType }: FinishedRun): boolean {
  return (
    OUTCOMES[outcome].isBeyondWorkers || (outcome === 'failed' && FAILURES_BEYOND_WORKERS.has(errorType))
  );
}
