/**
 * The table of exported signals: how each is encoded and decoded. It does not send; sending is the same for all
 * signals.
 */
import { createOtlpHttpExporterMetrics } from '@opentelemetry/otlp-exporter-base/node-http';
import { createOtlpGrpcExporterMetrics } from '@opentelemetry/otlp-grpc-exporter-base';
import {
  LogsExporterMetricsHelper,
  MetricsExporterMetricsHelper,
  ProtobufLogsSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
  TraceExporterMetricsHelper,
} from '@opentelemetry/otlp-transformer';
import type { LogRecord } from '../logger/log-record.ts';
import type { Span } from '../tracer/span.ts';
import {
  bytesOfLogRecord,
  bytesOfSpan,
  requestBytesOfLogRecord,
  requestBytesOfSpan,
} from './encode/item-bytes.ts';
import { JsonWriter } from './encode/json-writer.ts';
import { encodeLogRecords } from './encode/log-message.ts';
import type { NewWriter } from './encode/message-writer.ts';
import { encodeMetrics, type RequestedMetrics } from './encode/metric-message.ts';
import { countOf, type Resourced } from './encode/otlp-request.ts';
import { ProtobufWriter } from './encode/protobuf-writer.ts';
import { encodeSpans } from './encode/span-message.ts';
import { byResource } from './encode/span-resource.ts';
import type { Signal } from './send/signal.ts';
import { SIGNAL_PATHS } from './signal-paths.ts';

const metrics: Signal<RequestedMetrics> = {
  name: 'metrics',
  encode: inEachEncoding(encodeMetrics),
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

const ofTraces = { ...TraceExporterMetricsHelper, countItems: countOf };

const traces: Signal<readonly Resourced<Span>[]> = {
  name: 'traces',
  encode: inEachEncoding(encodeSpans),
  decodeResponse: ProtobufTraceSerializer.deserializeResponse,
  rejectedField: 'rejectedSpans',
  grpcMethod: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  httpPath: SIGNAL_PATHS.traces,
  observed: {
    grpc: (...where) => createOtlpGrpcExporterMetrics('otlp_grpc_span_exporter', ofTraces, ...where),
    http: (...where) => createOtlpHttpExporterMetrics('otlp_http_span_exporter', ofTraces, ...where),
  },
};

const ofLogs = { ...LogsExporterMetricsHelper, countItems: countOf };

const logs: Signal<readonly Resourced<LogRecord>[]> = {
  name: 'logs',
  encode: inEachEncoding(encodeLogRecords),
  decodeResponse: ProtobufLogsSerializer.deserializeResponse,
  rejectedField: 'rejectedLogRecords',
  grpcMethod: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
  httpPath: SIGNAL_PATHS.logs,
  observed: {
    grpc: (...where) => createOtlpGrpcExporterMetrics('otlp_grpc_log_exporter', ofLogs, ...where),
    http: (...where) => createOtlpHttpExporterMetrics('otlp_http_log_exporter', ofLogs, ...where),
  },
};

function inEachEncoding<Data>(
  encode: (data: Data, newWriter: NewWriter) => Uint8Array,
): Signal<Data>['encode'] {
  return {
    protobuf: (data) => encode(data, (bytes) => new ProtobufWriter(bytes)),
    json: (data) => encode(data, () => new JsonWriter()),
  };
}

export const SIGNALS = { metrics, traces, logs } as const;

/** A signal whose items are queued one by one and sent in batches. */
export interface ItemSignal<Item> {
  readonly signal: Signal<readonly Resourced<Item>[]>;
  /** The approximate bytes of an item in memory. */
  readonly bytesOf: (item: Item) => number;
  /** Upper bound on the bytes of an item in a request, in any encoding. @param bytes its size in memory */
  readonly requestBytesOf: (item: Item, bytes: number) => number;
  /** The id of the trace of an item, if items are dropped by trace. */
  readonly traceOf?: (item: Item) => string;
  /** Takes the items of a service apart, if some have another resource. */
  readonly byResource?: (of: Resourced<Item>) => readonly Resourced<Item>[];
}

export const ITEM_SIGNALS: { readonly traces: ItemSignal<Span>; readonly logs: ItemSignal<LogRecord> } = {
  traces: {
    signal: traces,
    bytesOf: bytesOfSpan,
    requestBytesOf: requestBytesOfSpan,
    traceOf: ({ traceId }) => traceId,
    byResource,
  },
  logs: { signal: logs, bytesOf: bytesOfLogRecord, requestBytesOf: requestBytesOfLogRecord },
};
