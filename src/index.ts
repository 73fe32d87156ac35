/**
 * The public names of the package. Importing it does nothing: no timers, no sockets, no reading of the environment.
 */
export { type Bridge, type BridgeOptions, createBridge, type StopReport } from './bridge.ts';
export type { BrokerSettings, FailoverStrategy } from './broker/broker.ts';
export {
  type AmqpUrl,
  type BrokerTls,
  type BrokerUrl,
  parseBrokerUrls,
  type RecordingUrl,
} from './broker/broker-url.ts';
export type { ClusterSettings, ClusterTables } from './cluster/cluster.ts';
export type { Config, ServiceConfig } from './config/config.ts';
export { type LoadedConfig, loadConfig, type Mistake } from './config/load-config.ts';
export { CeleryOtelError, ERROR_CODES, type ErrorCode } from './errors.ts';
export type { MetricName, OptIn } from './meter/catalog.ts';
export type { MetricChoice } from './meter/recorder.ts';
export type { OtlpSettings } from './otlp/otlp-settings.ts';
export type { LogLevel } from './self/log-level.ts';
export type { SelfEvent, Tell } from './self/self-event.ts';
export { createSelfLog, type SelfLogSettings } from './self/self-log.ts';
export type { ServiceState } from './service.ts';
export { VERSION } from './version.ts';
