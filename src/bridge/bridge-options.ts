/** The options of a bridge, and the report of its stop. Types only. */
import type { LoggerProvider, MeterProvider, TracerProvider } from '@opentelemetry/api';
import type {
  ExemplarFilter,
  LogsConfig,
  SelfTelemetryConfig,
  ServiceConfig,
  TracesConfig,
} from '../config/config.ts';
import type { IdGenerator } from '../otlp/attach/id-generator.ts';
import type { AttachedSpanExporter } from '../otlp/attach/span-exporter.ts';
import type { AttachedSpanProcessor } from '../otlp/attach/span-processor.ts';
import type { OtlpSettings } from '../otlp/otlp-settings.ts';
import type { EventSink, SelfEvent } from '../self/self-event.ts';

/** A Celery service, and where its metrics, its spans and its log records go. */
export interface BridgeService extends ServiceConfig {
  /**
   * Attaches the service to an existing OpenTelemetry setup: its metrics are recorded in this provider, whose owner decides
   * on resource, views, limits and export. Undefined: the bridge creates its own provider.
   */
  readonly meterProvider?: MeterProvider;
  /**
   * Takes its spans, where `traces` is set. At most one of this, `spanExporter` and `tracerProvider`; without any, the bridge
   * exports them itself.
   */
  readonly spanProcessor?: AttachedSpanProcessor;
  /** Exports its spans, in batches, after a queue of the bridge. */
  readonly spanExporter?: AttachedSpanExporter;
  /** Recreates its spans, with its own ids unless it has the `idGenerator`. */
  readonly tracerProvider?: TracerProvider;
  /** From `createIdGenerator`, and given to `tracerProvider` too. */
  readonly idGenerator?: IdGenerator;
  /** Takes its log records, where `logs` is set. */
  readonly loggerProvider?: LoggerProvider;
}

/** Traces; how they are exported is optional if all services are attached. */
export type TracesOptions = Omit<TracesConfig, 'exporter' | 'batch'> & Partial<TracesConfig>;
export type LogsOptions = Omit<LogsConfig, 'exporter' | 'batch'> & Partial<LogsConfig>;

export interface BridgeOptions {
  /** Names must be unique. */
  readonly services: readonly BridgeService[];
  /** How everything that is not attached is exported; optional if everything is attached. */
  readonly otlp?: OtlpSettings;
  /** Undefined: no traces are made. */
  readonly traces?: TracesOptions;
  /** Undefined: no log records are made. */
  readonly logs?: LogsOptions;
  /** Which runs have exemplars on exported metrics; by default those whose span is kept (`trace_based`). */
  readonly exemplarFilter?: ExemplarFilter;
  /** The bridge’s own metrics; they can be attached too. */
  readonly self: SelfTelemetryConfig & { readonly meterProvider?: MeterProvider };
  /**
   * Receives everything that happens to the bridge, which logs nothing itself. Without it, warnings and errors go to `diag`
   * of the OpenTelemetry API.
   */
  readonly report?: EventSink;
  /** Keeps what `activity` of the bridge returns, which takes some memory; by default it is not kept. */
  readonly activity?: boolean;
  /** How many runs that are over are remembered of each service with it, at about 150 bytes each; by default none. */
  readonly rememberedRuns?: number;
  /** What is shown of their exceptions where there are neither spans nor log records; by default all but secrets. */
  readonly exceptions?: TracesConfig['exceptions'];
  /** In [0, 1); adds jitter to reconnects and export retries. */
  readonly random?: () => number;
}

export interface StopReport {
  /**
   * Whether everything that the bridge counted and exports itself was exported before the deadline. Points that the backend
   * rejects count as exported: a retry would not help.
   */
  readonly flushed: boolean;
  readonly services: readonly ServiceStop[];
}

export interface ServiceStop {
  readonly name: string;
  readonly metrics: SelfEvent<'service-stopped'>['metrics'];
}
