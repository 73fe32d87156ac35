/** The table of log records: event names, severities and texts. Only the table; `logger.ts` makes the records. */

import type { WorkerExit } from '../cluster/observation.ts';
import type { FinishedOutcome } from '../tracer/ancestry/finished.ts';
import type { SEVERITY } from './log-record.ts';

export interface LogEvent {
  readonly eventName: string;
  readonly severity: keyof typeof SEVERITY;
}

/** An end of a run. */
export interface RunEvent extends LogEvent {
  /** Behind the name of the task. */
  readonly says: string;
  /** It is about an exception, and has its texts. */
  readonly hasException: boolean;
  /** `error.type` where none is reported; '' for none. */
  readonly errorType: string;
}

const EXCEPTION = {
  eventName: 'messaging.process.exception',
  severity: 'ERROR',
  hasException: true,
} as const;
const PLAIN = { hasException: false, errorType: '' } as const;

/** Undefined: no record. */
export const RUN_EVENTS: Readonly<Record<FinishedOutcome, RunEvent | undefined>> = {
  failed: { ...EXCEPTION, says: 'failed', errorType: '' },
  rejected: { ...EXCEPTION, says: 'was rejected', errorType: 'Reject' },
  retried: {
    eventName: 'celery.task.retried',
    severity: 'WARN',
    says: 'will be retried',
    hasException: true,
    errorType: '',
  },
  lost: {
    ...PLAIN,
    eventName: 'celery.task.lost',
    severity: 'ERROR',
    says: 'was lost with its worker',
    errorType: 'lost',
  },
  expired: { ...PLAIN, eventName: 'celery.task.expired', severity: 'WARN', says: 'expired' },
  terminated: {
    ...PLAIN,
    eventName: 'celery.task.terminated',
    severity: 'WARN',
    says: 'was terminated',
    errorType: 'terminated',
  },
  revoked: { ...PLAIN, eventName: 'celery.task.revoked', severity: 'INFO', says: 'was revoked' },
  succeeded: undefined,
  requeued: undefined,
  cancelled: undefined,
  replaced: undefined,
  unknown: undefined,
};

/** Where the exception of a terminated run is reported. */
export const TERMINATED_WITH_EXCEPTION: RunEvent = {
  ...EXCEPTION,
  says: 'was terminated',
  errorType: 'terminated',
};

export interface WorkerEvent extends LogEvent {
  /** Behind the name of the worker. */
  readonly says: string;
}

const LOST = { eventName: 'celery.worker.lost', severity: 'ERROR' } as const;

export const WORKER_ONLINE: WorkerEvent = {
  eventName: 'celery.worker.online',
  severity: 'INFO',
  says: 'is online',
};
export const WORKER_EXIT_EVENTS: Readonly<Record<WorkerExit, WorkerEvent>> = {
  goodbye: { eventName: 'celery.worker.offline', severity: 'INFO', says: 'went offline' },
  silence: { ...LOST, says: 'is lost: it sends no events any more' },
  replaced: { ...LOST, says: 'is lost: another process has taken its place' },
  restarted: { ...LOST, says: 'is lost: it was restarted' },
};

/** Tells how many records were left out; its severity is theirs. */
export const SUPPRESSED_EVENT = 'celery.log.suppressed';
