/** Decodes requests with the published definitions of OTLP, as a backend does. They come with a mock of a backend. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import protobuf from 'protobufjs';
import type { Encoding } from '../../../src/otlp/send/signal.ts';

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

type Decoded = Readonly<Record<string, unknown>>;

/** @throws Error if the bytes are not a valid request */
export function decodeSpans(bytes: Uint8Array, encoding: Encoding = 'protobuf'): Decoded {
  return decode(traces.lookupType('ExportTraceServiceRequest'), bytes, encoding);
}

/** @throws Error if the bytes are not a valid request */
export function decodeMetrics(bytes: Uint8Array, encoding: Encoding = 'protobuf'): Decoded {
  return decode(metrics.lookupType('ExportMetricsServiceRequest'), bytes, encoding);
}

/** @throws Error if the bytes are not a valid request */
export function decodeLogRecords(bytes: Uint8Array, encoding: Encoding = 'protobuf'): Decoded {
  return decode(logs.lookupType('ExportLogsServiceRequest'), bytes, encoding);
}

function decode(type: protobuf.Type, bytes: Uint8Array, encoding: Encoding): Decoded {
  const message = encoding === 'protobuf' ? type.decode(bytes) : type.fromObject(parsed(bytes));
  return type.toObject(message, {
    longs: String,
    bytes: Array,
    enums: String,
    defaults: true,
    oneofs: true,
  });
}

/** Unlike other bytes in JSON, ids are hexadecimal in OTLP. */
function parsed(json: Uint8Array) {
  return JSON.parse(Buffer.from(json).toString(), (key, value: unknown) =>
    /^(?:traceId|spanId|parentSpanId)$/u.test(key) && typeof value === 'string'
      ? [...Buffer.from(value, 'hex')]
      : value,
  );
}

/** Fields whose presence means something even with a value that is otherwise the default. */
const WITH_PRESENCE = /Value$|^(?:asInt|asDouble|sum|min|max|\d+)$/u;

/**
 * A request in JSON, to compare ours with those of the SDK: without fields that have their default values, of which ours leave
 * out more, and without the URL of the schema within the resource, where the SDK repeats it, and OTLP has no such field.
 */
export function readJson(json: Uint8Array | undefined): unknown {
  return JSON.parse(Buffer.from(json ?? []).toString(), (key, value) => {
    if (key === 'resource') return { attributes: value.attributes };
    const isDefault = value === 0 || value === false || value === '' || value === '0';
    return isDefault && !WITH_PRESENCE.test(key) ? undefined : value;
  });
}
