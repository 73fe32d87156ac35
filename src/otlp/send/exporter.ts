/** An exporter to one backend, whatever its protocol. When to export and when to retry is decided elsewhere. Types only. */
import type { MeterProvider } from '@opentelemetry/api';

/** The result of one request. */
export type ExportResult =
  /** The backend accepted all of it. */
  | { readonly kind: 'success' }
  /** The backend accepted it except for `rejectedItems`; with 0, `message` is a warning. */
  | { readonly kind: 'partial'; readonly rejectedItems: number; readonly message: string }
  /** No answer, or a retryable status: the same request may succeed later. */
  | { readonly kind: 'unavailable'; readonly reason: string }
  /** A status that is not retryable: the backend would refuse the same request again. */
  | { readonly kind: 'refused'; readonly reason: string };

export interface Exporter<Data> {
  /** Endpoint and protocol, for people, without secrets. */
  readonly backend: string;
  /** Sends one request. Never rejects, and resolves within the timeout. */
  export(data: Data): Promise<ExportResult>;
  /** Records the SDK’s exporter metrics (`otel.sdk.exporter.*`) with this provider from now on. */
  observe(meterProvider: MeterProvider): void;
  /** Closes all connections, and ends requests in progress. */
  close(): void;
}
