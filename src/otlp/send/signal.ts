/** The differences between OTLP signals on the wire. Types only. */
import type { MeterProvider } from '@opentelemetry/api';
import type { ExporterMetrics } from '@opentelemetry/otlp-exporter-base';

export type Encoding = 'protobuf' | 'json';

export interface Signal<Data> {
  /** The name in messages. */
  readonly name: string;
  /** Encodes a request. */
  readonly encode: Readonly<Record<Encoding, (data: Data) => Uint8Array>>;
  /** Decodes a protobuf response; throws if it is invalid. */
  readonly decodeResponse: (response: Uint8Array) => unknown;
  /** The field of `partial_success` with the number of rejected items, as named in JSON. */
  readonly rejectedField: string;
  readonly grpcMethod: string;
  /** The default path of the signal. */
  readonly httpPath: string;
  /** Creates the SDK’s exporter metrics, with the component type of the SDK’s own exporter. */
  readonly observed: Readonly<
    Record<'grpc' | 'http', (endpoint: string, meterProvider: MeterProvider) => ExporterMetrics<Data>>
  >;
}
