/**
 * The validated configuration, of which each room takes its part. Types only; `options.ts` has the table of names, formats
 * and defaults.
 */
import type { BrokerSettings } from '../broker/broker.ts';
import type { PollSettings } from '../broker/broker-reading.ts';
import type { ControlSettings } from '../broker/control/control.ts';
import type { ClusterSettings } from '../cluster/cluster.ts';
import type { MetricChoice } from '../meter/recorder.ts';
import type { OtlpSettings } from '../otlp/otlp-settings.ts';
import type { ResourceAttributes } from '../otlp/resource.ts';
import type { LogLevel } from '../self/log-level.ts';

/** One Celery service: its broker, its limits, and its resource. */
export interface ServiceConfig {
  /** `service.name` of its resource. */
  readonly name: string;
  /** Further resource attributes. */
  readonly attributes: ResourceAttributes;
  readonly broker: BrokerSettings;
  /** Celery's `task_default_queue`, the queue of tasks that are sent without a queue: it is always polled. */
  readonly taskDefaultQueue: string;
  readonly polls: PollSettings;
  readonly control: ControlSettings;
  readonly cluster: ClusterSettings;
  /** What is recorded and exported. */
  readonly choice: MetricChoice;
}

/** The bridge's own metrics. */
export interface SelfTelemetryConfig {
  readonly enabled: boolean;
  /** Further resource attributes; `service.name` is always `celery-otel`. */
  readonly attributes: ResourceAttributes;
}

export interface Config {
  /** Names are unique. */
  readonly services: readonly [ServiceConfig, ...ServiceConfig[]];
  readonly otlp: OtlpSettings;
  readonly self: SelfTelemetryConfig;
  readonly logLevel: LogLevel;
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
