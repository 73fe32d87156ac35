/**
 * The errors that callers may get, one row per code, and their class. Failures of a running bridge are not thrown, but
 * reported as self events (`self/self-event.ts`).
 */
import { printable } from './printable.ts';

/** Code → meaning and remedy. A test compares the table in docs/embedding.md with this one. */
export const ERROR_CODES = {
  CONFIG_INVALID:
    'Options of a command or of `createBridge` are invalid or contradict each other; the message lists them.',
  RECORDING_EXISTS: 'The file to record to already exists. Choose another one, or replace it with `--force`.',
  RECORDING_UNWRITABLE: 'The file to record to cannot be created or written.',
  STATUS_UNAVAILABLE:
    'The address of `status_address` cannot be listened to: it is in use, or not of this host. Choose another one.',
  ALREADY_STARTED: 'start() was called twice on one bridge. Create a new bridge.',
  START_FAILED:
    'start() could not start all services and stopped the others; the cause says why. Create a new bridge.',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** The message of any thrown value, shortened. If Node tried several addresses, the messages for all of them. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return shortened(error.errors.map(reasonOf).join('; '));
  return shortened(error instanceof Error ? error.message || error.name : String(error));
}

const BEGINNING_MAX = 3000;
const END_MAX = 200;

/** Cuts the middle out of a long text: a peer’s message may be very long, and is searched for known causes. */
export function shortened(text: string): string {
  if (text.length <= BEGINNING_MAX + END_MAX) return text;
  return `${text.slice(0, BEGINNING_MAX)} … ${text.slice(-END_MAX)}`;
}

/** What happened (`message`, on one line), its code, and what to do (`hint`). */
export class CeleryOtelError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;

  constructor(code: ErrorCode, message: string, options?: { hint?: string; cause?: unknown }) {
    super(printable(message), options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = code;
    this.code = code;
    this.hint = printable(options?.hint ?? ERROR_CODES[code]);
  }
}
