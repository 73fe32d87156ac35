/** The settings of the export, already validated: where to, how, how often, and which streams. Types only. */
import type { View } from './collect/view.ts';

/** All settings of `otlp/`, the same for all services of a bridge. */
export interface OtlpSettings {
  readonly exporter: ExporterSettings;
  readonly streams: StreamSettings;
  readonly schedule: ExportSchedule;
}

/** One backend. */
export interface ExporterSettings {
  readonly protocol: 'grpc' | 'http/protobuf' | 'http/json';
  /**
   * For example `http://localhost:4317`; `https:` means TLS. For HTTP it is the full URL with its path, for example
   * `http://localhost:4318/v1/metrics`.
   */
  readonly endpoint: string;
  /** Sent with every request. Values are secrets. The environment adds none. */
  readonly headers: Readonly<Record<string, string>>;
  /** Path of a PEM file with the CA certificates to trust. Undefined: those that Node trusts. */
  readonly certificateFile: string | undefined;
  readonly clientCertificateFile: string | undefined;
  readonly clientKeyFile: string | undefined;
  /** No TLS if the endpoint has no scheme. gRPC only. */
  readonly insecure: boolean;
  readonly compression: 'gzip' | 'none';
  /** Per request, ms. */
  readonly timeoutMs: number;
  /** URL of the HTTP proxy that requests go through; it may hold a password. gRPC has `http:` alone. */
  readonly proxy?: string;
}

/** How instruments become metric streams. */
export interface StreamSettings {
  readonly temporality: 'cumulative' | 'delta' | 'lowmemory';
  /** Default aggregation of histograms; a view may set another. */
  readonly histograms: 'explicit_bucket_histogram' | 'base2_exponential_bucket_histogram';
  /**
   * With cumulative temporality, for how long a new series of a counter or histogram is exported as 0 before its value, ms,
   * and at least once; undefined: its first point has its value.
   */
  readonly zeroFirstMs?: number | undefined;
  /** Whether series that have ended are exported once more, without a value. */
  readonly markEnded?: boolean;
  /** An instrument selected by several views becomes one stream per view. */
  readonly views: readonly View[];
  /** Defaults; a view may set another. */
  readonly limits: CardinalityLimits;
}

/** Maximum of points per stream, the overflow point included. */
export interface CardinalityLimits {
  readonly counter: number;
  readonly histogram: number;
  readonly gauge: number;
}

export interface ExportSchedule {
  /** From the start of one export to the start of the next, ms. */
  readonly intervalMs: number;
  /** Per request, ms. An export of many requests may take longer. */
  readonly timeoutMs: number;
  /** Undefined: as many points as a backend accepts. */
  readonly pointsPerRequestMax: number | undefined;
}

/** When spans or log records are sent, and how many may wait (OpenTelemetry configuration schema, `BatchSpanProcessor`). */
export interface BatchSettings {
  /** From one batch to the next, unless it is full before, ms. */
  readonly scheduleDelayMs: number;
  /** Per request, ms. */
  readonly exportTimeoutMs: number;
  /** Waiting or being sent, of all services together. */
  readonly maxQueueSize: number;
  /** The same in bytes, about; undefined: 32 MiB. */
  readonly maxQueueBytes?: number;
  /** Per request; at most `maxQueueSize`. */
  readonly maxBatchSize: number;
}
