/**
 * Keeps the spans that instrumented workers report for their runs, until the runs are over. It is separate from counting,
 * because the event comes from a pool process with another connection and pid than the worker’s main process.
 */
import type { TaskTraced } from '../../celery/event.ts';
import { CHARACTER_BYTES } from '../../cluster/measured-bytes.ts';
import type { Run } from '../../cluster/tasks/run.ts';
import type { FinishedRun, WorkerSpan } from './finished.ts';
import { type Placed, placeOf } from './run-places.ts';

/** The span that a worker reported for one run. */
type ReportedSpan = WorkerSpan & Pick<TaskTraced, 'hostname' | 'retries' | 'timestampMs'>;

/** The run whose span is requested, and its end. */
interface PlacedRun {
  readonly run: Pick<Run, 'hasStarted' | 'plausibleSinceMs'> & {
    readonly instance: { readonly nodename: string };
  };
  readonly place: Placed;
}
type Ended = Pick<FinishedRun, 'endedMs'>;

/** Spans kept per task. */
const PER_TASK_MAX = 8;
/** Spans kept for all tasks together. */
const SPANS_MAX = 20_000;
/** Measured, without texts. */
const SPAN_BYTES = 250;
const TEXT_CHARACTERS_MAX = 3 * 255;
/** How far a span may be stamped after the end of its run: another process of the same host stamps the end, by the same clock. */
const LATE_MS = 50;
/** How far a span may be stamped before the start of its run, which another process of the same host stamps. */
const EARLY_MS = 1000;

export class WorkerSpans {
  /** By place in the task table; the spans of one task are in order of arrival. */
  readonly #reported = new Map<number, ReportedSpan[]>();
  #size = 0;
  #characters = 0;
  /** Spans that were dropped for lack of room. */
  leftOut = 0;
  readonly bytesMax = SPANS_MAX * (SPAN_BYTES + TEXT_CHARACTERS_MAX * CHARACTER_BYTES);

  get bytes(): number {
    return this.#size * SPAN_BYTES + this.#characters * CHARACTER_BYTES;
  }

  /** @param at undefined if the task is unknown */
  add(
    at: number | undefined,
    { hostname, retries, timestampMs, traceparent, parentSpanId }: ReportedSpan,
  ): void {
    if (at === undefined || traceparent === '') return;
    const spans = this.#reported.get(at) ?? [];
    if (spans.length >= PER_TASK_MAX || this.#size >= SPANS_MAX) {
      this.leftOut += 1;
      return;
    }
    const span = { hostname, retries, timestampMs, traceparent, parentSpanId };
    spans.push(span);
    this.#reported.set(at, spans);
    this.#count(span, 1);
  }

  /** Removes and returns the span of a run; undefined if no worker reported it. */
  take(at: number, run: PlacedRun, end: Ended): WorkerSpan | undefined {
    const spans = this.#reported.get(at);
    const index = spans?.findIndex((span) => isOf(span, run, end)) ?? -1;
    const [span] = index < 0 ? [] : (spans?.splice(index, 1) ?? []);
    if (span === undefined) return undefined;
    this.#count(span, -1);
    if (spans?.length === 0) this.#reported.delete(at);
    return { traceparent: span.traceparent, parentSpanId: span.parentSpanId };
  }

  forget(at: number): void {
    for (const span of this.#reported.get(at) ?? []) this.#count(span, -1);
    this.#reported.delete(at);
  }

  #count({ hostname, traceparent, parentSpanId }: ReportedSpan, by: 1 | -1): void {
    this.#size += by;
    this.#characters += by * (hostname.length + traceparent.length + parentSpanId.length);
  }
}

/** Whether the span belongs to the run. One that was reported before its start, or after its end, belongs to another delivery. */
function isOf(
  { hostname, retries, timestampMs }: ReportedSpan,
  { run, place }: PlacedRun,
  { endedMs }: Ended,
): boolean {
  if (hostname !== run.instance.nodename || retries !== placeOf(place).retries) return false;
  const startedMs = run.hasStarted ? run.plausibleSinceMs : undefined;
  const isBefore = startedMs !== undefined && timestampMs < startedMs - EARLY_MS;
  const isAfter = endedMs !== undefined && timestampMs > endedMs + LATE_MS;
  return !isBefore && !isAfter;
}
