/** Decodes requests with the published definitions of OTLP, as a backend does. They come with a mock of a backend. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import protobuf from 'protobufjs';

const FOLDER = dirname(createRequire(import.meta.url).resolve('@elastic/mockotlpserver/package.json'));
const COLLECTOR = 'opentelemetry/proto/collector';

function load(file: string): protobuf.Root {
  const root = new protobuf.Root();
  root.resolvePath = (_, target) => (existsSync(target) ? target : join(FOLDER, target));
  return root.loadSync(file);
}

const traces = load(`${COLLECTOR}/trace/v1/trace_service.proto`);
const metrics = load(`${COLLECTOR}/metrics/v1/metrics_service.proto`);
const logs = load(`${COLLECTOR}/logs/v1/logs_service.proto`);
// They are older than this field.
logs.lookupType('opentelemetry.proto.logs.v1.LogRecord').add(new protobuf.Field('eventName', 12, 'string'));

/** @throws Error if the bytes are not a valid request */
export function decodeSpans(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  return decode(traces.lookupType('ExportTraceServiceRequest'), bytes);
}

/** @throws Error if the bytes are not a valid request */
export function decodeMetrics(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  return decode(metrics.lookupType('ExportMetricsServiceRequest'), bytes);
}

/** @throws Error if the bytes are not a valid request */
export function decodeLogRecords(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  return decode(logs.lookupType('ExportLogsServiceRequest'), bytes);
}

function decode(type: protobuf.Type, bytes: Uint8Array) {
  return type.toObject(type.decode(bytes), {
    longs: String,
    bytes: Array,
    enums: String,
    defaults: true,
    oneofs: true,
  });
}
