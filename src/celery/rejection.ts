/**
 * Why a message, or an event in it, was dropped: the closed list of reasons, which are the values of
 * `celery_otel.drop.reason`. A rejection never contains content of the message.
 */

import { BODY_LIMITS } from './body-limits.ts';

const { body, compressed, depth, tokens, batch } = BODY_LIMITS;
const count = (max: number) => max.toLocaleString('en');

/** Reason → whether the drop is by design (no loss), and what it means. */
export const REJECTION_REASONS = {
  'empty-batch': {
    intentional: true,
    meaning: 'A list without events, as Celery up to 5.6 sometimes sends it.',
  },
  'unknown-type': {
    intentional: true,
    meaning: 'An event type that is not one of Celery’s own: a custom event.',
  },
  'undecodable-headers': {
    intentional: false,
    meaning:
      'The headers of the message are malformed, nested deeper than 64, or more than 1,000. Without them it is not known how to read the body.',
  },
  'body-too-large': {
    intentional: false,
    meaning: `The body exceeds ${body.max / 1024 / 1024} MiB, or ${compressed.max / 1024} KiB where it is compressed.`,
  },
  'expands-too-far': {
    intentional: false,
    meaning: 'A compressed body expands too much; Celery does not compress events.',
  },
  'nested-too-deep': {
    intentional: false,
    meaning: `A large body with lists or objects nested more than ${depth.max} deep; Celery’s events are nested four deep.`,
  },
  'too-many-tokens': {
    intentional: false,
    meaning: `A large body with more than ${count(tokens.max)} values and names; 24 events have about 1,000.`,
  },
  'batch-too-long': {
    intentional: false,
    meaning: `A list of more than ${count(batch.max)} events; Celery sends at most 24.`,
  },
  'unsafe-serializer': {
    intentional: false,
    meaning: 'Pickle: decoding it could run code, so it is never decoded.',
  },
  'unsupported-serializer': { intentional: false, meaning: 'A content type other than JSON.' },
  'unsupported-encoding': {
    intentional: false,
    meaning: 'A character set that is neither Unicode nor Latin.',
  },
  'unsupported-compression': {
    intentional: false,
    meaning: 'A compression that this runtime does not support.',
  },
  'corrupt-compression': {
    intentional: false,
    meaning: 'The body cannot be decompressed as its header says.',
  },
  'invalid-text': { intentional: false, meaning: 'The body is not valid text in its character set.' },
  'invalid-json': {
    intentional: false,
    meaning: 'The body is not JSON, even where NaN and Infinity are allowed.',
  },
  'not-an-event': { intentional: false, meaning: 'The body, or an element of a list, is not an object.' },
  'missing-type': { intentional: false, meaning: 'An event without a usable type.' },
  'missing-hostname': { intentional: false, meaning: 'An event without a usable hostname.' },
  'missing-uuid': { intentional: false, meaning: 'A task event without a usable uuid.' },
  'bad-timestamp': { intentional: false, meaning: 'An event whose timestamp is not a plausible time.' },
} as const;

export type RejectionReason = keyof typeof REJECTION_REASONS;

/** `detail` is short, printable ASCII, and contains only names of types from the payload. */
export interface Rejection {
  readonly reason: RejectionReason;
  readonly detail: string;
}

const DETAIL_CHARS_MAX = 120;
const UNPRINTABLE = /[^\x20-\x7e]/gu;

export function reject(reason: RejectionReason, detail: string): Rejection {
  const printable = detail.slice(0, DETAIL_CHARS_MAX).replace(UNPRINTABLE, '?');
  return { reason, detail: printable };
}
