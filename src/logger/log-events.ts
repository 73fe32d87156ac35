/** The table of log records: event names, severities and texts. It makes no records; `logger.ts` does. */

import type { WorkerExit } from '../cluster/observation.ts';
import type { FinishedOutcome } from '../tracer/ancestry/finished.ts';
import type { SEVERITY } from './log-record.ts';

export interface LogEvent {
  readonly eventName: string;
  readonly severity: keyof typeof SEVERITY;
}

/** The record of how a run ended. */
export interface RunEvent extends LogEvent {
  /** Follows the name of the task in the body. */
  readonly predicate: string;
  /** Whether the record is about an exception, and contains its texts. */
  readonly hasException: boolean;
  /** The value of `error.type` if the run has no error type; '' for none. */
  readonly errorType: string;
}

const EXCEPTION = {
  eventName: 'messaging.process.exception',
  severity: 'ERROR',
  hasException: true,
} as const;
const PLAIN = { hasException: false, errorType: '' } as const;

/** By outcome; undefined: no record. */
export const RUN_EVENTS: Readonly<Record<FinishedOutcome, RunEvent | undefined>> = {
  failed: { ...EXCEPTION, predicate: 'failed', errorType: '' },
  rejected: { ...EXCEPTION, predicate: 'was rejected', errorType: 'Reject' },
  retried: {
    eventName: 'celery.task.retried',
    severity: 'WARN',
    predicate: 'will be retried',
    hasException: true,
    errorType: '',
  },
  lost: {
    ...PLAIN,
    eventName: 'celery.task.lost',
    severity: 'ERROR',
    predicate: 'was lost with its worker',
    errorType: 'lost',
  },
  expired: { ...PLAIN, eventName: 'celery.task.expired', severity: 'WARN', predicate: 'expired' },
  terminated: {
    ...PLAIN,
    eventName: 'celery.task.terminated',
    severity: 'WARN',
    predicate: 'was terminated',
    errorType: 'terminated',
  },
  revoked: { ...PLAIN, eventName: 'celery.task.revoked', severity: 'INFO', predicate: 'was revoked' },
  succeeded: undefined,
  requeued: undefined,
  cancelled: undefined,
  redelivered: undefined,
  replaced: undefined,
  unknown: undefined,
};

/** For a terminated run with an exception, whose texts the record contains. */
export const TERMINATED_WITH_EXCEPTION: RunEvent = {
  ...EXCEPTION,
  predicate: 'was terminated',
  errorType: 'terminated',
};

export interface WorkerEvent extends LogEvent {
  /** Follows the name of the worker in the body. */
  readonly predicate: string;
}

const LOST = { eventName: 'celery.worker.lost', severity: 'ERROR' } as const;

export const WORKER_ONLINE: WorkerEvent = {
  eventName: 'celery.worker.online',
  severity: 'INFO',
  predicate: 'is online',
};
export const WORKER_EXIT_EVENTS: Readonly<Record<WorkerExit, WorkerEvent>> = {
  goodbye: { eventName: 'celery.worker.offline', severity: 'INFO', predicate: 'went offline' },
  silence: { ...LOST, predicate: 'is lost: it sends no events any more' },
  replaced: { ...LOST, predicate: 'is lost: another process has taken its place' },
  restarted: { ...LOST, predicate: 'is lost: it was restarted' },
};

/** Reports how many records were suppressed, with the highest severity of these. */
export const SUPPRESSED_EVENT = 'celery.log.suppressed';
