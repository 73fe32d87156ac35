/**
 * Makes the spans of finished runs and sendings. It samples once the outcome is known. Ids are derived from those of Celery, so
 * that every bridge makes the same ids. Pure: it remembers only the sizes of traces, and sends nothing.
 */
import type { Finished, FinishedRun, LoneSending, NewTask } from './ancestry/finished.ts';
import { FinishedSpan } from './finished-span.ts';
import { isBeyondWorkers } from './outcomes.ts';
import { compileSampler, type Decide, type Sampled } from './sampling.ts';
import type { Redaction, Surroundings, TracedBroker } from './span-facts.ts';
import { sendSpanId } from './span-id.ts';
import { SpanMaker } from './span-maker.ts';
import { processTimes, sendMs } from './span-times.ts';
import { keeps, type Threshold } from './threshold.ts';
import { TraceBounds } from './trace-bounds.ts';
import { contextIn } from './trace-context.ts';
import { type TraceOrigin, traceOrigin } from './trace-origin.ts';
import type { TraceSettings } from './trace-settings.ts';
import { type Traced, TracedInto, UNKNOWN_ROOT } from './traced.ts';

export type { Redaction, Traced, TracedBroker };

export interface Tracer {
  trace(finished: Finished): Traced;
  /** Whether the task begins a new trace. Called once per task that has a root or a parent. */
  beginsTrace(task: NewTask): boolean;
}

export function createTracer(settings: TraceSettings, broker: TracedBroker, redaction: Redaction): Tracer {
  return new BoundedTracer({ settings, broker, redaction });
}

class BoundedTracer implements Tracer {
  readonly #surroundings: Surroundings;
  readonly #decide: Decide;
  readonly #bounds: TraceBounds;
  readonly #maker: SpanMaker;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
    this.#decide = compileSampler(surroundings.settings.sampler);
    this.#bounds = new TraceBounds(surroundings.settings);
    this.#maker = new SpanMaker(surroundings);
  }

  beginsTrace(task: NewTask): boolean {
    return this.#bounds.beginsTrace(task);
  }

  trace(finished: Finished): Traced {
    if (isRootUnknown(finished)) return UNKNOWN_ROOT;
    const { traceRootId, rootId, uuid } = finished;
    // Only a root id, which a producer can set, may be a traceparent. The id of a task that begins a new trace is not joined.
    const join = this.#surroundings.settings.join && traceRootId === rootId;
    const origin = traceOrigin(traceRootId || rootId, uuid, join);
    return finished.kind === 'run' ? this.#run(finished, origin) : this.#sending(finished, origin);
  }

  #run(run: FinishedRun, origin: TraceOrigin): Traced {
    const { spans: wanted, sendSpans } = this.#surroundings.settings;
    const sent = wanted === 'all' && sendSpans && run.isSentNew ? run.sent : undefined;
    const isMore = run.previous !== undefined;
    this.#bounds.add(run.traceRootId, (isMore ? 1 : 0) + (sent === undefined ? 0 : 1));
    const worker = run.workerTraceparent === undefined ? undefined : contextIn(run.workerTraceparent);
    const dropped = () => new TracedInto(run, origin, undefined, worker);
    if (wanted === 'beyond_workers' && !isBeyondWorkers(run)) return dropped();
    const where = { origin, times: processTimes(run) };
    const facts = new FinishedSpan(run, undefined, where, this.#surroundings);
    const threshold = this.#threshold(facts, origin);
    if (threshold === undefined) return dropped();
    const kept = { origin, threshold };
    const span = this.#maker.ofRun(facts, run, { ...kept, worker });
    // The span of the run is a child of the span of the sending.
    const made =
      sent === undefined ? [span] : [this.#maker.ofSending(run, sent, kept, span.parentSpanId), span];
    return new TracedInto(run, origin, made, worker);
  }

  #sending(lone: LoneSending, origin: TraceOrigin): Traced {
    const { spans: wanted, sendSpans } = this.#surroundings.settings;
    if (wanted !== 'all' || !sendSpans) return new TracedInto(lone, origin);
    const startMs = sendMs(lone.sent, lone);
    const where = { origin, times: { startMs, endMs: startMs } };
    const facts = new FinishedSpan(lone, lone.sent, where, this.#surroundings);
    const threshold = this.#threshold(facts, origin);
    if (threshold === undefined) return new TracedInto(lone, origin);
    const spanId = sendSpanId(lone.uuid, lone.sent.name);
    return new TracedInto(lone, origin, [
      this.#maker.ofSending(lone, lone.sent, { origin, threshold }, spanId),
    ]);
  }

  /** @returns undefined if the span is dropped */
  #threshold(span: Sampled, { traceId }: TraceOrigin): Threshold | undefined {
    const threshold = this.#decide(span);
    return threshold !== undefined && keeps(threshold, traceId) ? threshold : undefined;
  }
}

/**
 * No root was reported, and neither the receipt nor the sending arrived. With either of them, a task without a root (protocol 1)
 * counts as its own root.
 */
function isRootUnknown(finished: Finished): boolean {
  if (finished.kind === 'sending' || finished.rootId !== '') return false;
  return finished.receivedMs === undefined && finished.sent === undefined;
}
