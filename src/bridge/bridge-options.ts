/** The options of a bridge, and the report that `stop` returns. Types only. */
import type { LoggerProvider, MeterProvider } from '@opentelemetry/api';
import type {
  ExemplarFilter,
  LogsConfig,
  SelfTelemetryConfig,
  ServiceConfig,
  TracesConfig,
} from '../config/config.ts';
import type { AttachedSpanProcessor } from '../otlp/attach/span-processor.ts';
import type { OtlpSettings } from '../otlp/otlp-settings.ts';
import type { EventSink, SelfEvent } from '../self/self-event.ts';

/** A Celery service, and the destinations of its metrics, spans and log records. */
export interface BridgeService extends ServiceConfig {
  /**
   * Attaches the service to an existing OpenTelemetry setup: its metrics are recorded in this provider, whose owner
   * decides on resource, views, limits and export. Undefined: the bridge creates its own provider.
   */
  readonly meterProvider?: MeterProvider;
  /** Receives the spans of the service, if `traces` is set. Undefined: the bridge exports the spans itself. */
  readonly spanProcessor?: AttachedSpanProcessor;
  /** Receives the log records of the service, if `logs` is set. */
  readonly loggerProvider?: LoggerProvider;
}

/** How traces are made; the exporter and batches are optional if all services are attached. */
export type TracesOptions = Omit<TracesConfig, 'exporter' | 'batch'> & Partial<TracesConfig>;
export type LogsOptions = Omit<LogsConfig, 'exporter' | 'batch'> & Partial<LogsConfig>;

export interface BridgeOptions {
  /** Names must be unique. */
  readonly services: readonly BridgeService[];
  /** How everything that is not attached is exported; optional if everything is attached. */
  readonly otlp?: OtlpSettings;
  /** Undefined: no spans are made. */
  readonly traces?: TracesOptions;
  /** Undefined: no log records are made. */
  readonly logs?: LogsOptions;
  /** Which runs have exemplars on exported metrics; by default those whose span is kept (`trace_based`). */
  readonly exemplarFilter?: ExemplarFilter;
  /** The bridge’s own metrics; they can be attached, too. */
  readonly self: SelfTelemetryConfig & { readonly meterProvider?: MeterProvider };
  /**
   * Receives everything that happens to the bridge, which logs nothing itself. Without it, warnings and errors go to
   * `diag` of the OpenTelemetry API.
   */
  readonly report?: EventSink;
  /** Whether to keep what `activity` of the bridge returns, which takes some memory; by default not. */
  readonly activity?: boolean;
  /**
   * How many finished runs of each service are remembered, if `activity` is set, at about 150 bytes each; by default
   * none.
   */
  readonly rememberedRuns?: number;
  /** What to show of exceptions where there are neither spans nor log records; by default everything but secrets. */
  readonly exceptions?: TracesConfig['exceptions'];
  /** Returns a number in [0, 1); adds jitter to reconnects and retries. */
  readonly random?: () => number;
}

export interface StopReport {
  /**
   * Whether everything that the bridge exports itself was exported before the deadline. Data points that the backend
   * rejects count as exported: a retry would not help.
   */
  readonly flushed: boolean;
  readonly services: readonly ServiceStop[];
}

export interface ServiceStop {
  readonly name: string;
  readonly metrics: SelfEvent<'service-stopped'>['metrics'];
}
