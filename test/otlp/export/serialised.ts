/** The real size of a request in each encoding. */
import {
  type ISerializer,
  JsonMetricsSerializer,
  ProtobufMetricsSerializer,
} from '@opentelemetry/otlp-transformer';
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';

const SERIALIZERS = {
  protobuf: ProtobufMetricsSerializer,
  json: JsonMetricsSerializer,
} satisfies Record<string, Pick<ISerializer<ResourceMetrics, unknown>, 'serializeRequest'>>;

export type Encoding = keyof typeof SERIALIZERS;
export const ENCODINGS: readonly Encoding[] = ['protobuf', 'json'];

/** @throws where nothing could be made of it */
export function serialised(metrics: ResourceMetrics, encoding: Encoding): Uint8Array {
  const body = SERIALIZERS[encoding].serializeRequest(metrics);
  if (body === undefined) throw new Error(`nothing was serialised as ${encoding}`);
  return body;
}
