/**
 * Makes spans through a TracerProvider of the embedding program. Each span is started and ended at once, with times in the past.
 * The provider’s sampler, limits, resource and processors apply. Only a bounded number of ids is kept.
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
import type { Span } from '../../tracer/span.ts';
import { SCOPE } from '../encode/otlp-request.ts';
import { type ReadableSpan, readableSpan } from '../encode/readable-span.ts';
import type { IdGenerator } from './id-generator.ts';

export interface ProvidedSpans {
  /** Makes the span. Throws whatever the provider throws. */
  add(span: Span): void;
  /** The id that the provider gave to the span; its own id if that is not remembered. */
  idOf(span: Pick<Span, 'traceId' | 'spanId'>): string;
}

/** How many ids are kept, which takes about 4 MB. */
const IDS_MAX = 20_000;

/** @param generator the generator that the provider uses, too; undefined if the provider generates other ids */
export function providedSpans(
  provider: TracerProvider,
  generator: IdGenerator | undefined,
  resource: Resource,
): ProvidedSpans {
  const ids = new GivenIds();
  let tracer: Tracer | undefined;

  function start(span: Span, readable: ReadableSpan, parent: Context) {
    tracer ??= provider.getTracer(SCOPE.name, SCOPE.version, { schemaUrl: SCOPE.schemaUrl });
    const { kind, startTime, attributes } = readable;
    const links = readable.links.map((link) => {
      const spanId = ids.of({ traceId: link.context.traceId, spanId: link.context.spanId });
      return { ...link, context: { ...link.context, spanId } };
    });
    // All times are pairs: the SDK could take a number for a time of the monotonic clock.
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
 * The context of the parent. Without our generator, the SDK takes a trace id only from a parent, so a root gets a parent that is
 * never exported.
 * @param isGenerated whether the provider uses our generator
 */
function parentOf(
  { traceId, spanId, parentSpanId, isParentRemote }: Span,
  ids: GivenIds,
  isGenerated: boolean,
) {
  if (isGenerated && parentSpanId === '') return ROOT_CONTEXT;
  const parent = parentSpanId === '' ? spanId : ids.of({ traceId, spanId: parentSpanId });
  const isRemote = isParentRemote || parent === spanId;
  // The span was sampled here, whatever the flag of the remote parent.
  const flags = { traceFlags: TraceFlags.SAMPLED, isRemote };
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: parent, ...flags });
}

/** The ids that the provider gave to the most recent spans. */
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
