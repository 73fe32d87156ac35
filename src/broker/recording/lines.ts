/** Reads a file line by line in bounded memory; it does not parse the lines. */
import type { FileHandle } from 'node:fs/promises';
import { LINE_LIMITS } from './line-limits.ts';

const CHUNK_BYTES = 256 * 1024;
const LINE_BYTES_MAX = LINE_LIMITS.line.max;
const LINE_FEED = 0x0a;

/** Thrown for a line that is longer than any recorded line. */
export class LineTooLong extends Error {
  constructor() {
    super(`is longer than ${LINE_BYTES_MAX} bytes`);
  }
}

/**
 * Yields the lines of each read from the file, without their line feeds; they are valid until the next call. Throws
 * LineTooLong, after all lines before the long one, or the error of the file.
 */
export async function* readLines(file: FileHandle): AsyncGenerator<readonly Buffer[], void, void> {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  /** Copies of the pieces of an incomplete line. */
  let pieces: Buffer[] = [];
  let piecesBytes = 0;
  for (;;) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
    if (bytesRead === 0) break;
    const lines: Buffer[] = [];
    let from = 0;
    let to = chunk.indexOf(LINE_FEED);
    while (to !== -1 && to < bytesRead && piecesBytes + to - from <= LINE_BYTES_MAX) {
      const rest = chunk.subarray(from, to);
      lines.push(pieces.length === 0 ? rest : Buffer.concat([...pieces, rest]));
      pieces = [];
      piecesBytes = 0;
      from = to + 1;
      to = chunk.indexOf(LINE_FEED, from);
    }
    if (lines.length > 0) yield lines;
    piecesBytes += bytesRead - from;
    if (piecesBytes > LINE_BYTES_MAX) throw new LineTooLong();
    if (from < bytesRead) pieces.push(Buffer.from(chunk.subarray(from, bytesRead)));
  }
  if (pieces.length > 0) yield [Buffer.concat(pieces)];
}
