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
   * For example `http://localhost:4317`; `https:` means TLS. For HTTP, it is the full URL with its path, for example
   * `http://localhost:4318/v1/metrics`.
   */
  readonly endpoint: string;
  /** Sent with every request. The values are secrets. No header is added from the environment. */
  readonly headers: Readonly<Record<string, string>>;
  /** Path of a PEM file with the CA certificates to trust. Undefined: the certificates that Node trusts. */
  readonly certificateFile: string | undefined;
  readonly clientCertificateFile: string | undefined;
  readonly clientKeyFile: string | undefined;
  /** Whether a gRPC endpoint without a scheme means no TLS. */
  readonly insecure: boolean;
  readonly compression: 'gzip' | 'none';
  /** How many ms one request may take. */
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
   * With cumulative temporality: how many ms, but at least once, a new series of a counter or histogram is exported as
   * 0 before its value. Undefined: its first point has its value.
   */
  readonly zeroFirstMs?: number | undefined;
  /** Whether series that have ended are exported once more with a point without a value. */
  readonly markEnded?: boolean;
  /** An instrument selected by several views becomes one stream per view. */
  readonly views: readonly View[];
  /** Defaults; a view may set another. */
  readonly limits: CardinalityLimits;
}

/** How many points a stream may have, including the overflow point. */
export interface CardinalityLimits {
  readonly counter: number;
  readonly histogram: number;
  readonly gauge: number;
}

export interface ExportSchedule {
  /** Time from the start of one export to the start of the next. */
  readonly intervalMs: number;
  /** How many ms one request may take. An export of several requests may take longer. */
  readonly timeoutMs: number;
  /** Undefined: only the common limit of all requests applies. */
  readonly pointsPerRequestMax: number | undefined;
}

/** When spans or log records are sent, and how many may wait (OpenTelemetry configuration schema, `BatchSpanProcessor`). */
export interface BatchSettings {
  /** How many ms after a batch the next one is sent, unless it is full earlier. */
  readonly scheduleDelayMs: number;
  /** How many ms one request may take. */
  readonly exportTimeoutMs: number;
  /** How many items may wait or be sent at a time, for all services together. */
  readonly maxQueueSize: number;
  /** The same limit in approximate bytes; undefined: 32 MiB. */
  readonly maxQueueBytes?: number;
  /** How many items one request may have; at most `maxQueueSize`. */
  readonly maxBatchSize: number;
}
