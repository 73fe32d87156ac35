/** The table of exported signals. How they are sent is the same for all, and not known here. */
import { createOtlpHttpExporterMetrics } from '@opentelemetry/otlp-exporter-base/node-http';
import { createOtlpGrpcExporterMetrics } from '@opentelemetry/otlp-grpc-exporter-base';
import {
  JsonMetricsSerializer,
  MetricsExporterMetricsHelper,
  ProtobufMetricsSerializer,
} from '@opentelemetry/otlp-transformer';
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { Signal } from './send/signal.ts';
import { SIGNAL_PATHS } from './signal-paths.ts';

const metrics: Signal<ResourceMetrics> = {
  name: 'metrics',
  encode: {
    protobuf: ProtobufMetricsSerializer.serializeRequest,
    json: JsonMetricsSerializer.serializeRequest,
  },
  decodeResponse: ProtobufMetricsSerializer.deserializeResponse,
  rejectedField: 'rejectedDataPoints',
  grpcMethod: '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
  httpPath: SIGNAL_PATHS.metrics,
  observed: {
    grpc: (...where) =>
      createOtlpGrpcExporterMetrics('otlp_grpc_metric_exporter', MetricsExporterMetricsHelper, ...where),
    http: (...where) =>
      createOtlpHttpExporterMetrics('otlp_http_metric_exporter', MetricsExporterMetricsHelper, ...where),
  },
};

export const SIGNALS = { metrics } as const;
