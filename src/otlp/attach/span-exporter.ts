/**
 * Adapts a SpanExporter of the embedding program to the `Exporter` interface. Spans that it fails to export are dropped, since a
 * SpanExporter retries by itself (trace/sdk, "Span Exporter"). It is never shut down here.
 */
import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import { type ExportResult as Ended, ExportResultCode, suppressTracing } from '@opentelemetry/core';
import { reasonOf } from '../../text/errors.ts';
import type { Span } from '../../tracer/span.ts';
import { countOf, type Resourced } from '../encode/otlp-request.ts';
import { type ReadableSpan, readableSpan } from '../encode/readable-span.ts';
import type { Exporter, ExportResult } from '../send/exporter.ts';

/** The part of a SpanExporter that the bridge uses. */
export interface AttachedSpanExporter {
  export(spans: ReadableSpan[], done: (result: Ended) => void): void;
}

/** @param onThrown called if the exporter throws, as opposed to reporting a failure */
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
      // The program may trace its requests, but must not trace the requests that export spans.
      const returned = context.with(suppressTracing(ROOT_CONTEXT), () => exporter.export(spans, resolve));
      // `export` may be an async function, which the type permits. Nothing else would catch its rejection.
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
