/** Encodes log records for OTLP (opentelemetry/proto/logs/v1/logs.proto). It does not shorten them. Pure. */
import type { LogRecord } from '../../logger/log-record.ts';
import { writeAnyValue, writeAttributes } from './attribute-message.ts';
import type { MessageWriter, NewWriter } from './message-writer.ts';
import { encodeItems, type RequestFields, type Resourced } from './otlp-request.ts';

const REQUEST: RequestFields = {
  resources: { tag: 0x0a, name: 'resourceLogs', width: 3, isRepeated: true },
  scopes: { tag: 0x12, name: 'scopeLogs', width: 3, isRepeated: true },
  items: { tag: 0x12, name: 'logRecords', width: 2, isRepeated: true },
};
const LOG_RECORD = {
  timeUnixNano: { tag: 0x09, name: 'timeUnixNano' },
  severityNumber: { tag: 0x10, name: 'severityNumber' },
  severityText: { tag: 0x1a, name: 'severityText' },
  body: { tag: 0x2a, name: 'body', width: 1, isRepeated: false },
  attributes: { tag: 0x32, name: 'attributes', width: 1, isRepeated: true },
  flags: { tag: 0x45, name: 'flags' },
  traceId: { tag: 0x4a, name: 'traceId' },
  spanId: { tag: 0x52, name: 'spanId' },
  observedTimeUnixNano: { tag: 0x59, name: 'observedTimeUnixNano' },
  eventName: { tag: 0x62, name: 'eventName' },
};

export function encodeLogRecords(data: readonly Resourced<LogRecord>[], newWriter: NewWriter): Uint8Array {
  return encodeItems(data, newWriter, REQUEST, writeLogRecord);
}

function writeLogRecord(writer: MessageWriter, record: LogRecord): void {
  if (record.timeMs !== undefined) writer.time(LOG_RECORD.timeUnixNano, record.timeMs);
  writer.int(LOG_RECORD.severityNumber, record.severityNumber);
  writer.text(LOG_RECORD.severityText, record.severityText);
  writeAnyValue(writer, LOG_RECORD.body, record.body);
  writeAttributes(writer, LOG_RECORD.attributes, record.attributes);
  if (record.traceId !== '') {
    writer.fixed32(LOG_RECORD.flags, record.flags);
    writer.hex(LOG_RECORD.traceId, record.traceId);
    writer.hex(LOG_RECORD.spanId, record.spanId);
  }
  writer.time(LOG_RECORD.observedTimeUnixNano, record.observedMs);
  writer.text(LOG_RECORD.eventName, record.eventName);
}
