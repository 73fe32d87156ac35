/**
 * Holds the finished runs and sendings of a trace until the trace is over, so that a failure keeps all of its trace. A trace is
 * kept or dropped as a whole, by the lowest threshold of its spans. Bounded in bytes, in traces and in time: beyond a bound, the
 * oldest trace is decided early. It makes no spans, and samples none. Pure.
 */
import { CHARACTER_BYTES } from '../cluster/measured-bytes.ts';
import { RecentKeys } from '../text/recent-keys.ts';
import type { Finished } from './ancestry/finished.ts';
import { isLowest, lowerOf, type Threshold } from './threshold.ts';
import { traceKey } from './trace-bounds.ts';

/** A trace in which nothing is open is over once nothing has happened in it for this long: the next task may wait in a queue. */
const QUIET_MS = 10_000;
/** Clocks are corrected by less than this while events arrive; a later time than now shows that the clock was set back. */
const SET_BACK_MS = 60_000;
/** The bounds on what one service holds. */
const BYTES_MAX = 64 * 1024 * 1024;
const TRACES_MAX = 100_000;
/** How many of them may be known only because a task is open: tasks may wait in a queue by the hundred thousand. */
const OPEN_TRACES_MAX = TRACES_MAX / 2;
/** How many kept traces are remembered at least: more of their runs may follow. */
const KEPT_AT_LEAST = 5_000;
/** Measured: a trace, and a held run with its sending, without ids and texts. */
const TRACE_BYTES = 430;
const FINISHED_BYTES = 600;
/** The sending of a retry, beside the first one. */
const RETRY_SENT_BYTES = 150;

/** A held run or sending whose trace has been decided. */
export interface Decision {
  readonly finished: Finished;
  /** The threshold of its trace; undefined: no span of the trace is kept. */
  readonly threshold: Threshold | undefined;
  /** Whether the trace was decided before it was over, because too much was held. */
  readonly isEarly: boolean;
}

interface Trace {
  readonly key: string;
  /** How many of its runs and sendings are open, and how many runs will be repeated. */
  open: number;
  repeats: number;
  threshold: Threshold | undefined;
  held: Finished[];
  bytes: number;
  /** When the oldest one was held, and when something last happened in the trace, epoch ms. */
  sinceMs: number;
  lastMs: number;
}

export class HeldTraces {
  readonly #holdMs: number;
  readonly #quietMs: number;
  readonly #bytesMax: number;
  readonly #traces = new Map<string, Trace>();
  /** Traces that hold something, the longest held first. */
  readonly #holding = new Set<Trace>();
  /** Those in which nothing is open, the longest quiet first. */
  readonly #quiet = new Set<Trace>();
  /** The thresholds of traces that were kept and that may go on. */
  readonly #kept = new RecentKeys<Threshold>(KEPT_AT_LEAST);
  #bytes = 0;

  /** @param holdMs the longest time for which a run is held */
  constructor(holdMs: number, bytesMax = BYTES_MAX) {
    this.#holdMs = holdMs;
    this.#quietMs = Math.min(QUIET_MS, holdMs);
    this.#bytesMax = bytesMax;
  }

  /** An upper estimate of the memory of all traces and of what they hold. */
  get bytes(): number {
    return this.#bytes;
  }

  get traces(): number {
    return this.#traces.size;
  }

  /** A run or a sending of the trace is open. @param isRepeat whether it repeats an earlier run */
  opened(traceRootId: string, isRepeat: boolean, nowMs: number): void {
    const trace = this.#traceOf(traceKey(traceRootId), OPEN_TRACES_MAX);
    if (trace === undefined) return;
    trace.open += 1;
    // A retry may be received before the attempt that it repeats has ended.
    if (isRepeat) trace.repeats -= 1;
    this.#touch(trace, nowMs);
  }

  /** The run or sending is no longer open. Call it after the finished run was added. */
  closed(traceRootId: string, nowMs: number): void {
    const trace = this.#traces.get(traceKey(traceRootId));
    if (trace === undefined || trace.open === 0) return;
    trace.open -= 1;
    this.#touch(trace, nowMs);
  }

  /**
   * Holds a finished run or sending, unless its trace is known to be kept.
   * @param threshold that of its own span; undefined if that span alone would be dropped
   * @returns what has been decided, perhaps with this one
   */
  add(finished: Finished, threshold: Threshold | undefined): readonly Decision[] {
    const key = traceKey(finished.traceRootId);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return [{ finished, threshold: kept, isEarly: false }];
    const trace = this.#traceOf(key, TRACES_MAX);
    if (trace === undefined) return [{ finished, threshold, isEarly: true }];
    this.#hold(trace, finished, threshold);
    if (isRepeated(finished)) trace.repeats += 1;
    this.#touch(trace, finished.reportedMs);
    return isLowest(trace.threshold) ? this.#keep(trace, trace.threshold) : this.#withinBounds();
  }

  /**
   * Decides traces that are over, or that were held for too long.
   * @param max after so many traces, runs and sendings, the rest is left to the next call
   */
  settle(nowMs: number, max: number): readonly Decision[] {
    const decided: Decision[] = [];
    let left = max;
    for (const trace of this.#quiet) {
      if (left <= 0 || !hasPassed(this.#quietMs, trace.lastMs, nowMs)) break;
      left -= 1 + trace.held.length;
      for (const decision of this.#decide(trace, false)) decided.push(decision);
      this.#forget(trace);
    }
    for (const trace of this.#holding) {
      if (left <= 0 || !hasPassed(this.#holdMs, trace.sinceMs, nowMs)) break;
      left -= 1 + trace.held.length;
      for (const decision of this.#decide(trace, false)) decided.push(decision);
    }
    return decided;
  }

  /** The trace, which is new if nothing of it is known; undefined if there are too many. */
  #traceOf(key: string, tracesMax: number): Trace | undefined {
    const known = this.#traces.get(key);
    if (known !== undefined || this.#traces.size >= tracesMax) return known;
    const nothing = { open: 0, repeats: 0, threshold: undefined, held: [], bytes: 0 };
    const trace = { key, ...nothing, sinceMs: 0, lastMs: 0 };
    this.#traces.set(key, trace);
    this.#bytes += TRACE_BYTES;
    return trace;
  }

  #hold(trace: Trace, finished: Finished, threshold: Threshold | undefined): void {
    if (trace.held.length === 0) {
      trace.sinceMs = finished.reportedMs;
      this.#holding.add(trace);
    }
    const bytes = bytesOf(finished);
    trace.held.push(finished);
    trace.bytes += bytes;
    this.#bytes += bytes;
    trace.threshold = lowerOf(trace.threshold, threshold);
  }

  /** Notes that something has happened in the trace. */
  #touch(trace: Trace, nowMs: number): void {
    trace.lastMs = nowMs;
    this.#quiet.delete(trace);
    if (trace.open === 0 && trace.repeats <= 0) this.#quiet.add(trace);
  }

  #withinBounds(): readonly Decision[] {
    const decided: Decision[] = [];
    for (const trace of this.#holding) {
      if (this.#bytes <= this.#bytesMax) break;
      decided.push(...this.#decide(trace, true));
      if (trace.open === 0) this.#forget(trace);
    }
    return decided;
  }

  /** Keeps the trace with all that follows of it. */
  #keep(trace: Trace, threshold: Threshold): readonly Decision[] {
    this.#kept.set(trace.key, threshold);
    const decided = this.#decide(trace, false);
    this.#forget(trace);
    return decided;
  }

  /** Decides what is held of the trace. What follows of it begins anew, and repeats that did not come are awaited no longer. */
  #decide(trace: Trace, isEarly: boolean): readonly Decision[] {
    const { held, threshold } = trace;
    this.#holding.delete(trace);
    this.#bytes -= trace.bytes;
    trace.held = [];
    trace.bytes = 0;
    trace.threshold = undefined;
    trace.repeats = 0;
    if (trace.open === 0) this.#quiet.add(trace);
    return held.map((finished) => ({ finished, threshold, isEarly }));
  }

  #forget(trace: Trace): void {
    this.#quiet.delete(trace);
    if (this.#traces.delete(trace.key)) this.#bytes -= TRACE_BYTES;
  }
}

/** Whether a retry of the run is to come. */
function isRepeated(finished: Finished): boolean {
  return finished.kind === 'run' && finished.outcome === 'retried';
}

/** Whether so much time has passed, or the clock was set back, so that this is not known. */
function hasPassed(durationMs: number, sinceMs: number, nowMs: number): boolean {
  const passedMs = nowMs - sinceMs;
  return passedMs >= durationMs || passedMs < -SET_BACK_MS;
}

function bytesOf(finished: Finished): number {
  const { uuid, rootId, parentId, sent } = finished;
  let characters = uuid.length + rootId.length + parentId.length;
  if (sent !== undefined) characters += sent.args.length + sent.kwargs.length;
  if (finished.kind === 'run') {
    const { error, args, kwargs, result, workerSpan } = finished;
    characters += args.length + kwargs.length + result.length;
    if (workerSpan !== undefined)
      characters += workerSpan.traceparent.length + workerSpan.parentSpanId.length;
    if (error !== undefined) characters += error.path.length + error.message.length + error.stacktrace.length;
  }
  const isRetrySent = finished.kind === 'run' && finished.retrySent !== undefined;
  return FINISHED_BYTES + (isRetrySent ? RETRY_SENT_BYTES : 0) + CHARACTER_BYTES * characters;
}
