/**
 * Converts a log record to the types of the SDK, for its JSON serializer, and of the API, for a LoggerProvider of the program
 * that embeds the bridge. Pure.
 */
import { type LogRecord as ApiLogRecord, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
import type { JsonLogsSerializer } from '@opentelemetry/otlp-transformer';
import type { Resource } from '@opentelemetry/resources';
import type { LogRecord } from '../../logger/log-record.ts';
import { hrTimeOf } from './epoch-time.ts';
import { SCOPE } from './otlp-request.ts';

/** The type of `@opentelemetry/sdk-logs`, derived to avoid a dependency for one type. */
export type ReadableLogRecord = Parameters<typeof JsonLogsSerializer.serializeRequest>[0][number];

export function readableLogRecord(record: LogRecord, resource: Resource): ReadableLogRecord {
  const spanContext = spanContextOf(record);
  return {
    // 0 means unknown.
    hrTime: hrTimeOf(record.timeMs ?? 0),
    hrTimeObserved: hrTimeOf(record.observedMs),
    ...(spanContext === undefined ? {} : { spanContext }),
    severityNumber: record.severityNumber,
    severityText: record.severityText,
    eventName: record.eventName,
    body: record.body,
    attributes: { ...record.attributes },
    droppedAttributesCount: 0,
    resource,
    instrumentationScope: SCOPE,
  };
}

/** The argument for `Logger.emit`. Its context has the span of the record, if any, whatever span is active now. */
export function emittedLogRecord(record: LogRecord): ApiLogRecord {
  const spanContext = spanContextOf(record);
  return {
    eventName: record.eventName,
    ...(record.timeMs === undefined ? {} : { timestamp: hrTimeOf(record.timeMs) }),
    observedTimestamp: hrTimeOf(record.observedMs),
    severityNumber: record.severityNumber,
    severityText: record.severityText,
    body: record.body,
    attributes: { ...record.attributes },
    context: spanContext === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, spanContext),
  };
}

function spanContextOf({ traceId, spanId, flags }: LogRecord): SpanContext | undefined {
  return traceId === '' ? undefined : { traceId, spanId, traceFlags: flags };
}
