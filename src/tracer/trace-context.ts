/** The ids and flags that link log records and exemplars to a span. Pure. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly flags: number;
}

export const SAMPLED = 1;
export const RANDOM = 2;
/** Version 00, the only one so far. W3C requires lower case. */
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const SPAN_ID = /^[0-9a-f]{16}$/;

/** Parses a traceparent. @returns undefined for any other text */
export function contextIn(text: string): TraceContext | undefined {
  const [, traceId = '', spanId = '', flagDigits = ''] = TRACEPARENT.exec(text) ?? [];
  if (isZero(traceId) || isZero(spanId)) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flagDigits, 16) };
}

/** @returns '' if it is no span id */
export function spanIdIn(text: string): string {
  return SPAN_ID.test(text) && !isZero(text) ? text : '';
}

/** Whether an id has no digit but zeros, so that it is invalid (trace/api, SpanContext). */
export function isZero(id: string): boolean {
  return /^[0-]*$/.test(id);
}

/** W3C trace flags. */
export function traceFlags({ isRandom }: { readonly isRandom: boolean }, isKept: boolean): number {
  return (isKept ? SAMPLED : 0) | (isRandom ? RANDOM : 0);
}
