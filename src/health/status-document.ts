/**
 * The shape of `/status.json`, version 1, as in `schema/status.schema.json`. Within a version, keys may be added, but
 * never change their meaning. Types only.
 */

export interface StatusDocument {
  readonly version: 1;
  /** ISO 8601. */
  readonly time: string;
  /** The worst of all problems; unknown before a first event. */
  readonly grade: StatusGrade;
  /** What “fine” rests on and what is not known, or the worst problem and its remedy. */
  readonly summary: string;
  readonly live: boolean;
  readonly ready: boolean;
  /** By cause, the worst first. */
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
  /** In the format of `celery-otel check --json`. */
  readonly code: string;
  readonly grade: 'degraded' | 'down';
  /** Those that it affects, at most 20. */
  readonly services: readonly string[];
  readonly service_count: number;
  readonly line: string;
  /** The tasks, queues and workers of the service that the line names; of many only the first. */
  readonly names: readonly { readonly kind: 'task' | 'queue' | 'worker'; readonly name: string }[];
  /** ISO 8601. */
  readonly since: string;
  readonly remedy: string;
  /** The page of the documents. */
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
  /** Points, spans or records in it. */
  readonly items: number;
  /** In a row. */
  readonly failures: number;
  /** null if none has arrived. */
  readonly success_age_s: number | null;
}

export interface StatusService {
  readonly name: string;
  /** The path of the document with its workers, queues and tasks. */
  readonly details: string;
  readonly phase: 'waiting' | 'listening' | 'stopped' | 'finished' | 'unusable';
  readonly grade: StatusGrade;
  /** Its broker is away since then, ISO 8601: events, workers and queues are as of that time. Null: they are of now. */
  readonly as_of: string | null;
  /** The address of the last connection, without the password. */
  readonly broker: string | null;
  readonly connections: number;
  readonly events: {
    readonly received: number;
    readonly per_second: number;
    readonly lag_s: number | null;
    /** Messages and events that were not counted, by reason. */
    readonly dropped: Readonly<Record<string, number>>;
  };
  /** At the last collection. */
  readonly workers: {
    readonly known: number;
    readonly up: number;
    readonly deaf: number;
    readonly active: number;
  } | null;
  readonly queues: { readonly polled: number; readonly waiting: number; readonly age_s: number } | null;
  /** Runs of the last minutes, of the tasks with the most failures and losses. Null if they are not kept. */
  readonly tasks: { readonly failed: number; readonly lost: number } | null;
  /** The last remote control command. */
  readonly control: Attempt | null;
  /** The last poll of queues. */
  readonly poll: Attempt | null;
  readonly exports: readonly StatusExport[];
  readonly tables: Readonly<
    Record<string, { readonly size: number; readonly limit: number; readonly evicted: number }>
  >;
  /** Instances of celery-otel that export this service, as far as known. */
  readonly instances: number | null;
  /** Internal errors. */
  readonly defects: number;
  /** What is unknown of it, and why. */
  readonly unknown: readonly { readonly code: string; readonly line: string; readonly remedy: string }[];
}
