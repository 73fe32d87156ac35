/**
 * Spans through a TracerProvider of the embedding program: started and ended at once, after the fact. Its sampler, its limits,
 * its resource and its processors hold. It keeps ids only, a bounded number of them.
 */
import {
  type Context,
  ROOT_CONTEXT,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import { VERSION } from '../../self/version.ts';
import type { Span } from '../../tracer/span.ts';
import { SCOPE } from '../encode/otlp-request.ts';
import { type ReadableSpan, readableSpan } from '../encode/readable-span.ts';
import type { IdGenerator } from './id-generator.ts';

export interface ProvidedSpans {
  /** May throw what the provider throws. */
  add(span: Span): void;
  /** The id under which the span is known there, as far as it is remembered. */
  idOf(span: Pick<Span, 'traceId' | 'spanId'>): string;
}

/** About 4 MB. */
const IDS_MAX = 20_000;

/** @param generator that the provider has too; undefined: it makes its own ids */
export function providedSpans(
  provider: TracerProvider,
  generator: IdGenerator | undefined,
  resource: Resource,
): ProvidedSpans {
  const ids = new GivenIds();
  let tracer: Tracer | undefined;

  function start(span: Span, readable: ReadableSpan, parent: Context) {
    tracer ??= provider.getTracer(SCOPE.name, VERSION);
    const { kind, startTime, attributes } = readable;
    const links = readable.links.map((link) => {
      const spanId = ids.of({ traceId: link.context.traceId, spanId: link.context.spanId });
      return { ...link, context: { ...link.context, spanId } };
    });
    // A number could be taken for one of another clock, so all times are pairs.
    const options: SpanOptions = { kind, startTime, attributes, links, root: parent === ROOT_CONTEXT };
    const started = tracer;
    const begin = () => started.startSpan(span.name, options, parent);
    if (generator === undefined) return begin();
    const { traceId, spanId } = span;
    return generator.handing({ traceId: options.root === true ? traceId : undefined, spanId }, begin);
  }

  return {
    add(span) {
      const readable = readableSpan(span, resource);
      const made = start(span, readable, parentOf(span, ids, generator !== undefined));
      for (const { name, attributes, time } of readable.events) made.addEvent(name, attributes, time);
      if (readable.status.code === SpanStatusCode.ERROR) made.setStatus(readable.status);
      made.end(readable.endTime);
      const { spanId } = made.spanContext();
      if (generator === undefined) ids.note(span, spanId);
      else if (spanId !== span.spanId) {
        throw new Error('the tracerProvider does not use the idGenerator, so spans have other ids');
      }
    },
    idOf: (span) => ids.of(span),
  };
}

/**
 * Without our generator, only a parent makes the SDK use a trace id, so a root has one that nobody exports.
 * @param isGenerated whether ids can be handed to the provider
 */
function parentOf(
  { traceId, spanId, parentSpanId, isParentRemote }: Span,
  ids: GivenIds,
  isGenerated: boolean,
) {
  if (isGenerated && parentSpanId === '') return ROOT_CONTEXT;
  const parent = parentSpanId === '' ? spanId : ids.of({ traceId, spanId: parentSpanId });
  const isRemote = isParentRemote || parent === spanId;
  // It was sampled here, whatever the caller’s flag.
  const flags = { traceFlags: TraceFlags.SAMPLED, isRemote };
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: parent, ...flags });
}

/** Which ids the provider gave to the last spans. */
class GivenIds {
  readonly #given = new Map<string, string>();

  note({ traceId, spanId }: Pick<Span, 'traceId' | 'spanId'>, given: string): void {
    this.#given.set(traceId + spanId, given);
    if (this.#given.size <= IDS_MAX) return;
    for (const oldest of this.#given.keys()) {
      this.#given.delete(oldest);
      return;
    }
  }

  of({ traceId, spanId }: Pick<Span, 'traceId' | 'spanId'>): string {
    return this.#given.get(traceId + spanId) ?? spanId;
  }
}
