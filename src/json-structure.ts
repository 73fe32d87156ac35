/**
 * Checks nesting depth, number of tokens and length of names of a JSON text before it is parsed, and stops at the first
 * excess. The text need not be valid: up to the first syntax error it counts what a parser sees, and a parser stops there.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** Of `\u0000`. */
const ESCAPE_BYTES_MAX = 6;

export interface StructureLimits {
  readonly depthMax: number;
  readonly tokensMax?: number;
  /** Bytes outside of strings, by default 32 for each token. */
  readonly unquotedMax?: number;
  /** Strings of more bytes are long. */
  readonly textMax?: number;
}

/** Too many bytes outside of strings are `too-many-tokens` too. */
export type Excess = 'nested-too-deep' | 'too-many-tokens' | 'name-too-long';

/**
 * V8 keeps the names in objects in a hash table until a full garbage collection, and does not hash those of more than 16,383
 * characters: each new one is compared with all others of its length.
 */
export const NAME_BYTES_MAX = 2048;

/** Long numbers cost a parser more than texts. */
const TOKEN_BYTES = 32;

/**
 * Which limit is exceeded, if any. A token is a value or a name. All but the first follow one of `[{,:`, which are counted,
 * so that an empty list counts twice.
 * @param text in UTF-8, or in another character set whose first 128 characters are those of ASCII, one byte each
 * @param quotes gets the positions of the quotes of long strings, in pairs
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
        // What a colon follows is a name.
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

/** What to keep of a long text: its first and its last bytes, up to some more where an escape or a character would be cut. */
export interface TextParts {
  readonly first: number;
  readonly last: number;
}

/** Between the parts of a text that was shortened. */
export const OMITTED = '\0';
const OMITTED_IN_JSON = Buffer.from('\\u0000');

/**
 * The JSON text with its long strings shortened.
 * @param quotes the positions of the quotes of these, in pairs
 */
export function shortened(text: Buffer, quotes: readonly number[], { first, last }: TextParts): Buffer {
  const parts: Buffer[] = [];
  let kept = 0;
  for (let at = 0; at + 1 < quotes.length; at += 2) {
    const [open = 0, close = 0] = quotes.slice(at, at + 2);
    const from = characterAt(text, open + 1 + first, close);
    const to = characterAt(text, close - last, close);
    if (from >= to) continue;
    parts.push(text.subarray(kept, from), OMITTED_IN_JSON);
    kept = to;
  }
  return Buffer.concat([...parts, text.subarray(kept)]);
}

/** The first position from `at` on where a character or an escape certainly begins; `close` if there is none. */
function characterAt(text: Buffer, at: number, close: number): number {
  const before = at - ESCAPE_BYTES_MAX;
  let backslash = before + text.subarray(before, at).lastIndexOf(BACKSLASH);
  for (let position = at; position < close; position += 1) {
    const byte = text[position] ?? 0;
    const isApart = position - backslash >= ESCAPE_BYTES_MAX;
    if (byte === BACKSLASH) {
      if (backslash < position - 1) return position;
      backslash = position;
    } else if (isApart && (byte & 0xc0) !== 0x80) return position;
  }
  return close;
}

/** The position of the closing quote of the string that opens at `open`, or past the end. */
function endOfString(text: Uint8Array, open: number): number {
  let at = open + 1;
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
  return at;
}
