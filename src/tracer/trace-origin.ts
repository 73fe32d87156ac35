/**
 * Finds the trace of a task: that which a worker reported, or else one derived from the id of its root: the digits of a uuid, the
 * trace of a traceparent that a producer set as root id, or the hash of any other text. Pure.
 */
import type { Finished, FinishedRun } from './ancestry/finished.ts';
import { hashedId, TRACE_DIGITS } from './hashed-id.ts';
import { isBeyondWorkers } from './outcomes.ts';
import { contextIn, isZero, RANDOM, spanIdIn, type TraceContext } from './trace-context.ts';

export interface TraceOrigin {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Whether the last seven bytes of the trace id are random (W3C trace context, level 2). */
  readonly isRandom: boolean;
  /** The remote parent, if the trace begins in another program: its span id and trace flags. */
  readonly upstream: { readonly spanId: string; readonly flags: number } | undefined;
  /** Whether the trace id is the id of the root. */
  readonly isRootId: boolean;
  /** If a worker reported the trace: whether it was the worker of this run, or that of an earlier run or of a task above. */
  readonly reportedFor?: 'this run' | 'another run';
}

const TRACEPARENT_LENGTH = 55;
const UUID_LENGTH = 36;
const UUID = /^(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;
/** A uuid of version 4: all bits except version and variant are random. */
const RANDOM_UUID = /^.{12}4.{3}[89ab]/;

/** @param join whether to join the traces that producers and workers report */
export function traceOriginOf(finished: Finished, join: boolean): TraceOrigin {
  const { traceRootId, rootId, uuid } = finished;
  const reported = join ? traceOfWorkers(finished) : undefined;
  // Only a root id, which a producer can set, may be a traceparent. The id of a task that begins a new trace is not joined.
  return reported ?? traceOrigin(traceRootId || rootId, uuid, join && traceRootId === rootId);
}

/** The trace that workers reported, below the span in which this task ran or was sent. */
function traceOfWorkers(finished: Finished): TraceOrigin | undefined {
  const own = finished.kind === 'run' ? workerSpanOf(finished) : undefined;
  if (own !== undefined) return { ...traceBelow(own), reportedFor: 'this run' };
  // The task begins a trace of its own, unless its worker reports another one.
  if (finished.beginsTrace) return undefined;
  const above = contextIn(finished.workersTraceparent ?? '');
  return above === undefined ? undefined : { ...traceBelow(above), reportedFor: 'another run' };
}

/** The span below which the span of the run belongs. That of the worker itself is missing if its process was killed. */
function workerSpanOf(run: FinishedRun): TraceContext | undefined {
  if (run.workerSpan === undefined) return undefined;
  const own = contextIn(run.workerSpan.traceparent);
  const parent = isBeyondWorkers(run) ? spanIdIn(run.workerSpan.parentSpanId) : '';
  return own === undefined || parent === '' ? own : { ...own, spanId: parent };
}

/**
 * @param rootId '' or all zeros if it was not reported, as with protocol 1
 * @param uuid the id of the task; the task counts as its own root if none was reported
 * @param join whether to join the trace of a traceparent; otherwise its text is hashed like any other
 */
export function traceOrigin(rootId: string, uuid: string, join: boolean): TraceOrigin {
  const joined = join && rootId.length === TRACEPARENT_LENGTH ? joinedTrace(rootId) : undefined;
  return joined ?? traceOfUuid(rootId) ?? hashedTrace(rootId, uuid);
}

function joinedTrace(text: string): TraceOrigin | undefined {
  const reported = contextIn(text);
  return reported === undefined ? undefined : traceBelow(reported);
}

function traceBelow({ traceId, spanId, flags }: TraceContext): TraceOrigin {
  return { traceId, isRandom: (flags & RANDOM) !== 0, upstream: { spanId, flags }, isRootId: false };
}

function traceOfUuid(text: string): TraceOrigin | undefined {
  if (!UUID.test(text) || isZero(text)) return undefined;
  const traceId = digitsOf(text).toLowerCase();
  return { traceId, isRandom: RANDOM_UUID.test(traceId), upstream: undefined, isRootId: true };
}

/** The digits of a uuid. Slicing is faster than `replace`. */
function digitsOf(uuid: string): string {
  if (uuid.length < UUID_LENGTH) return uuid;
  return `${uuid.slice(0, 8)}${uuid.slice(9, 13)}${uuid.slice(14, 18)}${uuid.slice(19, 23)}${uuid.slice(24)}`;
}

function hashedTrace(rootId: string, uuid: string): TraceOrigin {
  const isReported = rootId !== '' && !(UUID.test(rootId) && isZero(rootId));
  const ofUuid = isReported ? undefined : traceOfUuid(uuid);
  if (ofUuid !== undefined) return ofUuid;
  const traceId = hashedId(isReported ? rootId : uuid, TRACE_DIGITS);
  return { traceId, isRandom: true, upstream: undefined, isRootId: false };
}
