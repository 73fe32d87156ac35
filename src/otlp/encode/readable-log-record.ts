/**
 * A log record as the SDK has it, for its JSON serializer, and as the API has it, for a LoggerProvider of the program that
 * embeds the bridge. It is not recorded by the SDK. Pure.
 */
import { type LogRecord as ApiLogRecord, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
import type { JsonLogsSerializer } from '@opentelemetry/otlp-transformer';
import type { Resource } from '@opentelemetry/resources';
import type { LogRecord } from '../../logger/log-record.ts';
import { hrTimeOf } from './epoch-time.ts';
import { SCOPE } from './otlp-request.ts';

/** As in `@opentelemetry/sdk-logs`, which is only needed for this type. */
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

/** What `Logger.emit` takes. Its context has the span that the record belongs to, if any, whatever span is active now. */
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
