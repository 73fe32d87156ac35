/** Makes the spans of sampled runs and sendings: ids, position in the tree, attributes, status. It samples nothing. Pure. */
import type { Finished, FinishedRun, SentFacts } from './ancestry/finished.ts';
import { attributesReader, boundedText } from './attribute-reading.ts';
import { exceptionEvent } from './exception-event.ts';
import { FinishedSpan } from './finished-span.ts';
import { errorTypeOf, OUTCOMES } from './outcomes.ts';
import { ServiceNames } from './service-names.ts';
import { SharedAttributes } from './shared-attributes.ts';
import type { Attributes, Span } from './span.ts';
import { OWN_ATTRIBUTES } from './span-attributes.ts';
import type { SpanFacts, Surroundings } from './span-facts.ts';
import { processSpanId } from './span-id.ts';
import { type SpanTimes, sendMs } from './span-times.ts';
import type { Threshold } from './threshold.ts';
import { traceFlags } from './trace-context.ts';
import type { TraceOrigin } from './trace-origin.ts';
import {
  aboveAll,
  hasSendSpans,
  type Position,
  processPosition,
  retrySendPosition,
  sendPosition,
} from './tree.ts';

/** The trace of a span, and the sampling threshold that kept it. */
export interface Kept {
  readonly origin: TraceOrigin;
  readonly threshold: Threshold;
}

type Parts = Pick<Span, 'spanId' | 'error' | 'events'> & {
  readonly position: Position;
  readonly times: SpanTimes;
};

const NO_EVENTS: Span['events'] = [];
const NO_PARENT = { parentSpanId: '', isParentRemote: false };

export class SpanMaker {
  readonly #surroundings: Surroundings;
  readonly #serviceNames: ServiceNames;
  readonly #shared: SharedAttributes;
  readonly #own: Readonly<Record<SpanFacts['operation'], (facts: SpanFacts) => Attributes>>;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
    this.#serviceNames = new ServiceNames(surroundings.settings.serviceNames);
    this.#shared = new SharedAttributes(surroundings, this.#serviceNames);
    this.#own = {
      send: attributesReader(OWN_ATTRIBUTES, 'send', surroundings),
      process: attributesReader(OWN_ATTRIBUTES, 'process', surroundings),
    };
  }

  ofSending(reported: Finished, sent: SentFacts, kept: Kept, spanId: string): Span {
    const ancestry = reported.kind === 'run' ? reported.sentAncestry : undefined;
    const finished = ancestry === undefined ? reported : { ...reported, ...ancestry };
    const startMs = sendMs(sent, finished);
    const times = { startMs, endMs: startMs };
    const facts = new FinishedSpan(finished, sent, { origin: kept.origin, times }, this.#surroundings);
    const isRetry = sent.retries !== undefined && finished.kind === 'run';
    return this.#make(facts, kept, {
      spanId,
      position: isRetry
        ? retrySendPosition(finished)
        : sendPosition(finished, kept.origin, this.#surroundings.settings.join),
      times,
      error: undefined,
      events: NO_EVENTS,
    });
  }

  ofRun(facts: FinishedSpan, run: FinishedRun, kept: Kept): Span {
    return this.#make(facts, kept, {
      spanId: processSpanId(run.uuid, run),
      position: this.#processPosition(run, kept.origin),
      times: facts.times,
      ...this.#status(run, facts.times.endMs),
    });
  }

  #make(facts: FinishedSpan, { origin, threshold }: Kept, parts: Parts): Span {
    // A hostile sender or worker can compute the id of this span, and report it as that of the remote parent.
    const { parentSpanId, isParentRemote } =
      parts.position.parentSpanId === parts.spanId ? NO_PARENT : parts.position;
    const { name, attributes: shared, serviceName: ofRun } = this.#shared.of(facts);
    const serviceName = facts.sent === undefined ? ofRun : this.#serviceNames.ofSender(facts.sent.sender);
    const span = {
      name,
      kind: facts.kind,
      traceId: origin.traceId,
      spanId: parts.spanId,
      parentSpanId,
      isParentRemote,
      flags: traceFlags(origin, true),
      traceState: threshold.traceState,
      startMs: parts.times.startMs,
      endMs: parts.times.endMs,
      error: parts.error,
      shared,
      attributes: this.#own[facts.operation](facts),
      links: parts.position.links,
      events: parts.events,
    };
    return serviceName === undefined ? span : { ...span, serviceName };
  }

  /** With `beyond_workers`, most spans of a trace come from the workers. So no span of ours can be a parent. */
  #processPosition(run: FinishedRun, origin: TraceOrigin): Position {
    const { settings } = this.#surroundings;
    if (settings.spans !== 'all') return aboveAll(origin);
    return processPosition(run, origin, { join: settings.join, hasSend: hasSendSpans(origin, settings) });
  }

  #status(run: FinishedRun, timeMs: number): Pick<Span, 'error' | 'events'> {
    const { settings, redaction } = this.#surroundings;
    const { isError } = OUTCOMES[run.outcome];
    if (!(isError || settings.exceptionEvents)) return { error: undefined, events: NO_EVENTS };
    // The exception of a retried run is an event, too, but no error of the span.
    const error = run.error && redaction.error(run.error);
    const max = settings.attributeValueLengthMax;
    const isEvent = settings.exceptionEvents && error !== undefined;
    return {
      error: isError ? { description: boundedText(error?.message ?? '', undefined) } : undefined,
      events: isEvent ? [exceptionEvent(error, errorTypeOf(run), { timeMs, max })] : NO_EVENTS,
    };
  }
}
