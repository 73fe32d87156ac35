/**
 * The closed list of reasons why a message, or an event in it, is dropped: the values of `celery_otel.drop.reason`. A
 * rejection never contains content of the message.
 */

import { NAME_BYTES_MAX } from '../text/json-structure.ts';
import { BODY_LIMITS } from './body-limits.ts';

const { body, kept, compressed, depth, tokens, batch } = BODY_LIMITS;
const count = (max: number) => max.toLocaleString('en');

/** Reason → what it means. */
export const REJECTION_REASONS = {
  'empty-batch': 'A list without events, as Celery up to 5.6 sometimes sends it.',
  'unknown-type': 'An event type that is not one of Celery’s own: a custom event.',
  'undecodable-headers':
    'The headers of the message (on Redis: its envelope) are malformed, are nested more than 64 levels deep, or number more than 1,000. Without them the body cannot be read.',
  'body-too-large': `The body exceeds ${body.max / 1024 / 1024} MiB, or ${compressed.max / 1024} KiB where it is compressed; or it exceeds ${kept.max / 1024 / 1024} MiB with its long strings shortened.`,
  'expands-too-far': 'A compressed body expands too far. Celery never compresses events.',
  'decompression-too-costly':
    'The compressed bodies of the service have used up the processor time that they may take together. Celery never compresses events.',
  'nested-too-deep': `A large body with lists or objects nested more than ${depth.max} deep; Celery’s events are nested four deep.`,
  'too-many-tokens': `A large body with more than ${count(tokens.max)} values and names, or 32 times as many bytes outside of strings; 24 events have about 1,000.`,
  'name-too-long': `A large body in which a name within an object has more than ${count(NAME_BYTES_MAX)} bytes; Celery’s have up to 20.`,
  'batch-too-long': `A list of more than ${count(batch.max)} events; Celery sends at most 24.`,
  'unsafe-serializer': 'Pickle: decoding it could run code, so it is never decoded.',
  'unsupported-serializer': 'A content type other than JSON.',
  'unsupported-encoding': 'A character set that is neither Unicode nor Latin.',
  'unsupported-compression': 'A compression that this runtime does not support.',
  'corrupt-compression': 'The body cannot be decompressed as its header says.',
  'invalid-text': 'The body is not valid text in its character set.',
  'invalid-json':
    'The body is not JSON, even if NaN and Infinity are allowed. The parts of long strings that are not parsed are not checked.',
  'not-an-event': 'The body, or an element of a list, is not an object.',
  'missing-type': 'An event without a usable type.',
  'missing-hostname': 'An event without a usable hostname.',
  'missing-uuid': 'A task event without a usable uuid.',
  'bad-timestamp': 'An event whose timestamp is not a plausible time.',
} as const;

/** All reasons: those of rejections, and those of messages that are dropped before they are decoded. */
export const DROP_REASONS = {
  ...REJECTION_REASONS,
  'arrived-too-fast':
    'On Redis: messages arrived faster than they could be read, and were dropped before the server would have disconnected us.',
} as const;

export type RejectionReason = keyof typeof REJECTION_REASONS;

/** The reasons that are no fault: dropping these messages and events loses nothing that is counted. */
export const INTENTIONAL_REASONS: ReadonlySet<string> = new Set<RejectionReason>([
  'empty-batch',
  'unknown-type',
]);

/** A dropped message or event. `detail` is short printable ASCII; of the payload it contains at most names of types. */
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
