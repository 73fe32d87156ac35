/**
 * Opens kombu's envelope: turns the bytes and properties of a message into the value of its body, by content type, encoding
 * and compression. It limits decompression, and never decodes pickle.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { brotliDecompressSync, constants, inflateSync, zstdDecompressSync } from 'node:zlib';
import type { RawMessage } from '../broker/broker.ts';
import { excessOf, shortened } from '../text/json-structure.ts';
import { BODY_LIMITS, EXPANSION_COSTS } from './body-limits.ts';
import { ExpansionReserve } from './expansion.ts';
import { type Rejection, reject } from './rejection.ts';
import { namingParts, stackParts } from './shortened-text.ts';
import { parseTolerantJson } from './tolerant-json.ts';

const BODY_BYTES_MAX = BODY_LIMITS.body.max;
const KEPT_BYTES_MAX = BODY_LIMITS.kept.max;
const TEXT_BYTES_MAX = BODY_LIMITS.text.max;
const COMPRESSED_BYTES_MAX = BODY_LIMITS.compressed.max;
const EXPANDED_BYTES_MAX = BODY_LIMITS.expanded.max;
const RATIO_MAX = BODY_LIMITS.expansion.max;
const UNSCANNED_BYTES_MAX = BODY_LIMITS.unscanned.max;
const STRUCTURE = {
  depthMax: BODY_LIMITS.depth.max,
  tokensMax: BODY_LIMITS.tokens.max,
  textMax: TEXT_BYTES_MAX,
};

export type Opened =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly rejection: Rejection };

/** The content type of kombu’s JSON serializer (serialization.py). */
const JSON_TYPE = 'application/json';
/** The content type of a serializer that an application registers for its own JSON types: `application/x-orders-json`. */
const JSON_KIND = /^(?:application|text)\/[\w.+-]{0,100}json$/u;
/** The content type of kombu’s pickle serializer. */
const PICKLE_TYPE = 'application/x-python-serialize';

interface Compression {
  /** Decompresses; throws if the result exceeds `maxBytes`. */
  readonly decompress: (body: Buffer, maxBytes: number) => Buffer;
  /** Processor time for each compressed byte in the worst case, ns. */
  readonly costNs: number;
}

const { compressedByteNs, expandedByteNs, abortedMs } = EXPANSION_COSTS;

/** Limits the window of zstd, which a small body could otherwise make very large. */
const ZSTD_PARAMS = {
  [constants.ZSTD_d_windowLogMax]: Math.floor(Math.log2(BODY_LIMITS.zstd_window.max)),
};

/** See kombu’s compression.py. bzip2 and lzma are missing, because Node does not support them. */
const COMPRESSIONS: ReadonlyMap<string, Compression> = new Map<string, Compression>([
  [
    'application/x-gzip',
    {
      decompress: (body, maxOutputLength) => inflateSync(body, { maxOutputLength }),
      costNs: compressedByteNs.zlib,
    },
  ],
  [
    'application/x-brotli',
    {
      decompress: (body, maxOutputLength) => brotliDecompressSync(withSmallWindow(body), { maxOutputLength }),
      costNs: compressedByteNs.brotli,
    },
  ],
  [
    'application/zstd',
    {
      decompress: (body, maxOutputLength) =>
        zstdDecompressSync(body, { maxOutputLength, params: ZSTD_PARAMS }),
      costNs: compressedByteNs.zstd,
    },
  ],
]);

/** The binary logarithm of the largest window that brotli may use: 512 KiB, more than any body may expand to. */
const BROTLI_WINDOW_LOG = 19;

/**
 * Brotli notices the size limit only after it has filled its window of up to 16 MiB. So the header is changed to a smaller
 * window, which does not change the result of a body that never fills that one. RFC 7932, 9.1: if the first byte is odd, its
 * next three bits are the window’s binary logarithm minus 17.
 */
function withSmallWindow(body: Buffer): Buffer {
  const first = body[0] ?? 0;
  if ((first & 1) === 0 || 17 + ((first >> 1) & 7) <= BROTLI_WINDOW_LOG) return body;
  const copy = Buffer.from(body);
  copy[0] = (first & 0xf0) | ((BROTLI_WINDOW_LOG - 17) << 1) | 1;
  return copy;
}

/** Python's other names for UTF-8 and for its subset ASCII. */
const UTF8_NAMES: ReadonlySet<string> = new Set(['', 'utf8', 'us-ascii', 'ascii', 'binary']);
/** The name of UTF-8 that kombu writes. */
const USUAL_ENCODING = 'utf-8';
/** Python's names for Latin-1. */
const LATIN1_NAMES: ReadonlySet<string> = new Set(['latin-1', 'latin1', 'iso-8859-1']);

/** UTF-16 units of a header that are quoted in the detail of a rejection. */
const QUOTED_CHARS_MAX = 255;

/**
 * The parsed body of a message. It never throws: every failure is a rejection with a reason.
 * @param listenedMs the current time of a monotonic clock, ms
 * @param reserve the processor time for compressed bodies; undefined: this message gets its own
 * @param wantsStacks whether to keep more of a long traceback than the part that names its exception
 */
export function open(
  message: RawMessage,
  listenedMs: number,
  reserve: ExpansionReserve | undefined,
  wantsStacks = false,
): Opened {
  const { headers, body } = message;
  if (body === undefined || body.length > BODY_BYTES_MAX) {
    return rejected('body-too-large', body === undefined ? 'not kept' : `${body.length} bytes`);
  }
  if (headers === undefined)
    return rejected('undecodable-headers', 'malformed, nested too deep, or too many');
  const contentType = lowerCase(message.contentType, JSON_TYPE);
  if (contentType === PICKLE_TYPE) return rejected('unsafe-serializer', 'pickle');
  if (contentType !== JSON_TYPE && !JSON_KIND.test(contentType)) {
    return rejected('unsupported-serializer', `content type ${quoted(message.contentType)}`);
  }
  const compression = headers['compression'];
  if (compression === undefined || compression === null || compression === '') {
    return openText(message.contentEncoding, body, wantsStacks);
  }
  const expanded = decompressed(body, compression, listenedMs, reserve ?? new ExpansionReserve(listenedMs));
  return Buffer.isBuffer(expanded) ? openText(message.contentEncoding, expanded, wantsStacks) : expanded;
}

function decompressed(
  compressed: Buffer,
  name: unknown,
  listenedMs: number,
  reserve: ExpansionReserve,
): Buffer | Opened {
  // A header may be of any type, and converting it to a string could throw.
  const compression = typeof name === 'string' ? COMPRESSIONS.get(name) : undefined;
  if (compression === undefined) return rejected('unsupported-compression', `compression ${quoted(name)}`);
  const bytes = compressed.length;
  if (bytes > COMPRESSED_BYTES_MAX) return rejected('body-too-large', `${bytes} bytes, compressed`);
  if (!reserve.isLeft(listenedMs))
    return rejected('decompression-too-costly', `${bytes} bytes, and the reserve is used up`);
  const { decompress, costNs } = compression;
  const maxBytes = Math.min(EXPANDED_BYTES_MAX, bytes * RATIO_MAX);
  reserve.take((bytes * costNs) / 1e6);
  let body: Buffer;
  try {
    body = decompress(compressed, maxBytes);
  } catch (error) {
    reserve.take(abortedMs);
    return rejected(...decompressionFault(error, quoted(name), bytes, maxBytes));
  }
  reserve.take((body.length * expandedByteNs) / 1e6);
  return body;
}

function openText(contentEncoding: string, body: Buffer, wantsStacks: boolean): Opened {
  const encoding = lowerCase(contentEncoding, USUAL_ENCODING);
  const isUsual = encoding === USUAL_ENCODING;
  const isLatin1 = !isUsual && LATIN1_NAMES.has(encoding);
  if (!isUsual && !isLatin1 && !UTF8_NAMES.has(encoding)) {
    return rejected('unsupported-encoding', `content encoding ${quoted(contentEncoding)}`);
  }
  return body.length > UNSCANNED_BYTES_MAX
    ? openLarge(body, isLatin1, wantsStacks)
    : openJson(body, isLatin1);
}

/** Checks the structure of a large body before parsing it, and parses only parts of its long strings. */
function openLarge(body: Buffer, isLatin1: boolean, wantsStacks: boolean): Opened {
  const quotes: number[] = [];
  const excess = excessOf(body, STRUCTURE, quotes);
  if (excess !== undefined) return rejected(excess, `${body.length} bytes`);
  if (quotes.length === 0 && body.length <= KEPT_BYTES_MAX) return openJson(body, isLatin1);
  if (!(isLatin1 || isUtf8(body))) return rejected('invalid-text', 'not UTF-8');
  const withStacks = wantsStacks ? shortened(body, quotes, stackParts) : undefined;
  const isTooLarge = withStacks === undefined || withStacks.length > KEPT_BYTES_MAX;
  const kept = isTooLarge ? shortened(body, quotes, namingParts) : withStacks;
  return kept.length > KEPT_BYTES_MAX
    ? rejected('body-too-large', `${kept.length} bytes with its strings shortened`)
    : openJson(kept, isLatin1);
}

/** The text in lower case. The usual value is recognized by a comparison, which is faster. */
function lowerCase(text: string, usual: string): string {
  return text === usual ? text : text.toLowerCase();
}

function openJson(bytes: Buffer, isLatin1: boolean): Opened {
  // Python writes ASCII JSON by default, which is decoded faster as latin1.
  const isOneByte = isLatin1 || isAscii(bytes);
  if (!(isOneByte || isUtf8(bytes))) return rejected('invalid-text', 'not UTF-8');
  const outcome = parseTolerantJson(bytes.toString(isOneByte ? 'latin1' : 'utf8'));
  return outcome.ok ? outcome : rejected('invalid-json', `${bytes.length} bytes`);
}

function rejected(reason: Rejection['reason'], detail: string): Opened {
  return { ok: false, rejection: reject(reason, detail) };
}

/** A string, shortened and in quotes; for any other value, the name of its type. */
function quoted(value: unknown): string {
  return typeof value === 'string'
    ? JSON.stringify(value.slice(0, QUOTED_CHARS_MAX))
    : `of type ${typeof value}`;
}

/** The rejection of a body that could not be decompressed. */
function decompressionFault(
  error: unknown,
  name: string,
  bytes: number,
  maxBytes: number,
): [reason: Rejection['reason'], detail: string] {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ZSTD_error_frameParameter_windowTooLarge') return ['body-too-large', 'zstd window'];
  if (code !== 'ERR_BUFFER_TOO_LARGE') return ['corrupt-compression', name];
  return ['expands-too-far', `${bytes} bytes to more than ${maxBytes}`];
}
