/**
 * Derives the trace id of a task from the id of its root: the digits of a uuid, the trace of a traceparent that a producer set
 * as root id, or the hash of any other text. Pure.
 */
import { hashedId, isZero, TRACE_DIGITS } from './hashed-id.ts';
import { contextIn, RANDOM } from './trace-context.ts';

export interface TraceOrigin {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Whether the last seven bytes of the trace id are random (W3C trace context, level 2). */
  readonly isRandom: boolean;
  /** The remote parent, if the trace begins in another program: its span id and trace flags. */
  readonly upstream: { readonly spanId: string; readonly flags: number } | undefined;
  /** Whether the trace id is the id of the root. */
  readonly isRootId: boolean;
}

const UUID_LENGTH = 36;
const UUID = /^(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;
const TRACEPARENT_LENGTH = 55;
/** A uuid of version 4: all bits except version and variant are random. */
const RANDOM_UUID = /^.{12}4.{3}[89ab]/;

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
  if (reported === undefined) return undefined;
  const { traceId, spanId, flags } = reported;
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
