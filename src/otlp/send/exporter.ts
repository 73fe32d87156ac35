/**
 * What an exporter of one backend does, whatever its protocol. Types only; when something is exported, and what becomes
 * of what could not be, is decided elsewhere.
 */
import type { MeterProvider } from '@opentelemetry/api';

/** What became of one request. */
export type ExportResult =
  /** The backend has all of it. */
  | { readonly kind: 'success' }
  /** The backend has it, but for some points that it will never take; `message` is what it says of them. */
  | { readonly kind: 'partial'; readonly rejectedPoints: number; readonly message: string }
  /** The backend does not answer, or asks to come again later: the same request may succeed then. */
  | { readonly kind: 'unavailable'; readonly reason: string }
  /** The backend refuses this request, and would again. */
  | { readonly kind: 'refused'; readonly reason: string };

export interface Exporter<Data> {
  /** Where to and how, for people; without secrets. */
  readonly backend: string;
  /** Sends one request. Never rejects, and resolves within the time-out of the settings. */
  export(data: Data): Promise<ExportResult>;
  /** From now on the SDK’s metrics of exporters (`otel.sdk.exporter.*`) are recorded there. */
  observe(meterProvider: MeterProvider): void;
  /** Closes its connections; what is under way ends. */
  close(): void;
}
