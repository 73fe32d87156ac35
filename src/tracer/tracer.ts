/**
 * Makes the spans of finished runs and sendings. It samples once the outcome is known, or once the trace is over. Ids are derived
 * from those of Celery, so that every bridge makes the same ids. Pure: it holds only undecided traces, and sends nothing.
 */
import type { Finished, FinishedRun, NewTask } from './ancestry/finished.ts';
import { FinishedSpan } from './finished-span.ts';
import { type Decision, HeldTraces } from './held-traces.ts';
import { isBeyondWorkers } from './outcomes.ts';
import { canSplitTraces, compileSampler, type Decide } from './sampling.ts';
import type { Redaction, Surroundings, TracedBroker } from './span-facts.ts';
import { retrySendSpanId, sendSpanId } from './span-id.ts';
import { SpanMaker } from './span-maker.ts';
import { processTimes, sendMs } from './span-times.ts';
import { keeps, type Threshold } from './threshold.ts';
import { TraceBounds } from './trace-bounds.ts';
import { contextIn, type TraceContext } from './trace-context.ts';
import { type TraceOrigin, traceOriginOf } from './trace-origin.ts';
import type { TraceSettings } from './trace-settings.ts';
import { HeldRun, type Traced, TracedInto, UNKNOWN_ROOT } from './traced.ts';
import { hasSendSpans } from './tree.ts';

export type { Redaction, Traced, TracedBroker };

export interface Tracer {
  /** Makes the spans of a finished run or sending, unless it is held until its trace is decided. */
  trace(finished: Finished): Traced;
  /** Whether the task begins a new trace. Called once per task that has a root or a parent. */
  beginsTrace(task: NewTask): boolean;
  /** Whether runs are held until their trace is decided. */
  readonly holdsTraces: boolean;
  /** A run or a sending of the trace is open. @param isRepeat whether it repeats an earlier run */
  opened(traceRootId: string, isRepeat: boolean, nowMs: number): void;
  /** It is over; a finished run was traced before. */
  closed(traceRootId: string, nowMs: number): void;
  /**
   * What was held, and has been decided since the last call.
   * @param nowMs epoch ms, by our clock; infinity if nothing more will come
   * @param max after so many, the rest is left to the next call
   */
  decided(nowMs: number, max: number): readonly TracedLater[];
  /**
   * How many were dropped since the last call although a later run of their trace may be kept, because too much was held.
   */
  takeDroppedEarly(): number;
}

/** A finished run or sending that was held until its trace was decided. */
export interface TracedLater {
  readonly finished: Finished;
  readonly traced: Traced;
}

export function createTracer(settings: TraceSettings, broker: TracedBroker, redaction: Redaction): Tracer {
  return new BoundedTracer({ settings, broker, redaction });
}

class BoundedTracer implements Tracer {
  readonly #surroundings: Surroundings;
  readonly #decide: Decide;
  readonly #bounds: TraceBounds;
  readonly #maker: SpanMaker;
  /** Undefined if nothing is held. */
  readonly #held: HeldTraces | undefined;
  /** What is decided, and not reported yet; up to `#reported` it has been reported. */
  #decided: Decision[] = [];
  #reported = 0;
  #droppedEarly = 0;

  constructor(surroundings: Surroundings) {
    const { settings } = surroundings;
    this.#surroundings = surroundings;
    this.#decide = compileSampler(settings.sampler);
    this.#bounds = new TraceBounds(settings);
    this.#maker = new SpanMaker(surroundings);
    // With `beyond_workers`, most spans of a trace come from the workers.
    const isHeld = settings.holdMs > 0 && settings.spans === 'all' && canSplitTraces(settings.sampler);
    this.#held = isHeld ? new HeldTraces(settings.holdMs) : undefined;
  }

  get holdsTraces(): boolean {
    return this.#held !== undefined;
  }

  beginsTrace(task: NewTask): boolean {
    return this.#bounds.beginsTrace(task);
  }

  opened(traceRootId: string, isRepeat: boolean, nowMs: number): void {
    this.#held?.opened(traceRootId, isRepeat, nowMs);
  }

  closed(traceRootId: string, nowMs: number): void {
    this.#held?.closed(traceRootId, nowMs);
  }

  trace(finished: Finished): Traced {
    const { spans: wanted, sendSpans } = this.#surroundings.settings;
    const origin = this.#originOf(finished);
    if (origin.reportedFor === undefined && isRootUnknown(finished)) return UNKNOWN_ROOT;
    if (finished.kind === 'run') this.#countSpans(finished, origin);
    const isWanted =
      finished.kind === 'run' ? wanted === 'all' || isBeyondWorkers(finished) : wanted === 'all' && sendSpans;
    if (!isWanted) return new TracedInto(finished, origin, undefined, workerOf(finished));
    const facts = this.#factsOf(finished, origin);
    const threshold = this.#decide(facts);
    if (this.#held === undefined) return this.#made(finished, origin, threshold, facts);
    let own: Decision | undefined;
    for (const decision of this.#held.add(finished, threshold)) {
      if (decision.finished === finished) own = decision;
      else this.#decided.push(decision);
    }
    if (own === undefined) return new HeldRun(finished, origin, undefined, workerOf(finished));
    const traced = this.#made(finished, origin, own.threshold, facts);
    if (own.isEarly && traced.spans.length === 0) this.#droppedEarly += 1;
    return traced;
  }

  decided(nowMs: number, max: number): readonly TracedLater[] {
    if (this.#held === undefined) return NONE;
    const waiting = this.#decided.length - this.#reported;
    if (waiting < max) for (const each of this.#held.settle(nowMs, max - waiting)) this.#decided.push(each);
    if (this.#decided.length === 0) return NONE;
    const later: TracedLater[] = [];
    for (let characters = 0; later.length < max && (characters < CHARACTERS_AT_ONCE || max === Infinity); ) {
      const decision = this.#decided[this.#reported];
      if (decision === undefined) break;
      this.#reported += 1;
      const { finished, threshold, isEarly } = decision;
      const traced = this.#made(finished, this.#originOf(finished), threshold);
      characters += traced.spans.length > 0 ? textsOf(finished) : 0;
      if (isEarly && traced.spans.length === 0) this.#droppedEarly += 1;
      later.push({ finished, traced });
    }
    if (this.#reported === this.#decided.length) {
      this.#decided = [];
      this.#reported = 0;
    }
    return later;
  }

  takeDroppedEarly(): number {
    const dropped = this.#droppedEarly;
    this.#droppedEarly = 0;
    return dropped;
  }

  #originOf(finished: Finished): TraceOrigin {
    return traceOriginOf(finished, this.#surroundings.settings.join);
  }

  #countSpans(run: FinishedRun, origin: TraceOrigin): void {
    const isMore = run.previous !== undefined;
    const hasSendings = hasSendSpans(origin, this.#surroundings.settings);
    const isSent = hasSendings && run.isSentNew && run.sent !== undefined;
    const isRetrySent = hasSendings && run.retrySent !== undefined;
    this.#bounds.add(run.traceRootId, (isMore ? 1 : 0) + (isSent ? 1 : 0) + (isRetrySent ? 1 : 0));
  }

  #factsOf(finished: Finished, origin: TraceOrigin): FinishedSpan {
    if (finished.kind === 'run') {
      return new FinishedSpan(
        finished,
        undefined,
        { origin, times: processTimes(finished) },
        this.#surroundings,
      );
    }
    const startMs = sendMs(finished.sent, finished);
    const where = { origin, times: { startMs, endMs: startMs } };
    return new FinishedSpan(finished, finished.sent, where, this.#surroundings);
  }

  /** @param threshold undefined if it is dropped */
  #made(
    finished: Finished,
    origin: TraceOrigin,
    threshold: Threshold | undefined,
    known?: FinishedSpan,
  ): Traced {
    const worker = workerOf(finished);
    if (threshold === undefined || !keeps(threshold, origin.traceId)) {
      return new TracedInto(finished, origin, undefined, worker);
    }
    const kept = { origin, threshold };
    if (finished.kind === 'sending') {
      const spanId = sendSpanId(finished.uuid, finished.sent);
      return new TracedInto(finished, origin, [this.#maker.ofSending(finished, finished.sent, kept, spanId)]);
    }
    const facts = known ?? this.#factsOf(finished, origin);
    const span = this.#maker.ofRun(facts, finished, kept);
    if (!hasSendSpans(origin, this.#surroundings.settings))
      return new TracedInto(finished, origin, [span], worker);
    const { uuid, retrySent, sent, isSentNew } = finished;
    const made = [span];
    // The span of the run is a child of that of its first sending.
    if (isSentNew && sent !== undefined)
      made.unshift(this.#maker.ofSending(finished, sent, kept, span.parentSpanId));
    if (retrySent !== undefined)
      made.unshift(this.#maker.ofSending(finished, retrySent, kept, retrySendSpanId(uuid, finished)));
    return new TracedInto(finished, origin, made, worker);
  }
}

const NONE: readonly TracedLater[] = [];

/** The texts of exceptions, in UTF-16 units, that one call redacts: more would hold up the event loop. */
const CHARACTERS_AT_ONCE = 65_536;

function textsOf(finished: Finished): number {
  const error = finished.kind === 'run' ? finished.error : undefined;
  return error === undefined ? 0 : error.message.length + error.stacktrace.length;
}

/** The span in which the worker ran the task, if the worker reported it. */
function reportedSpan({ workerSpan }: FinishedRun): TraceContext | undefined {
  return workerSpan === undefined ? undefined : contextIn(workerSpan.traceparent);
}

/** The span of the worker to which records and exemplars lead; undefined if it died with its process. */
function workerOf(finished: Finished): TraceContext | undefined {
  return finished.kind === 'run' && !isBeyondWorkers(finished) ? reportedSpan(finished) : undefined;
}

/**
 * No root was reported, and neither the receipt nor the sending arrived. With either of them, a task without a root (protocol 1)
 * counts as its own root.
 */
function isRootUnknown(finished: Finished): boolean {
  if (finished.kind === 'sending' || finished.rootId !== '') return false;
  return finished.receivedMs === undefined && finished.sent === undefined;
}
