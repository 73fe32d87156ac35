/**
 * Passes finished spans, with their ids and the resource of their service, to a SpanProcessor of the embedding program. It calls
 * only `onEnd`, and never flushes or shuts down the processor.
 */
import type { Resource } from '@opentelemetry/resources';
import type { Span } from '../../tracer/span.ts';
import { type ReadableSpan, readableSpan } from '../encode/readable-span.ts';
import { resourceOf } from '../encode/span-resource.ts';

/** The part of a SpanProcessor that the bridge uses. */
export interface AttachedSpanProcessor {
  onEnd(span: ReadableSpan): void;
}

export function processedSpans(processor: AttachedSpanProcessor, resource: Resource): (span: Span) => void {
  return (span) => processor.onEnd(readableSpan(span, resourceOf(span, resource)));
}
