/**
 * Converts a log record to the type of the API, for a LoggerProvider of the program that embeds the bridge. It emits nothing.
 * Pure.
 */
import { type LogRecord as ApiLogRecord, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import type { LogRecord } from '../../logger/log-record.ts';
import { hrTimeOf } from './epoch-time.ts';

/** The argument for `Logger.emit`. Its context has the span of the record, if any, whatever span is active now. */
export function emittedLogRecord(record: LogRecord): ApiLogRecord {
  const { traceId, spanId, flags } = record;
  return {
    eventName: record.eventName,
    ...(record.timeMs === undefined ? {} : { timestamp: hrTimeOf(record.timeMs) }),
    observedTimestamp: hrTimeOf(record.observedMs),
    severityNumber: record.severityNumber,
    severityText: record.severityText,
    body: record.body,
    attributes: { ...record.attributes },
    context:
      traceId === ''
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: flags }),
  };
}
