/** Ids as the beginnings of SHA-256 sums, which any language can compute, so that all bridges make the same. Pure; it keeps nothing. */
import { hash } from 'node:crypto';

/** Hexadecimal digits of a trace id, and of a span id. */
export const TRACE_DIGITS = 32;
export const SPAN_DIGITS = 16;

/** Of the text in UTF-8. */
export function hashedId(text: string, digits: number): string {
  return validId(hash('sha256', text, 'hex').slice(0, digits));
}

/** An id of zeros only is invalid (trace/api, SpanContext). */
export function validId(id: string): string {
  return isZero(id) ? `${id.slice(1)}1` : id;
}

export function isZero(id: string): boolean {
  return /^[0-]*$/.test(id);
}
