/**
 * The errors that a caller may meet, one row a code, and the one class that carries them. What merely happens while the
 * bridge runs is not an error but a self event (`self/self-event.ts`).
 */
import { printable } from './printable.ts';

/** Code → what it means and what to do; the table in docs/embedding.md is checked against it. */
export const ERROR_CODES = {
  CONFIG_INVALID:
    'Options of a command or of `createBridge` are wrong or contradict each other; the message says which.',
  RECORDING_UNREADABLE:
    'A recording cannot be opened, or is not a recording. Check the path and its first line.',
  RECORDING_EXISTS: 'The file to record to exists already. Choose another one, or replace it with `--force`.',
  RECORDING_UNWRITABLE: 'The file to record to cannot be created or written.',
  ALREADY_STARTED: 'start() was called twice on one bridge. Create a new bridge.',
  START_FAILED:
    'start() could not start all services and stopped those that it had started; the cause says why. Create a new bridge.',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Says what happened (`message`, on one line), as which code, and what to do (`hint`). */
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
