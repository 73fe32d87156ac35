/**
 * The shape of `/status.json`, version 1, as in `schema/status.schema.json`. Within a version, keys may be added, but
 * existing keys keep their meaning. Types only.
 */

export interface StatusDocument {
  readonly version: 1;
  /** ISO 8601. */
  readonly time: string;
  /** The worst grade of all problems; `unknown` before the first event. */
  readonly grade: StatusGrade;
  /** If fine: the evidence, and what is unknown. Otherwise: the worst problem and its remedy. */
  readonly summary: string;
  readonly live: boolean;
  readonly ready: boolean;
  /** Grouped by cause, worst first. */
  readonly problems: readonly StatusProblem[];
  readonly process: {
    /** The version of celery-otel. */
    readonly version: string;
    readonly pid: number;
    readonly uptime_s: number;
    readonly cpu_s: number;
    /** Null if it cannot be read. */
    readonly memory_bytes: number | null;
  };
  /** Exports of the bridge’s own metrics, and of spans and log records of all services. */
  readonly exports: readonly StatusExport[];
  readonly services: readonly StatusService[];
}

export type StatusGrade = 'fine' | 'unknown' | 'degraded' | 'down';

export interface StatusProblem {
  /** The code of the symptom, as in `celery-otel check --json`. */
  readonly code: string;
  readonly grade: 'degraded' | 'down';
  /** The affected services, at most 20. */
  readonly services: readonly string[];
  readonly service_count: number;
  readonly line: string;
  /** The tasks, queues and workers that the line names; at most five of each kind. */
  readonly names: readonly { readonly kind: 'task' | 'queue' | 'worker'; readonly name: string }[];
  /** ISO 8601. */
  readonly since: string;
  readonly remedy: string;
  /** The page of the documents about this problem, with its anchor. */
  readonly runbook: string;
}

interface Attempt {
  readonly outcome: 'success' | 'partial' | 'failure';
  readonly reason: string;
  readonly age_s: number;
}

export interface StatusExport extends Attempt {
  readonly signal: 'metrics' | 'traces' | 'logs';
  readonly backend: string;
  /** Data points, spans or log records in this export. */
  readonly items: number;
  /** How many exports in a row have failed. */
  readonly failures: number;
  /** Seconds since the last successful export; null if none has succeeded. */
  readonly success_age_s: number | null;
}

export interface StatusService {
  readonly name: string;
  /** The path of the document with its workers, queues and tasks. */
  readonly details: string;
  readonly phase: 'waiting' | 'listening' | 'stopped' | 'finished' | 'unusable';
  readonly grade: StatusGrade;
  /** When the broker was lost, ISO 8601: events, workers and queues are as of that time. Null if they are current. */
  readonly as_of: string | null;
  /** The address of the latest connection, without the password. */
  readonly broker: string | null;
  readonly connections: number;
  readonly events: {
    readonly received: number;
    readonly per_second: number;
    readonly lag_s: number | null;
    /** Messages and events that were not counted, by reason. */
    readonly dropped: Readonly<Record<string, number>>;
  };
  /** The numbers of the last collection; null before the first one. */
  readonly workers: {
    readonly known: number;
    readonly up: number;
    readonly deaf: number;
    readonly active: number;
  } | null;
  readonly queues: { readonly polled: number; readonly waiting: number; readonly age_s: number } | null;
  /** Recent runs that failed or were lost. Null if no activity is kept. */
  readonly tasks: { readonly failed: number; readonly lost: number } | null;
  /** The result of the latest remote control command; null before the first one. */
  readonly control: Attempt | null;
  /** The result of the latest poll of the queues; null before the first one. */
  readonly poll: Attempt | null;
  readonly exports: readonly StatusExport[];
  readonly tables: Readonly<
    Record<string, { readonly size: number; readonly limit: number; readonly evicted: number }>
  >;
  /** How many instances of celery-otel export this service; null if unknown. */
  readonly instances: number | null;
  /** How many internal errors there were. */
  readonly defects: number;
  /** What is unknown about the service, and why. */
  readonly unknown: readonly { readonly code: string; readonly line: string; readonly remedy: string }[];
}
