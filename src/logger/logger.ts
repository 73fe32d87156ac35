/**
 * Makes log records of ends of runs, and of workers that come and go. It decides what is reported, and how often; it neither
 * stores nor sends records. No input makes it throw. Pure: the time is part of the input.
 */

import type { Observation } from '../cluster/observation.ts';
import type { FinishedRun } from '../tracer/ancestry/finished.ts';
import type { AttributeValue } from '../tracer/span.ts';
import { safeName } from './bounded-text.ts';
import { shownTexts } from './error-texts.ts';
import { fingerprintOf } from './fingerprint.ts';
import { FloodGuard, type LeftOut, type Problem, type Suppressed } from './flood-guard.ts';
import {
  type LogEvent,
  RUN_EVENTS,
  type RunEvent,
  SUPPRESSED_EVENT,
  TERMINATED_WITH_EXCEPTION,
  WORKER_EXIT_EVENTS,
  WORKER_ONLINE,
} from './log-events.ts';
import { type LogRecord, SEVERITY } from './log-record.ts';
import type { LogSettings } from './log-settings.ts';

/** The `process` span of the run that a record belongs to. */
export type LogContext = Pick<LogRecord, 'traceId' | 'spanId' | 'flags'>;
export type WorkerObservation = Extract<
  Observation,
  { readonly kind: 'worker-appeared' | 'worker-returned' | 'worker-exited' }
>;

export function isAboutWorker(observation: Observation): observation is WorkerObservation {
  // Called for each observation, so it compares only the kind.
  const { kind } = observation;
  return kind === 'worker-appeared' || kind === 'worker-returned' || kind === 'worker-exited';
}

export interface Logger {
  /**
   * The record of a finished run; undefined if there is none for its outcome, or the record is dropped or suppressed.
   * @param isKept whether the span of the run is exported
   * @param nowMs the time by which records are counted; by default that of the end of the run
   */
  readonly ofRun: (
    run: FinishedRun,
    context: LogContext,
    isKept: boolean,
    nowMs?: number,
  ) => LogRecord | undefined;
  readonly ofWorker: (observation: WorkerObservation, atMs: number) => LogRecord | undefined;
  /**
   * Records that report how many others were suppressed, for problems that no later record has reported on.
   * @param isLast for all problems, at the stop; otherwise only for problems that have become quiet
   */
  readonly ofLeftOut: (nowMs: number, isLast?: boolean) => readonly LogRecord[];
  /** How many records were suppressed since the last call, by reason. */
  readonly leftOut: () => LeftOut;
}

const NAME_CHARS_MAX = 255;
const NOWHERE: LogContext = { traceId: '', spanId: '', flags: 0 };

const nameOf = (text: string): string => safeName(text, NAME_CHARS_MAX);
const severityTextOf = (severity: number): string =>
  Object.entries(SEVERITY).find(([, number]) => number === severity)?.[0] ?? '';

export function createLogger(settings: LogSettings): Logger {
  const guard = new FloodGuard();
  const isOn = ({ severity }: LogEvent): boolean => SEVERITY[severity] >= settings.minimumSeverity;

  return {
    ofRun(run, context, isKept, nowMs = run.reportedMs) {
      const event = eventOf(run);
      if (event === undefined || !isOn(event)) return undefined;
      // A record without a trace belongs to no dropped span.
      if (settings.traceBased && !isKept && context.traceId !== '') return undefined;
      const problem = problemOf(run, event);
      const suppressed = guard.admit(problem, SEVERITY[event.severity], nowMs);
      if (suppressed === undefined) return undefined;
      const fingerprint = problem?.fingerprint ?? '';
      return limited(runRecord(run, event, context, { settings, fingerprint, suppressed }), settings);
    },
    ofWorker(observation, atMs) {
      const { kind, worker } = observation;
      const event = kind === 'worker-exited' ? WORKER_EXIT_EVENTS[observation.reason] : WORKER_ONLINE;
      if (!settings.workers || !isOn(event)) return undefined;
      if (guard.admit(undefined, SEVERITY[event.severity], atMs) === undefined) return undefined;
      const name = nameOf(worker);
      const attributes: Record<string, AttributeValue> = { 'celery.worker.name': name };
      if (kind === 'worker-exited') attributes['celery.worker.exit.reason'] = observation.reason;
      return {
        eventName: event.eventName,
        severityNumber: SEVERITY[event.severity],
        severityText: event.severity,
        body: `${name} ${event.predicate}`,
        // Observations do not contain the time when they happened.
        timeMs: undefined,
        observedMs: atMs,
        ...NOWHERE,
        attributes: limited({ attributes }, settings).attributes,
      };
    },
    ofLeftOut: (nowMs, isLast = false) =>
      guard.takeQuiet(nowMs, isLast).map((suppressed) => suppressedRecord(suppressed, nowMs)),
    leftOut: () => guard.takeLeftOut(),
  };
}

/** The record with its attribute values cut to the OpenTelemetry attribute limit. */
function limited<R extends Pick<LogRecord, 'attributes'>>(
  record: R,
  { attributeValueLengthMax: max }: LogSettings,
): R {
  if (max === undefined) return record;
  const attributes = Object.entries(record.attributes).map(
    ([key, value]) => [key, typeof value === 'string' ? value.slice(0, max).toWellFormed() : value] as const,
  );
  return { ...record, attributes: Object.fromEntries(attributes) };
}

function eventOf({ outcome, error }: FinishedRun): RunEvent | undefined {
  const hasException = error !== undefined && `${error.path}${error.message}${error.stacktrace}` !== '';
  return outcome === 'terminated' && hasException ? TERMINATED_WITH_EXCEPTION : RUN_EVENTS[outcome];
}

const errorTypeOf = (run: FinishedRun, event: RunEvent): string => nameOf(run.errorType || event.errorType);

/** Undefined if the event has no exception: only exceptions occur by the thousand. */
function problemOf(run: FinishedRun, event: RunEvent): Problem | undefined {
  if (!event.hasException) return undefined;
  const task = nameOf(run.run.task);
  const errorType = errorTypeOf(run, event);
  const fingerprint = fingerprintOf(task, errorType, run.error?.stacktrace ?? '');
  return { eventName: event.eventName, fingerprint, task, errorType };
}

interface Details {
  readonly settings: LogSettings;
  /** '' without an exception. */
  readonly fingerprint: string;
  readonly suppressed: number;
}

function runRecord(run: FinishedRun, event: RunEvent, context: LogContext, details: Details): LogRecord {
  const { eventName, severity, predicate, hasException } = event;
  const { settings, fingerprint, suppressed } = details;
  const task = nameOf(run.run.task);
  const errorType = errorTypeOf(run, event);
  const attributes: Record<string, AttributeValue> = {
    'celery.task.name': task,
    'celery.queue.name': nameOf(run.run.queue),
    'celery.worker.name': nameOf(run.run.worker),
    'messaging.message.id': nameOf(run.uuid),
  };
  if (run.retries > 0) attributes['celery.task.retries'] = run.retries;
  if (errorType !== '') attributes['error.type'] = errorType;
  if (hasException) {
    const reported = run.error ?? { path: '', message: '', stacktrace: '' };
    const { path, message, stacktrace } = shownTexts(reported, settings);
    attributes['exception.type'] = path || errorType || 'unknown';
    if (message !== '') attributes['exception.message'] = message;
    if (stacktrace !== '') attributes['exception.stacktrace'] = stacktrace;
    attributes['celery.exception.fingerprint'] = fingerprint;
  }
  if (suppressed > 0) attributes['celery.suppressed'] = suppressed;
  return {
    eventName,
    severityNumber: SEVERITY[severity],
    severityText: severity,
    body: `${task} ${predicate}${errorType === event.errorType ? '' : `: ${errorType}`}`,
    timeMs: run.endedMs,
    observedMs: run.reportedMs,
    traceId: context.traceId,
    spanId: context.spanId,
    flags: context.flags,
    attributes,
  };
}

function suppressedRecord({ problem, count, severity }: Suppressed, nowMs: number): LogRecord {
  const attributes: Record<string, AttributeValue> = { 'celery.suppressed': count };
  if (problem !== undefined) {
    attributes['celery.task.name'] = problem.task;
    if (problem.errorType !== '') attributes['error.type'] = problem.errorType;
    attributes['celery.exception.fingerprint'] = problem.fingerprint;
  }
  const what = problem === undefined ? 'other records' : `${problem.task}: ${problem.errorType}`;
  return {
    eventName: SUPPRESSED_EVENT,
    severityNumber: severity,
    severityText: severityTextOf(severity),
    body: `${what}: ${count} were left out`,
    timeMs: undefined,
    observedMs: nowMs,
    ...NOWHERE,
    attributes,
  };
}
