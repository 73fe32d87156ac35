/**
 * A SpanProcessor of the embedding program takes spans that were made here, with their ids and the resource of their service. It
 * only gets their end, and is never flushed or shut down here.
 */
import type { Resource } from '@opentelemetry/resources';
import type { Span } from '../../tracer/span.ts';
import { type ReadableSpan, readableSpan } from '../encode/readable-span.ts';

/** The part of a SpanProcessor that is used. */
export interface AttachedSpanProcessor {
  onEnd(span: ReadableSpan): void;
}

export function processedSpans(processor: AttachedSpanProcessor, resource: Resource): (span: Span) => void {
  return (span) => processor.onEnd(readableSpan(span, resource));
}
