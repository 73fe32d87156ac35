/**
 * The errors that a caller may meet, one row a code, and the one class that carries them. What merely happens while the
 * bridge runs is not an error but a self event (`self/self-event.ts`).
 */
import { printable } from './printable.ts';

/** Code → what it means and what to do; the table in docs/embedding.md is checked against it. */
export const ERROR_CODES = {
  CONFIG_INVALID:
    'Options have wrong values, or do not go together; the message says which. Of the command, or of `createBridge`.',
  RECORDING_UNREADABLE:
    'A recording cannot be opened or is not one of ours. Check the path and its first line.',
  RECORDING_EXISTS:
    'The file that messages should be recorded to is there already. Name another one, or replace it with `--force`.',
  RECORDING_UNWRITABLE: 'The file that messages should be recorded to cannot be created or written.',
  ALREADY_STARTED: 'start() was called twice on one bridge. Create a new one.',
  START_FAILED:
    'start() could not start all services, so it stopped those that it had started; the cause says why. Create a new one.',
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
