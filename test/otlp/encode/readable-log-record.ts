/** A log record in the type of the SDK, so that what its serializers write can be compared with ours. */
import type { JsonLogsSerializer } from '@opentelemetry/otlp-transformer';
import type { Resource } from '@opentelemetry/resources';
import type { LogRecord } from '../../../src/logger/log-record.ts';
import { hrTimeOf } from '../../../src/otlp/encode/epoch-time.ts';
import { SCOPE } from '../../../src/otlp/encode/otlp-request.ts';

type ReadableLogRecord = Parameters<typeof JsonLogsSerializer.serializeRequest>[0][number];

export function readableLogRecord(record: LogRecord, resource: Resource): ReadableLogRecord {
  const { traceId, spanId, flags } = record;
  return {
    // 0 means unknown.
    hrTime: hrTimeOf(record.timeMs ?? 0),
    hrTimeObserved: hrTimeOf(record.observedMs),
    ...(traceId === '' ? {} : { spanContext: { traceId, spanId, traceFlags: flags } }),
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
