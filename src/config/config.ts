/**
 * What a validated configuration looks like: the shape that `load-config.ts` makes and the rooms take their slices of.
 * Types only; how each value is named, read and checked is the table in `options.ts`.
 */
import type { BrokerSettings } from '../broker/broker.ts';
import type { ClusterSettings } from '../cluster/cluster.ts';
import type { MetricChoice } from '../meter/recorder.ts';
import type { OtlpSettings } from '../otlp/otlp-settings.ts';
import type { LogLevel } from '../self/log-level.ts';

/** One Celery service: where it is listened to, how it is kept, and as whom it is exported. */
export interface ServiceConfig {
  /** `service.name` of its resource. */
  readonly name: string;
  /** Further resource attributes. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly broker: BrokerSettings;
  readonly cluster: ClusterSettings;
  /** What is recorded and exported. */
  readonly choice: MetricChoice;
  readonly otlp: OtlpSettings;
}

export interface Config {
  readonly service: ServiceConfig;
  readonly logLevel: LogLevel;
}

/** What `record` needs. */
export interface RecordConfig {
  readonly broker: BrokerSettings;
  /** Path of the file to write; one that is there may be replaced. */
  readonly file: string;
  readonly logLevel: LogLevel;
}
