/**
 * kombu's envelope: from a message's bytes and properties to the value its body holds. It decides by content type,
 * encoding and compression, bounds what it expands, and never decodes pickle.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { brotliDecompressSync, constants, inflateSync, zstdDecompressSync } from 'node:zlib';
import type { RawMessage } from '../broker/broker.ts';
import { BODY_LIMITS } from './body-limits.ts';
import { ExpansionReserve } from './expansion.ts';
import { type Rejection, reject } from './rejection.ts';
import { excessOf } from './structure.ts';
import { parseTolerantJson } from './tolerant-json.ts';

const BODY_BYTES_MAX = BODY_LIMITS.body.max;
const COMPRESSED_BYTES_MAX = BODY_LIMITS.compressed.max;
const UNSCANNED_BYTES_MAX = BODY_LIMITS.unscanned.max;

export type Opened =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly rejection: Rejection };

/** kombu: serialization.py, the content types under which its JSON and its pickle are registered. */
const JSON_TYPE = 'application/json';
const PICKLE_TYPE = 'application/x-python-serialize';

interface Compression {
  /** Gives up with an error where more than `maxBytes` come of it. */
  readonly undo: (body: Buffer, maxBytes: number) => Buffer;
  /** What it may have made before it looks whether there is room for it: a block of zstd, a window of brotli. */
  readonly workBytes: number;
}

/** What would be allocated for a larger window could not be bounded by the size of the body. */
const ZSTD_PARAMS = {
  [constants.ZSTD_d_windowLogMax]: Math.floor(Math.log2(BODY_LIMITS.zstd_window.max)),
};

/** kombu: compression.py. bzip2 and lzma are missing: nothing in this runtime undoes them. */
const COMPRESSIONS: ReadonlyMap<string, Compression> = new Map<string, Compression>([
  [
    'application/x-gzip',
    { undo: (body, maxOutputLength) => inflateSync(body, { maxOutputLength }), workBytes: 0 },
  ],
  [
    'application/x-brotli',
    {
      undo: (body, maxOutputLength) => brotliDecompressSync(body, { maxOutputLength }),
      workBytes: 16 * 1024 * 1024,
    },
  ],
  [
    'application/zstd',
    {
      undo: (body, maxOutputLength) => zstdDecompressSync(body, { maxOutputLength, params: ZSTD_PARAMS }),
      workBytes: 128 * 1024,
    },
  ],
]);

/** Python codec names for the character sets that JSON is found in. */
const UTF8_NAMES: ReadonlySet<string> = new Set(['', 'utf8', 'us-ascii', 'ascii', 'binary']);
/** As kombu names it. */
const USUAL_ENCODING = 'utf-8';
const LATIN1_NAMES: ReadonlySet<string> = new Set(['latin-1', 'latin1', 'iso-8859-1']);

/** More than a detail has room for. */
const QUOTED_CHARS_MAX = 255;

/**
 * Opens the envelope. Never throws: whatever is wrong is a rejection with its reason.
 * @param listenedMs when, by a clock that never goes back
 * @param reserve out of which compressed bodies expand; one of its own where there is none
 */
export function open(message: RawMessage, listenedMs: number, reserve: ExpansionReserve | undefined): Opened {
  const { headers } = message;
  if (headers === undefined) return no('undecodable-headers', 'malformed, nested too deep, or too many');
  const { body } = message;
  if (body === undefined || body.length > BODY_BYTES_MAX) {
    return no('body-too-large', body === undefined ? 'not kept' : `${body.length} bytes`);
  }
  const contentType = lowerCase(message.contentType, JSON_TYPE);
  if (contentType === PICKLE_TYPE) return no('unsafe-serializer', 'pickle');
  if (contentType !== JSON_TYPE) {
    return no('unsupported-serializer', `content type ${quoted(message.contentType)}`);
  }
  const compression = headers['compression'];
  if (compression === undefined || compression === null || compression === '') {
    return text(message.contentEncoding, body);
  }
  return decompressed(message, body, compression, listenedMs, reserve ?? new ExpansionReserve(listenedMs));
}

function decompressed(
  { contentEncoding }: RawMessage,
  compressed: Buffer,
  name: unknown,
  listenedMs: number,
  reserve: ExpansionReserve,
): Opened {
  // A header may hold anything, and turning just anything into a text can throw.
  const compression = typeof name === 'string' ? COMPRESSIONS.get(name) : undefined;
  if (compression === undefined) return no('unsupported-compression', `compression ${quoted(name)}`);
  const { undo, workBytes } = compression;
  const bytes = compressed.length;
  if (bytes > COMPRESSED_BYTES_MAX) return no('body-too-large', `${bytes} bytes, compressed`);
  const maxBytes = reserve.bytesFor(bytes, workBytes, listenedMs);
  if (maxBytes === 0 && bytes > 0) return no('expands-too-far', `${bytes} bytes after others that did`);
  let body: Buffer;
  try {
    body = undo(compressed, maxBytes);
  } catch (error) {
    // How far it got, nobody says.
    reserve.take(bytes, maxBytes + workBytes);
    return no(...givenUp(error, quoted(name), bytes, maxBytes));
  }
  reserve.take(bytes, body.length);
  return text(contentEncoding, body);
}

function text(contentEncoding: string, body: Buffer): Opened {
  const encoding = lowerCase(contentEncoding, USUAL_ENCODING);
  const isUsual = encoding === USUAL_ENCODING;
  const isLatin1 = !isUsual && LATIN1_NAMES.has(encoding);
  if (!isUsual && !isLatin1 && !UTF8_NAMES.has(encoding)) {
    return no('unsupported-encoding', `content encoding ${quoted(contentEncoding)}`);
  }
  const excess = body.length > UNSCANNED_BYTES_MAX ? excessOf(body) : undefined;
  if (excess !== undefined) return no(excess, `${body.length} bytes`);
  // Python's JSON is ASCII unless it is told otherwise, and that is read a third faster.
  if (isLatin1 || isAscii(body)) return json(body.toString('latin1'));
  return isUtf8(body) ? json(body.toString('utf8')) : no('invalid-text', 'not UTF-8');
}

/** What it nearly always is costs a comparison only. */
function lowerCase(text: string, usual: string): string {
  return text === usual ? text : text.toLowerCase();
}

function json(body: string): Opened {
  const outcome = parseTolerantJson(body);
  return outcome.ok ? outcome : no('invalid-json', `${body.length} characters`);
}

function no(reason: Rejection['reason'], detail: string): Opened {
  return { ok: false, rejection: reject(reason, detail) };
}

/** A text as it may stand in a detail, its beginning at least; of anything else only its type. */
function quoted(value: unknown): string {
  return typeof value === 'string'
    ? JSON.stringify(value.slice(0, QUOTED_CHARS_MAX))
    : `of type ${typeof value}`;
}

/** Why a body did not decompress. */
function givenUp(
  error: unknown,
  name: string,
  bytes: number,
  maxBytes: number,
): [reason: Rejection['reason'], detail: string] {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ZSTD_error_frameParameter_windowTooLarge') return ['body-too-large', 'its window'];
  if (code !== 'ERR_BUFFER_TOO_LARGE') return ['corrupt-compression', name];
  return ['expands-too-far', `${bytes} bytes to more than ${maxBytes}`];
}
