/**
 * Checks the nesting depth, the number of tokens and the length of names in a JSON text before it is parsed, and stops at the
 * first excess. The text need not be valid: up to the first syntax error, the counts are those of a parser. It parses
 * nothing; `isJsonObject` checks values that were parsed elsewhere.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const LETTER_U = 0x75;
/** The length of an escape such as `\u0000`. */
const UNICODE_ESCAPE_BYTES = 6;
/** A character in UTF-8 has at most this many bytes after the first one. */
const CONTINUATION_BYTES_MAX = 3;

export interface StructureLimits {
  readonly depthMax: number;
  readonly tokensMax?: number;
  /** Bytes outside of strings; by default, 32 for each token. */
  readonly unquotedMax?: number;
  /** A string with more bytes counts as long; by default, none does. */
  readonly textMax?: number;
}

/** Which limit is exceeded. `too-many-tokens` also stands for too many bytes outside of strings. */
export type Excess = 'nested-too-deep' | 'too-many-tokens' | 'name-too-long';

/**
 * The longest name of a field in an object. V8 keeps such names in a hash table until a full garbage collection, but does not
 * hash those of more than 16,383 characters: it compares each new one with all others of the same length.
 */
export const NAME_BYTES_MAX = 2048;

/** How many bytes outside of strings are allowed per token: long numbers take longer to parse than strings. */
const TOKEN_BYTES = 32;

/**
 * Which limit is exceeded, if any. A token is a value or a name. Every token except the first follows one of `[{,:`, so these
 * are counted; an empty list counts twice.
 * @param text in UTF-8, or in another superset of ASCII in which ASCII characters are single bytes
 * @param quotes receives the positions of the quotes of long strings, in pairs
 */
export function excessOf(text: Uint8Array, limits: StructureLimits, quotes?: number[]): Excess | undefined {
  const {
    depthMax,
    tokensMax = Infinity,
    unquotedMax = TOKEN_BYTES * tokensMax,
    textMax = Infinity,
  } = limits;
  let depth = 0;
  let tokens = 1;
  let quoted = 0;
  let opened = 0;
  let closed = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text[at]) {
      case QUOTE:
        opened = at;
        at = closed = endOfString(text, at);
        quoted += closed + 1 - opened;
        if (closed - opened - 1 > textMax) quotes?.push(opened, closed);
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        depth += 1;
        tokens += 1;
        if (depth > depthMax) return 'nested-too-deep';
        if (tokens > tokensMax) return 'too-many-tokens';
        break;
      case COMMA:
      case COLON:
        tokens += 1;
        // The string before a colon is a name.
        if (text[at] === COLON && closed - opened - 1 > NAME_BYTES_MAX) return 'name-too-long';
        if (tokens > tokensMax) return 'too-many-tokens';
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
    }
    if (at + 1 - quoted > unquotedMax) return 'too-many-tokens';
  }
  return undefined;
}

/**
 * The JSON text with each long string replaced by parts of it.
 * @param quotes the positions of the quotes of the long strings, in pairs
 * @param partsOf selects the parts, given the bytes between the quotes; the parts are JSON too
 */
export function shortened(
  text: Buffer,
  quotes: readonly number[],
  partsOf: (content: Buffer) => readonly Buffer[],
): Buffer {
  const parts: Buffer[] = [];
  let done = 0;
  for (let at = 0; at + 1 < quotes.length; at += 2) {
    const [open = 0, close = 0] = quotes.slice(at, at + 2);
    parts.push(text.subarray(done, open + 1), ...partsOf(text.subarray(open + 1, close)));
    done = close;
  }
  return Buffer.concat([...parts, text.subarray(done)]);
}

/** The first bytes of a JSON string’s content, and a few more where the cut would split a character or an escape. */
export function beginning(content: Buffer, bytes: number): Buffer {
  let end = 0;
  while (end < Math.min(bytes, content.length))
    end += content[end] !== BACKSLASH ? 1 : content[end + 1] === LETTER_U ? UNICODE_ESCAPE_BYTES : 2;
  const last = end + CONTINUATION_BYTES_MAX;
  while (end < last && ((content[end] ?? 0) & 0xc0) === 0x80) end += 1;
  return content.subarray(0, end);
}

/** Whether a value is an object, but neither a list nor null. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The position of the closing quote of the string that opens at `open`; past the end of the text if there is none. */
function endOfString(text: Uint8Array, open: number): number {
  let at = open + 1;
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
  return at;
}
