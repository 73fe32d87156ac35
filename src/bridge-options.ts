/**
 * What a bridge is made of, and what it says of its end: which services, where their metrics go, who is told. Types only.
 */
import type { MeterProvider } from '@opentelemetry/api';
import type { SelfTelemetryConfig, ServiceConfig } from './config/config.ts';
import type { OtlpSettings } from './otlp/otlp-settings.ts';
import type { Tell } from './self/self-event.ts';

/** A Celery service, and where its metrics go. */
export interface BridgeService extends ServiceConfig {
  /**
   * Attaches the service to an OpenTelemetry set-up that is there already: its metrics are recorded in this provider, whose
   * resource, views, limits and export are its owner’s. Undefined: the bridge makes a provider of its own.
   */
  readonly meterProvider?: MeterProvider;
}

export interface BridgeOptions {
  /** With different names. */
  readonly services: readonly BridgeService[];
  /** How what is not attached is exported; may be left out where everything is. */
  readonly otlp?: OtlpSettings;
  /** The bridge’s own metrics; they can be attached, too. */
  readonly self: SelfTelemetryConfig & { readonly meterProvider?: MeterProvider };
  /**
   * Told of everything that happens to the bridge; nothing is logged unless it does so. Without it, warnings and errors go to
   * `diag` of the OpenTelemetry API.
   */
  readonly tell?: Tell;
  /** In [0, 1); spreads reconnects and exports that are tried again. */
  readonly random?: () => number;
}

export interface StopReport {
  /**
   * Whether everything that was counted and is exported by the bridge was exported before the deadline. What a backend
   * rejects is exported, too: it will never take that.
   */
  readonly flushed: boolean;
  readonly services: readonly ServiceStop[];
}

export interface ServiceStop {
  readonly name: string;
  /**
   * `empty`: flushed, and there has never been anything to export. `rejected`: flushed, and the backend rejected points of
   * the last export for good. `unheard`: unsent, and no export before has arrived.
   * `handed-over`: to the provider that it is attached to, whose owner exports it.
   */
  readonly metrics: 'flushed' | 'empty' | 'rejected' | 'unsent' | 'unheard' | 'handed-over';
}
