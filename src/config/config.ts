/**
 * What a validated configuration looks like: the shape that `load-config.ts` makes and the rooms take their slices of.
 * Types only; how each value is named, read and checked is the table in `options.ts`.
 */
import type { BrokerSettings } from '../broker/broker.ts';
import type { ClusterSettings } from '../cluster/cluster.ts';
import type { MetricChoice } from '../meter/recorder.ts';
import type { OtlpSettings } from '../otlp/otlp-settings.ts';
import type { ResourceAttributes } from '../otlp/resource.ts';
import type { LogLevel } from '../self/log-level.ts';

/** One Celery service: where it is listened to, how it is kept, and as whom it is exported. */
export interface ServiceConfig {
  /** `service.name` of its resource. */
  readonly name: string;
  /** Further resource attributes. */
  readonly attributes: ResourceAttributes;
  readonly broker: BrokerSettings;
  /** Celery's `control_exchange`: what the exchanges for remote control will be named after. Nothing uses it yet. */
  readonly controlExchange: string;
  /** Celery's `task_default_queue`: the queue of tasks that are sent to none by name. Nothing uses it yet. */
  readonly taskDefaultQueue: string;
  readonly cluster: ClusterSettings;
  /** What is recorded and exported. */
  readonly choice: MetricChoice;
}

/** The bridge's own metrics. */
export interface SelfTelemetryConfig {
  readonly enabled: boolean;
  /** Further resource attributes; `service.name` is `celery-otel` whatever they say. */
  readonly attributes: ResourceAttributes;
}

export interface Config {
  /** With different names. */
  readonly services: readonly [ServiceConfig, ...ServiceConfig[]];
  readonly otlp: OtlpSettings;
  readonly self: SelfTelemetryConfig;
  readonly logLevel: LogLevel;
}

/** What `record` needs. */
export interface RecordConfig {
  readonly broker: BrokerSettings;
  /** Path of the file to write. */
  readonly file: string;
  /** Whether one that is there is replaced. */
  readonly replace: boolean;
  readonly logLevel: LogLevel;
}
