/**
 * Makes the spans, the exemplar and the log record of each finished run: at once, or when its trace is decided. It sends nothing,
 * and keeps only counts of what was dropped.
 */
import type { ExemplarFilter } from '../config/config.ts';
import type { LogRecord } from '../logger/log-record.ts';
import type { Logger } from '../logger/logger.ts';
import { TASK_ID } from '../meter/attributes.ts';
import type { ExemplarContext } from '../meter/bindable.ts';
import type { Finished, FinishedRun } from '../tracer/ancestry/finished.ts';
import type { Span } from '../tracer/span.ts';
import type { Traced, Tracer } from '../tracer/tracer.ts';

/** Receives what is made; undefined where nothing is wanted. */
interface Receivers {
  readonly addSpan: ((span: Span) => void) | undefined;
  readonly addRecord: (record: LogRecord | undefined) => void;
  readonly exemplify: ((run: FinishedRun, context: ExemplarContext) => void) | undefined;
  readonly exemplarFilter: ExemplarFilter;
  /** Whether a record is made only if the span of its run is kept, so that it has to wait for the decision. */
  readonly isRecordBySpan: boolean;
}

/** Spans that were dropped since the last reading. */
interface DroppedSpans {
  readonly unknown_root: number;
  readonly trace_undecided: number;
}

/** The context of a run whose trace is unknown. */
const NOWHERE = { traceId: '', spanId: '', flags: 0 } as const;

const NO_ATTRIBUTES = {};

/** How many held runs are reported with each finished run, so that a flood cannot outrun them; and when none finishes. */
const DECIDED_WITH_EACH = 20;
const DECIDED_PER_LOOK = 1000;

export class RunReports {
  readonly #tracer: Tracer;
  readonly #logger: Logger | undefined;
  readonly #to: Receivers;
  #unknownRoots = 0;
  /** The time of the last call, epoch ms: what was held is reported later than it ended. */
  #nowMs = 0;

  constructor(tracer: Tracer, logger: Logger | undefined, to: Receivers) {
    this.#tracer = tracer;
    this.#logger = logger;
    this.#to = to;
  }

  add(finished: Finished): void {
    this.#nowMs = finished.reportedMs;
    const traced = this.#tracer.trace(finished);
    if (traced.droppedUnknownRoot === true && this.#to.addSpan !== undefined) this.#unknownRoots += 1;
    const isHeld = traced.isHeld === true;
    if (!isHeld) this.#addSpans(finished, traced);
    // A record need not wait: it has the same ids, whether its span is kept or not.
    if (!(isHeld && this.#to.isRecordBySpan)) this.#addRecord(finished, traced);
    this.decide(finished.reportedMs);
  }

  /** Reports what was held and is decided by now, as much as a turn can take. @param nowMs epoch ms, by our clock */
  look(nowMs: number): void {
    this.decide(nowMs, DECIDED_PER_LOOK);
  }

  decide(nowMs: number, max = DECIDED_WITH_EACH): void {
    if (Number.isFinite(nowMs)) this.#nowMs = nowMs;
    for (const { finished, traced } of this.#tracer.decided(nowMs, max)) {
      this.#addSpans(finished, traced);
      if (this.#to.isRecordBySpan) this.#addRecord(finished, traced);
    }
  }

  /** Decides and reports all that is held: nothing more will come. */
  decideAll(): void {
    this.decide(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  }

  takeDropped(): DroppedSpans {
    const dropped = { unknown_root: this.#unknownRoots, trace_undecided: this.#tracer.takeDroppedEarly() };
    this.#unknownRoots = 0;
    return dropped;
  }

  #addSpans(finished: Finished, traced: Traced): void {
    const { addSpan, exemplify, exemplarFilter } = this.#to;
    for (const span of traced.spans) addSpan?.(span);
    if (finished.kind !== 'run') return;
    const context = exemplarContext(finished, traced, exemplarFilter);
    if (context !== undefined) exemplify?.(finished, context);
  }

  #addRecord(finished: Finished, { context = NOWHERE, isKept }: Traced): void {
    if (finished.kind !== 'run') return;
    this.#to.addRecord(this.#logger?.ofRun(finished, context, isKept, this.#nowMs));
  }
}

/** Returns undefined if the run gets no exemplar: the id of a span that was not kept would lead nowhere. */
function exemplarContext(
  { uuid }: FinishedRun,
  traced: Traced,
  filter: ExemplarFilter,
): ExemplarContext | undefined {
  if (filter === 'always_off') return undefined;
  // Compute the ids only here: the id of a span that was not made is a hash.
  const { traceId, spanId } = (traced.isKept ? traced.context : undefined) ?? NOWHERE;
  switch (filter) {
    case 'trace_based':
      return traceId === '' ? undefined : { traceId, spanId, attributes: NO_ATTRIBUTES };
    case 'always_on':
      return { traceId, spanId, attributes: { [TASK_ID]: uuid } };
  }
}
