/** What the export needs to know, already validated: where to and how, which streams, how often. Types only. */
import type { View } from './collect/view.ts';

/** Everything between the instruments and the wire; the same for all services of a bridge. */
export interface OtlpSettings {
  readonly exporter: ExporterSettings;
  readonly streams: StreamSettings;
  readonly schedule: ExportSchedule;
}

/** One backend. */
export interface ExporterSettings {
  readonly protocol: 'grpc' | 'http/protobuf' | 'http/json';
  /**
   * Where to, e.g. `http://localhost:4317`; `https:` means TLS. For HTTP the whole URL with its path, for example
   * `http://localhost:4318/v1/metrics`.
   */
  readonly endpoint: string;
  /** Sent with every request; values are secrets. No others are sent, whatever the environment has. */
  readonly headers: Readonly<Record<string, string>>;
  /** Path of a PEM file with the authorities to trust; undefined: those of the system. */
  readonly certificateFile: string | undefined;
  readonly clientCertificateFile: string | undefined;
  readonly clientKeyFile: string | undefined;
  /** No TLS where the endpoint has no scheme; gRPC only. */
  readonly insecure: boolean;
  readonly compression: 'gzip' | 'none';
  /** Of one request, ms. */
  readonly timeoutMs: number;
}

/** What becomes of the instruments. */
export interface StreamSettings {
  readonly temporality: 'cumulative' | 'delta' | 'lowmemory';
  /** Of histograms for which no view says otherwise. */
  readonly histograms: 'explicit_bucket_histogram' | 'base2_exponential_bucket_histogram';
  /** An instrument that several of them select becomes a stream of each. */
  readonly views: readonly View[];
  /** Where no view sets one. */
  readonly limits: CardinalityLimits;
}

/** Points of one stream at most, the one of the overflow included. */
export interface CardinalityLimits {
  readonly counter: number;
  readonly histogram: number;
  readonly gauge: number;
}

export interface ExportSchedule {
  /** Between the starts of two exports, ms. */
  readonly intervalMs: number;
  /** Of each request of an export at most, ms. An export of many may take longer: it ends with its requests. */
  readonly timeoutMs: number;
  /** Of one request; undefined: as many as a backend takes. */
  readonly pointsPerRequestMax: number | undefined;
}
