/**
 * Writes raw messages to a recording as they arrive. Writes are synchronous on purpose: if the disk is slower than the
 * broker, TCP slows the sender down, so memory does not grow and no message is dropped.
 */
import { randomUUID } from 'node:crypto';
import { close, closeSync, lstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { CeleryOtelError, reasonOf } from '../../text/errors.ts';
import { failed, type Parsed } from '../../text/parsed.ts';
import type { RawMessage } from '../broker.ts';
import { encodeHeader, encodeMessage } from './format.ts';

/** The messages of one event loop turn are written together, up to this many characters. */
const PENDING_CHARS_MAX = 256 * 1024;
/** The buffer of encoded text, reused for all writes, so that a large line takes no extra memory. */
const ENCODED = new Uint8Array(64 * 1024);
const ENCODER = new TextEncoder();
/** The mode of the file: messages contain task arguments, which may be confidential. */
const OWNER_ONLY = 0o600;

export interface RecorderOptions {
  readonly file: string;
  /** Whether to replace an existing file. */
  readonly replace: boolean;
  /** When the recording begins, epoch ms; written in its header. */
  readonly nowMs: number;
  /** Called once when writing fails (a full disk); later messages are refused. */
  readonly onFailure: (error: CeleryOtelError) => void;
}

export type Recorder = ReturnType<typeof openRecorder>;

/**
 * Begins a recording in a new file; it never writes through a link.
 * @throws CeleryOtelError RECORDING_EXISTS or RECORDING_UNWRITABLE; an existing file is then unchanged
 */
export function openRecorder({ file, replace, nowMs, onFailure }: RecorderOptions) {
  /** The descriptor of the file; undefined once it is closed, or after a failure. */
  let descriptor: number | undefined = beginFile(file, replace, `${encodeHeader(nowMs)}\n`);
  let pending = '';
  let count = 0;
  let flush: NodeJS.Immediate | undefined;
  const writePending = (): void => {
    clearImmediate(flush);
    flush = undefined;
    const text = pending;
    pending = '';
    if (descriptor === undefined || text === '') return;
    try {
      writeAll(descriptor, text);
    } catch (error) {
      // This failure is reported; a failure to close would add nothing.
      close(descriptor, () => undefined);
      descriptor = undefined;
      onFailure(unwritable(file, error));
    }
  };
  return {
    /** Adds a message; fails with the reason why it was not recorded. Never throws. */
    write(message: RawMessage): Parsed<object> {
      if (descriptor === undefined) return failed('the recording is closed');
      const encoded = encodeMessage(message);
      if (!encoded.ok) return encoded;
      pending += `${encoded.line}\n`;
      count += 1;
      if (pending.length >= PENDING_CHARS_MAX) writePending();
      else flush ??= setImmediate(writePending);
      return { ok: true };
    },
    /** How many messages were accepted; unless a write fails, all are in the file after `close()`. */
    count: () => count,
    /** Writes pending messages and closes the file; a failure goes to `onFailure`. May be called twice. */
    close(): void {
      writePending();
      const opened = descriptor;
      descriptor = undefined;
      try {
        if (opened !== undefined) closeSync(opened);
      } catch (error) {
        // Some file systems report a failed write only at close.
        onFailure(unwritable(file, error));
      }
    },
  };
}

/** @returns its descriptor */
function beginFile(file: string, replace: boolean, header: string): number {
  try {
    if (!replace) return createFile(file, header);
    const former = lstatSync(file, { throwIfNoEntry: false });
    // The system may need it, such as a device.
    if (former !== undefined && !former.isFile() && !former.isSymbolicLink())
      throw new Error('it is not a regular file');
    /*
     * The file is replaced atomically: a valid recording of that name always exists, even if the process is killed. A link
     * is replaced; its target is unchanged.
     */
    return createFile(path.join(path.dirname(file), `.celery-otel-${randomUUID()}`), header, file);
  } catch (error) {
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    if (replace || !isThere) throw unwritable(file, error);
    throw new CeleryOtelError('RECORDING_EXISTS', `the file ${file} already exists`, { cause: error });
  }
}

/** @param name the name that the file gets once the header is written */
function createFile(file: string, header: string, name = file): number {
  // O_EXCL does not follow links either (POSIX, "open").
  const descriptor = openSync(file, 'wx', OWNER_ONLY);
  try {
    writeAll(descriptor, header);
    if (name !== file) renameSync(file, name);
    return descriptor;
  } catch (error) {
    // This failure is reported; a failure to close would add nothing.
    close(descriptor, () => undefined);
    rmSync(file, { force: true });
    throw error;
  }
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
