/** What makes one signal of OTLP different from the others on the wire. Types only. */
import type { MeterProvider } from '@opentelemetry/api';
import type { ExporterMetrics } from '@opentelemetry/otlp-exporter-base';

/** How OTLP messages are written. */
export type Encoding = 'protobuf' | 'json';

export interface Signal<Data> {
  /** As people call what is sent. */
  readonly name: string;
  /** Of a request. */
  readonly encode: Readonly<Record<Encoding, (data: Data) => Uint8Array | undefined>>;
  /** Of a response in protobuf; throws where it is none. */
  readonly decodeResponse: (response: Uint8Array) => unknown;
  /** How many the backend rejected, as `partial_success` calls it in JSON. */
  readonly rejectedField: string;
  readonly grpcMethod: string;
  /** At the end of most URLs. */
  readonly httpPath: string;
  /** The SDK’s own metrics of exporters, under the component type that its exporter of this protocol has. */
  readonly observed: Readonly<
    Record<'grpc' | 'http', (endpoint: string, meterProvider: MeterProvider) => ExporterMetrics<Data>>
  >;
}
