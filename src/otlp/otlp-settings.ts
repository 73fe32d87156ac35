/** The validated settings of the export: the backend, the transport, the schedule and the metric streams. Types only. */
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
  /** Sent with every request. Values are secrets. No header is added from the environment. */
  readonly headers: Readonly<Record<string, string>>;
  /** Path of a PEM file with the CA certificates to trust. Undefined: those that Node trusts. */
  readonly certificateFile: string | undefined;
  readonly clientCertificateFile: string | undefined;
  readonly clientKeyFile: string | undefined;
  /** Whether a gRPC endpoint without a scheme means no TLS. */
  readonly insecure: boolean;
  readonly compression: 'gzip' | 'none';
  /** Per request, ms. */
  readonly timeoutMs: number;
  /** URL of the HTTP proxy; it may contain a password. With gRPC its scheme must be `http:`. */
  readonly proxy?: string;
}

/** How instruments become metric streams. */
export interface StreamSettings {
  readonly temporality: 'cumulative' | 'delta' | 'lowmemory';
  /** Default aggregation of histograms; a view may set another. */
  readonly histograms: 'explicit_bucket_histogram' | 'base2_exponential_bucket_histogram';
  /**
   * With cumulative temporality: how long a new series of a counter or histogram is exported as 0 before its value, ms, but at
   * least once. Undefined: its first point has its value.
   */
  readonly zeroFirstMs?: number | undefined;
  /** Whether series that have ended are exported once more with a point without a value. */
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
  /** Undefined: no limit besides those of all requests. */
  readonly pointsPerRequestMax: number | undefined;
}

/** When spans or log records are sent, and how many may wait (OpenTelemetry configuration schema, `BatchSpanProcessor`). */
export interface BatchSettings {
  /** Time from one batch to the next, unless the next one is full earlier, ms. */
  readonly scheduleDelayMs: number;
  /** Per request, ms. */
  readonly exportTimeoutMs: number;
  /** Maximum number of items that wait or are being sent, of all services together. */
  readonly maxQueueSize: number;
  /** The same in approximate bytes; undefined: 32 MiB. */
  readonly maxQueueBytes?: number;
  /** Maximum number of items per request; at most `maxQueueSize`. */
  readonly maxBatchSize: number;
}
