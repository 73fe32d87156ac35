/** Derives ids from SHA-256 digests, which every language can compute, so that all bridges derive the same ids. Pure. */
import { hash } from 'node:crypto';
import { isZero } from './trace-context.ts';

/** Number of hexadecimal digits in a trace id and in a span id. */
export const TRACE_DIGITS = 32;
export const SPAN_DIGITS = 16;

/** The first digits of the SHA-256 digest of the text in UTF-8. */
export function hashedId(text: string, digits: number): string {
  return validId(hash('sha256', text, 'hex').slice(0, digits));
}

/** Changes an id of all zeros, which is invalid (trace/api, SpanContext). */
export function validId(id: string): string {
  return isZero(id) ? `${id.slice(1)}1` : id;
}
