/**
 * The shape of `/status.json`, version 1, as in `schema/status.schema.json`. Within a version, keys may be added, but
 * never change their meaning. Types only.
 */

export interface StatusDocument {
  readonly version: 1;
  /** ISO 8601. */
  readonly time: string;
  /** Live, ready and without failures. */
  readonly ok: boolean;
  /** One sentence: what celery-otel is doing, or the worst problem and its remedy. */
  readonly summary: string;
  readonly live: boolean;
  readonly ready: boolean;
  /** Failures first. */
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

export interface StatusProblem {
  readonly service: string;
  /** In the format of `celery-otel check --json`. */
  readonly code: string;
  readonly level: 'failure' | 'warning';
  readonly line: string;
  readonly remedy: string;
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
