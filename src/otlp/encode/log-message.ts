/** Encodes log records for OTLP (opentelemetry/proto/logs/v1/logs.proto). It does not shorten them. Pure. */
import type { LogRecord } from '../../logger/log-record.ts';
import { encodeRequest, type Resourced } from './otlp-request.ts';
import type { ProtobufWriter } from './protobuf-writer.ts';

export function encodeLogRecords(data: readonly Resourced<LogRecord>[]): Uint8Array {
  return encodeRequest(data, writeLogRecord);
}

function writeLogRecord(writer: ProtobufWriter, record: LogRecord): void {
  const message = writer.open(0x12, 2);
  if (record.timeMs !== undefined) writer.time(0x09, record.timeMs);
  writer.int(0x10, record.severityNumber);
  writer.text(0x1a, record.severityText);
  writer.anyValue(0x2a, record.body);
  writer.attributes(0x32, record.attributes);
  if (record.traceId !== '') {
    writer.fixed32(0x45, record.flags);
    writer.hex(0x4a, record.traceId);
    writer.hex(0x52, record.spanId);
  }
  writer.time(0x59, record.observedMs);
  writer.text(0x62, record.eventName);
  writer.close(message, 2);
}
