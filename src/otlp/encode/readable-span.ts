/**
 * Converts a span to the type of the SDK, for a SpanProcessor of the program that embeds the bridge. It exports nothing. Pure.
 */
import { createTraceState, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import type { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { Resource } from '@opentelemetry/resources';
import type { Attributes, Span } from '../../tracer/span.ts';
import { hrTimeOf } from './epoch-time.ts';
import { SCOPE } from './otlp-request.ts';

/** The type of `@opentelemetry/sdk-trace`, derived to avoid a dependency for one type. */
export type ReadableSpan = Parameters<typeof JsonTraceSerializer.serializeRequest>[0][number];

const KINDS = { producer: SpanKind.PRODUCER, consumer: SpanKind.CONSUMER } as const;

export function readableSpan(span: Span, resource: Resource): ReadableSpan {
  const { traceId, spanId, flags } = span;
  const traceState = span.traceState === '' ? {} : { traceState: createTraceState(span.traceState) };
  const context = { traceId, spanId, traceFlags: flags, ...traceState };
  const startTime = hrTimeOf(span.startMs);
  const endTime = hrTimeOf(span.endMs);
  return {
    name: span.name,
    kind: KINDS[span.kind],
    spanContext: () => context,
    ...(span.parentSpanId === ''
      ? {}
      : {
          parentSpanContext: {
            traceId,
            spanId: span.parentSpanId,
            traceFlags: flags,
            isRemote: span.isParentRemote,
          },
        }),
    startTime,
    endTime,
    duration: between(startTime, endTime),
    ended: true,
    status:
      span.error === undefined
        ? { code: SpanStatusCode.UNSET }
        : { code: SpanStatusCode.ERROR, message: span.error.description },
    attributes: copied({ ...span.shared, ...span.attributes }),
    links: span.links.map((link) => ({
      context: { traceId: link.traceId, spanId: link.spanId, traceFlags: TraceFlags.NONE },
      attributes: copied(link.attributes),
    })),
    events: span.events.map(({ name, timeMs, attributes }) => ({
      name,
      time: hrTimeOf(timeMs),
      attributes: copied(attributes),
    })),
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

type HrTime = readonly [seconds: number, nanos: number];

function between([fromS, fromNs]: HrTime, [toS, toNs]: HrTime): [number, number] {
  return toNs < fromNs ? [toS - fromS - 1, toNs - fromNs + 1e9] : [toS - fromS, toNs - fromNs];
}

/** A copy, because a processor of the program may modify it. */
function copied(attributes: Attributes): Record<string, Attributes[string]> {
  return { ...attributes };
}
