/**
 * Writes raw messages to a recording as they arrive. Writing is synchronous on purpose: where the disk is slower than
 * the broker the sender is held back by TCP, and neither memory grows nor a message is left out.
 */
import { randomUUID } from 'node:crypto';
import { close, closeSync, lstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { CeleryOtelError } from '../../errors.ts';
import type { RawMessage } from '../broker.ts';
import { failed, type Outcome } from '../outcome.ts';
import { encodeHeader, encodeMessage } from './format.ts';

/** What arrives in one turn of the event loop is written together, but not more than this. */
const PENDING_CHARS_MAX = 1024 * 1024;
/** Messages hold what tasks were called with: nobody else's business. */
const OWNER_ONLY = 0o600;

export interface RecorderOptions {
  readonly file: string;
  /** Whether a file of that name gives way. */
  readonly replace: boolean;
  /** Epoch ms, for the header. */
  readonly nowMs: number;
  /** Called once when the file cannot be written any more (a full disk); every later message is refused. */
  readonly onFailure: (error: CeleryOtelError) => void;
}

export interface Recorder {
  /** Adds a message; the outcome says why one was not recorded. Never throws. */
  write(message: RawMessage): Outcome<object>;
  /** Messages taken; where there was no failure, all of them are in the file after `close()`. */
  count(): number;
  /** Writes what is pending and closes the file; a failure goes to `onFailure`. May be called twice. */
  close(): void;
}

/**
 * Begins a recording in a file that it makes, by whatever links to others that name was taken.
 * @throws CeleryOtelError RECORDING_EXISTS or RECORDING_UNWRITABLE; then what is there is left as it is
 */
export function openRecorder(options: RecorderOptions): Recorder {
  return new FileRecorder(options);
}

class FileRecorder implements Recorder {
  readonly #options: RecorderOptions;
  /** undefined once closed, or after a failure. */
  #descriptor: number | undefined;
  #pending = '';
  #count = 0;
  #flush: NodeJS.Immediate | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
    const { file, replace, nowMs } = options;
    const header = `${encodeHeader(nowMs)}\n`;
    this.#descriptor = replace ? replaceFile(file, header) : createFile(file, header);
  }

  write(message: RawMessage): Outcome<object> {
    if (this.#descriptor === undefined) return failed('the recording is closed');
    const encoded = encodeMessage(message);
    if (!encoded.ok) return encoded;
    this.#pending += `${encoded.line}\n`;
    this.#count += 1;
    if (this.#pending.length >= PENDING_CHARS_MAX) this.#writePending();
    else this.#flush ??= setImmediate(() => this.#writePending());
    return { ok: true };
  }

  count(): number {
    return this.#count;
  }

  close(): void {
    this.#writePending();
    const descriptor = this.#descriptor;
    this.#descriptor = undefined;
    if (descriptor === undefined) return;
    try {
      closeSync(descriptor);
    } catch (error) {
      // Some file systems say only now that what was written did not reach the disk.
      this.#options.onFailure(unwritable(this.#options.file, error));
    }
  }

  #writePending(): void {
    clearImmediate(this.#flush);
    this.#flush = undefined;
    const pending = this.#pending;
    this.#pending = '';
    if (this.#descriptor === undefined || pending === '') return;
    try {
      writeAll(this.#descriptor, pending);
    } catch (error) {
      this.#abandon();
      this.#options.onFailure(unwritable(this.#options.file, error));
    }
  }

  /** After a failure, which is what is told; that closing fails too says nothing new. */
  #abandon(): void {
    const descriptor = this.#descriptor;
    this.#descriptor = undefined;
    if (descriptor !== undefined) close(descriptor, () => undefined);
  }
}

/** @returns its descriptor */
function createFile(file: string, header: string): number {
  let descriptor: number | undefined;
  try {
    // Exclusively, which follows no link either (POSIX, "open", O_EXCL).
    descriptor = openSync(file, 'wx', OWNER_ONLY);
    writeAll(descriptor, header);
    return descriptor;
  } catch (error) {
    if (descriptor !== undefined) discard(descriptor, file);
    throw isCode(error, 'EEXIST') ? exists(file, error) : unwritable(file, error);
  }
}

/**
 * There is always a whole recording of that name: the former one, or the new one from its header on, so that what was
 * recorded is found there even if the process is killed. A link gives way, and what it leads to stays.
 */
function replaceFile(file: string, header: string): number {
  const beside = path.join(path.dirname(file), `.celery-otel-${randomUUID()}`);
  let descriptor: number | undefined;
  try {
    const former = lstatSync(file, { throwIfNoEntry: false });
    // A device is nobody's former recording, and the whole system may need it.
    if (former !== undefined && !former.isFile() && !former.isSymbolicLink())
      throw new Error('it is no regular file');
    descriptor = openSync(beside, 'wx', OWNER_ONLY);
    writeAll(descriptor, header);
    renameSync(beside, file);
    return descriptor;
  } catch (error) {
    if (descriptor !== undefined) discard(descriptor, beside);
    throw unwritable(file, error);
  }
}

/** Of a file that was begun and is of no use; what is told is why. */
function discard(descriptor: number, file: string): void {
  close(descriptor, () => undefined);
  rmSync(file, { force: true });
}

/** A write may take less than it was given. */
function writeAll(descriptor: number, text: string): void {
  let bytes = Buffer.from(text, 'utf8');
  while (bytes.length > 0) bytes = bytes.subarray(writeSync(descriptor, bytes));
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

function exists(file: string, cause: unknown): CeleryOtelError {
  return new CeleryOtelError('RECORDING_EXISTS', `the file ${file} is there already`, { cause });
}

function unwritable(file: string, error: unknown): CeleryOtelError {
  const reason = error instanceof Error ? error.message : String(error);
  return new CeleryOtelError('RECORDING_UNWRITABLE', `cannot write the recording ${file}: ${reason}`, {
    cause: error,
  });
}
