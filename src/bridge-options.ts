/** The options of a bridge, and the report of its stop. Types only. */
import type { MeterProvider } from '@opentelemetry/api';
import type { SelfTelemetryConfig, ServiceConfig } from './config/config.ts';
import type { OtlpSettings } from './otlp/otlp-settings.ts';
import type { SelfEvent, Tell } from './self/self-event.ts';

/** A Celery service, and where its metrics go. */
export interface BridgeService extends ServiceConfig {
  /**
   * Attaches the service to an existing OpenTelemetry setup: its metrics are recorded in this provider, whose owner decides
   * on resource, views, limits and export. Undefined: the bridge creates its own provider.
   */
  readonly meterProvider?: MeterProvider;
}

export interface BridgeOptions {
  /** Names must be unique. */
  readonly services: readonly BridgeService[];
  /** How everything that is not attached is exported; optional if everything is attached. */
  readonly otlp?: OtlpSettings;
  /** The bridge’s own metrics; they can be attached too. */
  readonly self: SelfTelemetryConfig & { readonly meterProvider?: MeterProvider };
  /**
   * Receives everything that happens to the bridge, which logs nothing itself. Without it, warnings and errors go to `diag`
   * of the OpenTelemetry API.
   */
  readonly tell?: Tell;
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
