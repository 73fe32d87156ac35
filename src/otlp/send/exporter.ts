/** An exporter to one backend, and its transport. Callers decide when to export and retry. Types only. */
import type { MeterProvider } from '@opentelemetry/api';
import type { Symptom } from './likely-cause.ts';
import type { Encoding } from './signal.ts';

/** The result of one request. */
export type ExportResult =
  /** The backend accepted all items. */
  | { readonly kind: 'success' }
  /** The backend accepted all except `rejectedItems` items. If that is 0, `message` is a warning. */
  | { readonly kind: 'partial'; readonly rejectedItems: number; readonly message: string }
  /** No response, or a retryable status: the same request may succeed later. */
  | { readonly kind: 'unavailable'; readonly reason: string }
  /** A status that is not retryable: the backend would refuse the same request again. */
  | { readonly kind: 'refused'; readonly reason: string };

export interface Exporter<Data> {
  /** Endpoint and protocol for logs, without secrets. */
  readonly backend: string;
  /** Encodes a request as it is sent. */
  readonly encode: (data: Data) => Uint8Array;
  /** Sends one request. Never rejects, and resolves within the timeout. */
  export(data: Data): Promise<ExportResult>;
  /** Records the SDK’s exporter metrics (`otel.sdk.exporter.*`) with this provider from now on. */
  observe(meterProvider: MeterProvider): void;
  /** Closes all connections, and ends requests in progress. */
  close(): void;
}

/** Sends encoded requests to a backend, whatever the protocol. */
export interface ExporterTransport {
  /** Makes one attempt, within the timeout. Rejects only if the request could not be created. */
  send(body: Uint8Array): Promise<Answer>;
  /** Closes all connections. Requests in progress and later ones end as unavailable. */
  close(): void;
}

export type Answer = Taken | Failure;

/** The backend accepted the request, possibly in part, as the response shows. */
export interface Taken {
  readonly kind: 'taken';
  readonly response: Uint8Array;
  /** The encoding of the response; undefined if it is neither protobuf nor JSON. */
  readonly encoding: Encoding | undefined;
}

export interface Failure {
  readonly kind: 'unavailable' | 'refused';
  /** As received: it may be long, and contain any characters. */
  readonly reason: string;
  /** The symptom from which the likely cause is derived. */
  readonly symptom?: Symptom;
  /** The error for the SDK’s exporter metrics. */
  readonly error: Error;
  /** How many ms the backend requests to be sent no data. */
  readonly retryAfterMs?: number | undefined;
}
