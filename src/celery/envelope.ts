/**
 * kombu's envelope: from a message's bytes and properties to the value its body holds. It decides by content type,
 * encoding and compression, bounds what it expands, and never decodes pickle.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { brotliDecompressSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import type { RawMessage } from '../broker/broker.ts';
import { type Rejection, reject } from './rejection.ts';
import { parseTolerantJson } from './tolerant-json.ts';

/** Of a body, as it came and after decompression. A batch of 24 events with long tracebacks stays far below. */
export const BODY_BYTES_MAX = 16 * 1024 * 1024;

export type Opened =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly rejection: Rejection };

/** kombu: serialization.py, the content types under which its JSON and its pickle are registered. */
const JSON_TYPE = 'application/json';
const PICKLE_TYPE = 'application/x-python-serialize';

/** kombu: compression.py. bzip2 and lzma are missing: nothing in this runtime undoes them. */
const DECOMPRESSORS: ReadonlyMap<string, (body: Buffer) => Buffer> = new Map([
  ['application/x-gzip', (body) => inflateSync(body, { maxOutputLength: BODY_BYTES_MAX })],
  ['application/x-brotli', (body) => brotliDecompressSync(body, { maxOutputLength: BODY_BYTES_MAX })],
  ['application/zstd', (body) => zstdDecompressSync(body, { maxOutputLength: BODY_BYTES_MAX })],
]);

/** Python codec names for the character sets that JSON is found in. */
const UTF8_NAMES: ReadonlySet<string> = new Set(['', 'utf8', 'us-ascii', 'ascii', 'binary']);
/** As kombu names it. */
const USUAL_ENCODING = 'utf-8';
const LATIN1_NAMES: ReadonlySet<string> = new Set(['latin-1', 'latin1', 'iso-8859-1']);

/** Opens the envelope. Never throws: whatever is wrong is a rejection with its reason. */
export function open(message: RawMessage): Opened {
  const { headers } = message;
  if (headers === undefined) return no('undecodable-headers', 'malformed, nested too deep, or too many');
  if (message.body.length > BODY_BYTES_MAX) return no('body-too-large', `${message.body.length} bytes`);
  const contentType = lowerCase(message.contentType, JSON_TYPE);
  if (contentType === PICKLE_TYPE) return no('unsafe-serializer', 'pickle');
  if (contentType !== JSON_TYPE) {
    return no('unsupported-serializer', `content type ${quoted(message.contentType)}`);
  }
  const compression = headers['compression'];
  if (compression === undefined || compression === null || compression === '') {
    return text(message.contentEncoding, message.body);
  }
  return decompressed(message, compression);
}

function decompressed(message: RawMessage, compression: unknown): Opened {
  // A header may hold anything, and turning just anything into a text can throw.
  const decompress = typeof compression === 'string' ? DECOMPRESSORS.get(compression) : undefined;
  if (decompress === undefined) return no('unsupported-compression', `compression ${quoted(compression)}`);
  let body: Buffer;
  try {
    body = decompress(message.body);
  } catch (error) {
    return isTooLarge(error)
      ? no('body-too-large', 'after decompression')
      : no('corrupt-compression', quoted(compression));
  }
  return text(message.contentEncoding, body);
}

function text(contentEncoding: string, body: Buffer): Opened {
  const encoding = lowerCase(contentEncoding, USUAL_ENCODING);
  if (encoding === USUAL_ENCODING || UTF8_NAMES.has(encoding)) {
    // Python's JSON is ASCII unless it is told otherwise, and that is read a third faster.
    if (isAscii(body)) return json(body.toString('latin1'));
    return isUtf8(body) ? json(body.toString('utf8')) : no('invalid-text', 'not UTF-8');
  }
  if (LATIN1_NAMES.has(encoding)) return json(body.toString('latin1'));
  return no('unsupported-encoding', `content encoding ${quoted(contentEncoding)}`);
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

/** A text as it may stand in a detail; of anything else only its type. */
function quoted(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : `of type ${typeof value}`;
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}
