/**
 * Checks nesting depth, number of tokens and length of names of a JSON text before it is parsed, and stops at the first
 * excess. The text need not be valid: up to the first syntax error it counts what a parser sees, and a parser stops there.
 */

const SPACES: readonly number[] = [0x20, 0x0a, 0x0d, 0x09];
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

export interface StructureLimits {
  readonly depthMax: number;
  readonly tokensMax?: number;
  /** Bytes outside of strings, by default 32 for each token. */
  readonly unquotedMax?: number;
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
 * @param commas gets the offsets of the commas between the elements of the outermost list, or the fields of an object
 */
export function excessOf(text: Uint8Array, limits: StructureLimits, commas?: number[]): Excess | undefined {
  const { depthMax, tokensMax = Infinity, unquotedMax = TOKEN_BYTES * tokensMax } = limits;
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
        if (depth === 1 && text[at] === COMMA) commas?.push(at);
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

/**
 * The elements of a list, each to be parsed on its own: then a sender cannot fill the memory with texts of megabytes.
 * @param commas as `excessOf` finds them
 * @returns undefined if it is no list, or may be an empty one
 */
export function elementsOf(text: Buffer, commas: readonly number[]): readonly Buffer[] | undefined {
  const open = text.findIndex(isNoSpace);
  const close = text.findLastIndex(isNoSpace);
  if (commas.length === 0 || text[open] !== OPEN_LIST || text[close] !== CLOSE_LIST) return undefined;
  return [open, ...commas].map((before, index) => text.subarray(before + 1, commas[index] ?? close));
}

function isNoSpace(byte: number): boolean {
  return !SPACES.includes(byte);
}

/** The position of the closing quote of the string that opens at `open`, or past the end. */
function endOfString(text: Uint8Array, open: number): number {
  let at = open + 1;
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
  return at;
}
