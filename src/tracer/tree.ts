/**
 * Finds the parents and links of the spans of a task. A trace has one root, and no span is its own parent, whatever ids Celery
 * reports. Pure.
 */
import type { Ancestry, Finished, FinishedRun } from './ancestry/finished.ts';
import type { SpanLink } from './span.ts';
import { FIRST, processSpanId, sendSpanId } from './span-id.ts';
import { contextIn } from './trace-context.ts';
import { type TraceOrigin, traceOrigin } from './trace-origin.ts';
import type { TraceSettings } from './trace-settings.ts';

export interface Position {
  /** '' for the root. */
  readonly parentSpanId: string;
  readonly isParentRemote: boolean;
  readonly links: readonly SpanLink[];
}

const NO_LINKS: readonly SpanLink[] = [];
const ROOT: Position = { parentSpanId: '', isParentRemote: false, links: NO_LINKS };

/** Whether runs of the trace have spans of their sendings. Where workers report their spans, senders report theirs, too. */
export function hasSendSpans(
  { reportedFor }: TraceOrigin,
  { spans, sendSpans }: Pick<TraceSettings, 'spans' | 'sendSpans'>,
): boolean {
  return spans === 'all' && sendSpans && reportedFor === undefined;
}

/** @param join whether a root id that is a traceparent joins that trace */
export function sendPosition(finished: Finished, origin: TraceOrigin, join: boolean): Position {
  const { uuid, parentId, beginsTrace } = finished;
  const run = finished.kind === 'run' ? finished : undefined;
  // A task that is its own parent may have replaced itself: its first run sent a task with the same id.
  const isReplacement = run === undefined || !isFirst(run);
  if (parentId === uuid) return isReplacement ? below(firstRun(finished)) : aboveAll(origin);
  if (!beginsTrace) return ancestor(finished, origin);
  return run?.previous?.link === 'replaces'
    ? below(firstRun(finished))
    : { ...aboveAll(origin), links: sentByLinks(finished, join) };
}

/** Below the run that was retried, which sent it. */
export function retrySendPosition(run: FinishedRun): Position {
  return below(run.previous === undefined ? firstRun(run) : processSpanId(run.uuid, run.previous));
}

/** @param hasSend whether sendings have spans in this trace */
export function processPosition(
  run: FinishedRun,
  origin: TraceOrigin,
  { join, hasSend }: { readonly join: boolean; readonly hasSend: boolean },
): Position {
  const { links, ...parent } =
    origin.reportedFor === 'this run' ? aboveAll(origin) : processParent(run, origin, join, hasSend);
  if (run.previous === undefined) return { ...parent, links };
  const spanId = processSpanId(run.uuid, run.previous);
  const attributes = { 'celery.link': run.previous.link };
  return { ...parent, links: [{ traceId: origin.traceId, spanId, attributes }, ...links] };
}

function processParent(run: FinishedRun, origin: TraceOrigin, join: boolean, hasSend: boolean): Position {
  const { uuid, parentId, beginsTrace, sent } = run;
  // A sending that was reported earlier on its own may already be a child of this run.
  const isOwnParent = parentId === uuid && isFirst(run);
  if (hasSend && sent !== undefined && !(isOwnParent && !run.isSentNew)) {
    return below(sendSpanId(uuid, sent));
  }
  if (!beginsTrace && parentId !== '' && parentId !== uuid) return ancestor(run, origin);
  if (!isFirst(run)) return below(firstRun(run));
  return beginsTrace ? { ...aboveAll(origin), links: sentByLinks(run, join) } : aboveAll(origin);
}

/** The span id of the first run of the task in this trace. */
function firstRun({ uuid, first = FIRST }: Ancestry): string {
  return processSpanId(uuid, first);
}

function isFirst({ retries, delivery, first = FIRST }: FinishedRun): boolean {
  return retries === first.retries && delivery === first.delivery;
}

/** Below the remote parent if the trace begins in another program; otherwise at the root. */
export function aboveAll({ upstream }: TraceOrigin): Position {
  return upstream === undefined ? ROOT : { ...below(upstream.spanId), isParentRemote: true };
}

function below(parentSpanId: string): Position {
  return { parentSpanId, isParentRemote: false, links: NO_LINKS };
}

/** Below the run that sent the task. */
function ancestor({ uuid, parentId, parentPlace }: Ancestry, origin: TraceOrigin): Position {
  return parentId === '' || parentId === uuid
    ? aboveAll(origin)
    : below(processSpanId(parentId, parentPlace));
}

/** A link to the span that would be the parent if the task had not begun a new trace. */
function sentByLinks(of: Ancestry, join: boolean): readonly SpanLink[] {
  if (of.parentTraceRootId === '') return NO_LINKS;
  const reported = join ? contextIn(of.workersTraceparent ?? '') : undefined;
  const derived = traceOrigin(of.parentTraceRootId || of.rootId, of.uuid, join);
  const trace = reported === undefined ? derived : { ...derived, traceId: reported.traceId };
  const { parentSpanId } = ancestor(of, trace);
  if (parentSpanId === '') return NO_LINKS;
  return [{ traceId: trace.traceId, spanId: parentSpanId, attributes: { 'celery.link': 'sent_by' } }];
}
