/**
 * A SpanExporter of the embedding program as an exporter of this room. What it fails to export is lost, as the specification
 * has it (trace/sdk, "Span Exporter"): it retries what can be retried itself. It is never shut down here.
 */
import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import { type ExportResult as Ended, ExportResultCode, suppressTracing } from '@opentelemetry/core';
import { reasonOf } from '../../text/errors.ts';
import type { Span } from '../../tracer/span.ts';
import { countOf, type Resourced } from '../encode/otlp-request.ts';
import { type ReadableSpan, readableSpan } from '../encode/readable-span.ts';
import type { Exporter, ExportResult } from '../send/exporter.ts';

/** The part of a SpanExporter that is used. */
export interface AttachedSpanExporter {
  export(spans: ReadableSpan[], done: (result: Ended) => void): void;
}

/** Distinguishes errors that it throws from failed exports. */
export function attachedExporter(
  exporter: AttachedSpanExporter,
  timeoutMs: number,
  onThrown: (reason: unknown) => void,
): Exporter<readonly Resourced<Span>[]> {
  function ended(spans: ReadableSpan[]): Promise<Ended> {
    const { promise, resolve } = Promise.withResolvers<Ended>();
    const silence = setTimeout(() => resolve(failed(`no reply within ${timeoutMs} ms`)), timeoutMs).unref();
    function threw(reason: unknown): void {
      onThrown(reason);
      resolve(failed(reasonOf(reason)));
    }
    try {
      // The program may trace its own requests, but not those that export spans.
      const returned = context.with(suppressTracing(ROOT_CONTEXT), () => exporter.export(spans, resolve));
      // An async function fits the type, and nothing else would catch what it throws.
      Promise.resolve(returned).catch(threw);
    } catch (reason) {
      threw(reason);
    }
    return promise.finally(() => clearTimeout(silence));
  }

  return {
    backend: 'the attached SpanExporter',
    async export(data): Promise<ExportResult> {
      const spans = data.flatMap(({ resource, items }) => items.map((item) => readableSpan(item, resource)));
      const { code, error } = await ended(spans);
      if (code === ExportResultCode.SUCCESS) return { kind: 'success' };
      const message = reasonOf(error ?? 'the export failed');
      return { kind: 'partial', rejectedItems: countOf(data), message };
    },
    observe: () => {},
    close: () => {},
  };
}

function failed(reason: string): Ended {
  return { code: ExportResultCode.FAILED, error: new Error(reason) };
}
