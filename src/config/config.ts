/**
 * The types of the validated configuration; each room gets its part of it. Types only; `options.ts` has the table of
 * names, formats and defaults.
 */
import type { BrokerSettings } from '../broker/broker.ts';
import type { PollSettings } from '../broker/broker-reading.ts';
import type { ControlSettings } from '../broker/control/control.ts';
import type { ClusterSettings } from '../cluster/cluster.ts';
import type { LogSettings } from '../logger/log-settings.ts';
import type { MetricChoice } from '../meter/recorder.ts';
import type { BatchSettings, ExporterSettings, OtlpSettings } from '../otlp/otlp-settings.ts';
import type { ResourceAttributes } from '../otlp/resource.ts';
import type { LogLevel } from '../self/log-level.ts';
import type { TraceSettings } from '../tracer/trace-settings.ts';
import type { ListenAddress } from './format/listen-address.ts';
import type { TaskPeriod } from './format/task-periods.ts';

/** One Celery service: its broker, its limits, and its resource. */
export interface ServiceConfig {
  /** `service.name` of the resource. */
  readonly name: string;
  /** Further resource attributes. */
  readonly attributes: ResourceAttributes;
  readonly broker: BrokerSettings;
  /** Celery's `task_default_queue`: the queue of tasks that are sent without a queue. It is always polled. */
  readonly taskDefaultQueue: string;
  readonly polls: PollSettings;
  readonly control: ControlSettings;
  readonly cluster: ClusterSettings;
  /** The tasks that must succeed regularly; undefined if there are none. */
  readonly staleAfter?: readonly TaskPeriod[] | undefined;
  /** Which metrics are recorded and exported. */
  readonly choice: MetricChoice;
}

/** The bridge's own metrics. */
export interface SelfTelemetryConfig {
  readonly enabled: boolean;
  /** Further resource attributes; `service.name` is always `celery-otel`. */
  readonly attributes: ResourceAttributes;
}

/** The traces of all services. */
export interface TracesConfig {
  readonly exporter: ExporterSettings;
  readonly batch: BatchSettings;
  readonly settings: TraceSettings;
  /** Which texts of exceptions spans contain; log records contain the same. */
  readonly exceptions: Pick<
    LogSettings,
    'exceptionMessage' | 'exceptionStacktrace' | 'redact' | 'redactNames'
  >;
}

/** The log records of all services. */
export interface LogsConfig {
  readonly exporter: ExporterSettings;
  readonly batch: BatchSettings;
  readonly settings: LogSettings;
}

/** Which runs have exemplars on their metrics (OpenTelemetry configuration schema, `ExemplarFilter`). */
export type ExemplarFilter = 'always_on' | 'always_off' | 'trace_based';

export interface Config {
  /** At least one service, with unique names. */
  readonly services: readonly [ServiceConfig, ...ServiceConfig[]];
  readonly otlp: OtlpSettings;
  readonly exemplarFilter: ExemplarFilter;
  /** Undefined: no spans are made. */
  readonly traces?: TracesConfig;
  /** Undefined: no log records are made. */
  readonly logs?: LogsConfig;
  /**
   * Which texts of exceptions the pages show if there are neither traces nor log records; otherwise their settings
   * apply.
   */
  readonly exceptions?: TracesConfig['exceptions'];
  readonly self: SelfTelemetryConfig;
  /** Undefined: nothing is served. Only the command `run` serves it. */
  readonly status?: StatusConfig;
  readonly logLevel: LogLevel;
}

/** The HTTP server for probes and status. */
export interface StatusConfig {
  readonly address: ListenAddress;
  /**
   * When the process is ready: once `any` service has connected, `once` each of them has, or while all are `connected`.
   */
  readonly readiness: 'any' | 'once' | 'connected';
  /** How many finished runs of each service are remembered. */
  readonly runsMax: number;
  /** The token that clients must send, except for probes; undefined: none is needed. */
  readonly token?: string;
  /** The file that the token was read from. */
  readonly tokenFile?: string;
}

/** The configuration of `record`. */
export interface RecordConfig {
  readonly broker: BrokerSettings;
  /** Path of the file to write. */
  readonly file: string;
  /** Whether to replace an existing file. */
  readonly replace: boolean;
  readonly logLevel: LogLevel;
}
