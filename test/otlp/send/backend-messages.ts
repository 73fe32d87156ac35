/**
 * Responses of OTLP backends, encoded from the published definitions (opentelemetry/proto/collector/metrics/v1/
 * metrics_service.proto, google/rpc/status.proto, google/rpc/error_details.proto).
 */
import protobuf from 'protobufjs';

const { root } = protobuf.parse(`
  syntax = "proto3";
  message ExportMetricsPartialSuccess { int64 rejected_data_points = 1; string error_message = 2; }
  message ExportMetricsServiceResponse { ExportMetricsPartialSuccess partial_success = 1; }
  message Duration { int64 seconds = 1; int32 nanos = 2; }
  message RetryInfo { Duration retry_delay = 1; }
  message BadRequest { message Violation { string field = 1; string description = 2; } repeated Violation field_violations = 1; }
  message Any { string type_url = 1; bytes value = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
`);

export interface PartialSuccessMessage {
  readonly rejectedDataPoints?: number | string;
  /** In JSON. In protobuf it is the same field as that of the metrics. */
  readonly rejectedSpans?: number;
  readonly errorMessage?: string;
}

export function responseBytes(partialSuccess: PartialSuccessMessage | undefined): Uint8Array {
  return encode('ExportMetricsServiceResponse', partialSuccess === undefined ? {} : { partialSuccess });
}

export interface StatusDetails {
  readonly message?: string;
  /** A RetryInfo with this delay, ms; with null one without a delay. */
  readonly retryDelayMs?: number | null;
}

/** With a detail of another kind before the RetryInfo, as backends may have it. */
export function statusBytes({ message = '', retryDelayMs }: StatusDetails): Uint8Array {
  const violation = { field: 'name', description: 'is too long' };
  const details = [any('BadRequest', { fieldViolations: [violation] })];
  if (retryDelayMs === null) details.push(any('RetryInfo', {}));
  else if (retryDelayMs !== undefined) {
    const seconds = Math.trunc(retryDelayMs / 1000);
    const nanos = Math.trunc((retryDelayMs % 1000) * 1e6);
    details.push(any('RetryInfo', { retryDelay: { seconds, nanos } }));
  }
  return encode('Status', { code: 8, message, details });
}

function any(type: string, value: object) {
  return { typeUrl: `type.googleapis.com/google.rpc.${type}`, value: encode(type, value) };
}

function encode(type: string, value: object): Uint8Array {
  const message = root.lookupType(type);
  return message.encode(message.fromObject(value)).finish();
}
