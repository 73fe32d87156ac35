/**
 * The public API of the package. Importing it has no side effects: no timers, no sockets, no access to the environment.
 */

export { type Bridge, type BridgeActivity, createBridge, type ReadyReport } from './bridge/bridge.ts';
export type {
  BridgeOptions,
  BridgeService,
  LogsOptions,
  ServiceStop,
  StopReport,
  TracesOptions,
} from './bridge/bridge-options.ts';
export type { BrokerSettings, FailoverStrategy } from './broker/broker.ts';
export {
  type AmqpUrl,
  type BrokerTls,
  type BrokerUrl,
  parseBrokerUrls,
  type RecordingUrl,
} from './broker/broker-url.ts';
export type { ClusterSettings } from './cluster/cluster.ts';
export type { ClusterTables } from './cluster/observation.ts';
export type {
  Config,
  ExemplarFilter,
  LogsConfig,
  SelfTelemetryConfig,
  ServiceConfig,
  TracesConfig,
} from './config/config.ts';
export { type LoadedConfig, loadConfig } from './config/load-config.ts';
export type { Mistake } from './config/mistake.ts';
export type { LogSettings } from './logger/log-settings.ts';
export type { MetricName, OptIn } from './meter/catalog.ts';
export type { MetricChoice } from './meter/recorder.ts';
export type { AttachedSpanProcessor } from './otlp/attach/span-processor.ts';
export type {
  AggregationChoice,
  AttributeKeyChoice,
  InstrumentKind,
  View,
  ViewSelector,
  ViewStream,
} from './otlp/collect/view.ts';
export type {
  BatchSettings,
  CardinalityLimits,
  ExporterSettings,
  ExportSchedule,
  OtlpSettings,
  StreamSettings,
} from './otlp/otlp-settings.ts';
export type { ResourceAttributes } from './otlp/resource.ts';
export type { LogLevel } from './self/log-level.ts';
export type { EventSink, SelfEvent } from './self/self-event.ts';
export { createSelfLog, type SelfLogSettings } from './self/self-log.ts';
export { VERSION } from './self/version.ts';
export type { ServiceActivity } from './service/activity/activity.ts';
export type { ServiceLookup } from './service/activity/service-lookup.ts';
export type { ServiceState } from './service/service-state.ts';
export { CeleryOtelError, ERROR_CODES, type ErrorCode } from './text/errors.ts';
export type { Sampler, SamplingRule, TraceSettings } from './tracer/trace-settings.ts';
