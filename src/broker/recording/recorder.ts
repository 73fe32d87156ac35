/**
 * Writes raw messages to a recording as they arrive. Writes are synchronous on purpose: if the disk is slower than the
 * broker, TCP holds the sender back, so memory does not grow and no message is dropped.
 */
import { randomUUID } from 'node:crypto';
import { close, closeSync, lstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { CeleryOtelError, reasonOf } from '../../errors.ts';
import type { RawMessage } from '../broker.ts';
import { failed, type Outcome } from '../outcome.ts';
import { encodeHeader, encodeMessage } from './format.ts';

/** The messages of one event loop turn are written together, up to this size. */
const PENDING_CHARS_MAX = 256 * 1024;
/** Reused for all writes: a large line takes no further memory. */
const ENCODED = new Uint8Array(64 * 1024);
const ENCODER = new TextEncoder();
/** Messages contain task arguments, which may be confidential. */
const OWNER_ONLY = 0o600;

export interface RecorderOptions {
  readonly file: string;
  /** Whether to replace an existing file. */
  readonly replace: boolean;
  /** Epoch ms, for the header. */
  readonly nowMs: number;
  /** Called once when writing fails (a full disk); every later message is refused. */
  readonly onFailure: (error: CeleryOtelError) => void;
}

export interface Recorder {
  /** Adds a message; fails with the reason why it was not recorded. Never throws. */
  write(message: RawMessage): Outcome<object>;
  /** Messages accepted; without a failure, all of them are in the file after `close()`. */
  count(): number;
  /** Writes pending messages and closes the file; a failure goes to `onFailure`. May be called twice. */
  close(): void;
}

/**
 * Begins a recording in a new file; it never writes through a link.
 * @throws CeleryOtelError RECORDING_EXISTS or RECORDING_UNWRITABLE; then an existing file is unchanged
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
      // Some file systems report a failed write only at close.
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
      // This failure is reported; a failure to close adds nothing.
      close(this.#descriptor, () => undefined);
      this.#descriptor = undefined;
      this.#options.onFailure(unwritable(this.#options.file, error));
    }
  }
}

/** @returns its descriptor */
function createFile(file: string, header: string): number {
  let descriptor: number | undefined;
  try {
    // O_EXCL does not follow links either (POSIX, "open").
    descriptor = openSync(file, 'wx', OWNER_ONLY);
    writeAll(descriptor, header);
    return descriptor;
  } catch (error) {
    if (descriptor !== undefined) discard(descriptor, file);
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    if (!isThere) throw unwritable(file, error);
    throw new CeleryOtelError('RECORDING_EXISTS', `the file ${file} already exists`, { cause: error });
  }
}

/**
 * Replaces atomically: there is always a valid recording of that name, even if the process is killed. A link is replaced;
 * its target is unchanged.
 */
function replaceFile(file: string, header: string): number {
  const beside = path.join(path.dirname(file), `.celery-otel-${randomUUID()}`);
  let descriptor: number | undefined;
  try {
    const former = lstatSync(file, { throwIfNoEntry: false });
    // The system may need it, for example a device.
    if (former !== undefined && !former.isFile() && !former.isSymbolicLink())
      throw new Error('it is not a regular file');
    descriptor = openSync(beside, 'wx', OWNER_ONLY);
    writeAll(descriptor, header);
    renameSync(beside, file);
    return descriptor;
  } catch (error) {
    if (descriptor !== undefined) discard(descriptor, beside);
    throw unwritable(file, error);
  }
}

/** Removes an unfinished file after a failure, which is reported. */
function discard(descriptor: number, file: string): void {
  close(descriptor, () => undefined);
  rmSync(file, { force: true });
}

function writeAll(descriptor: number, text: string): void {
  for (let at = 0; at < text.length; ) {
    const { read, written } = ENCODER.encodeInto(text.slice(at), ENCODED);
    at += read;
    // A single write may be partial.
    for (let from = 0; from < written; ) from += writeSync(descriptor, ENCODED, from, written - from);
  }
}

function unwritable(file: string, error: unknown): CeleryOtelError {
  const message = `cannot write the recording ${file}: ${reasonOf(error)}`;
  return new CeleryOtelError('RECORDING_UNWRITABLE', message, { cause: error });
}
