/**
 * Finds the end of a value that follows the name of a secret: a string in any quotes, a value in brackets or a bare word, as
 * in Python's reprs, JSON, headers, query strings and source code. If in doubt it takes more. It reads each character once.
 * Pure.
 */

/** Quotes as URLs, HTML and some JSON encode them; the last form may have backslashes before it. */
export const ESCAPED_QUOTE = '%(?:25)?2[27]|&(?:quot|apos|#3[49]|#x2[27]);|u002[27]';
/** The beginning of a string: Python’s prefix, backslashes if the string is within another one, and the quote. */
const OPENING = new RegExp(String.raw`[bruf]{0,2}(\\{0,16})(["'\`]|${ESCAPED_QUOTE})`, 'iy');
/** Before another string that continues the value, on the same line, or on the next one, as `pprint` writes it. */
const ADJACENT = /[ \t]{0,16}(?:\r?\n[ \t]{0,200})?(?=[bruf]{0,2}\\{0,16}["'])/iy;
/** `password: str = "x"`, `password = token = "x"`. */
const ASSIGNED = /[ \t]{0,8}=+[ \t]{0,8}/y;
/** The closing quote of the string that contains the value, and what may follow that string. */
const AFTER_STRING = /\\{0,16}["'`](?:[\s,;:)\]}>&|.]|$)/y;
/** The next of several parameters, after `&`, `;` or `,`. */
const NEXT_PARAMETER = /[&;,][ \t]{0,8}["']?[\w.%-]{1,64}[=:]/y;
/** A scheme of `Authorization`; the credentials are the next word. */
const SCHEME = /^(?:basic|bearer|token|digest|negotiate|apikey)$/i;
const SCHEME_CHARS_MAX = 16;
/** As on cards and accounts, with spaces in it. */
const NUMBER = /\d(?:[ -]?\d){11,22}(?=[\s,;:)\]'"&]|$)/y;
const ELEMENT_TEXT = /[^<\n]*/y;
const FRAME = /[ |]{0,64}File "/y;
const LINE_BREAK_AFTER = /[ \t]{0,200}\r?\n/y;
const CLOSING = /[)\]}>,;.\\]/;

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function lineEnd(text: string, at: number): number {
  const found = text.indexOf('\n', at);
  return found < 0 ? text.length : found;
}

export interface ValueKind {
  /** The value takes the rest of the line, as in `Authorization: Digest a=b, c=d`. */
  readonly isLine: boolean;
  /** The value is the text of an XML element. */
  readonly isElement: boolean;
}

/** Whether a string in quotes begins at a position. */
export function isQuoted(text: string, at: number): boolean {
  return matchAt(OPENING, text, at) !== null;
}

/** The end of the value that begins at a position. */
export function valueEnd(text: string, at: number, kind: ValueKind): number {
  let end = oneValueEnd(text, at, kind);
  for (;;) {
    const more = matchAt(ASSIGNED, text, end);
    if (more === null || more.index + more[0].length >= text.length) return end;
    end = oneValueEnd(text, end + more[0].length, kind);
  }
}

function oneValueEnd(text: string, at: number, kind: ValueKind): number {
  const opening = matchAt(OPENING, text, at);
  if (opening === null) {
    const isNumber = !kind.isLine && matchAt(NUMBER, text, at) !== null;
    return isNumber ? NUMBER.lastIndex : bareEnd(text, at, kind);
  }
  let end = stringEnd(text, at, opening);
  for (;;) {
    const adjacent = matchAt(ADJACENT, text, end);
    const next = adjacent === null ? null : matchAt(OPENING, text, end + adjacent[0].length);
    if (next === null) return end;
    end = stringEnd(text, next.index, next);
  }
}

/** The position after the closing quote; the end of the line if there is none. */
function stringEnd(text: string, at: number, [opening, slashes = '', quote = '']: RegExpExecArray): number {
  const from = at + opening.length;
  if (quote.length > 1) return closed(text, text.indexOf(quote, from), quote, from);
  const triple = quote.repeat(3);
  if (text.startsWith(triple, from - 1)) {
    const close = text.indexOf(triple, from + 2);
    return close < 0 ? text.length : close + 3;
  }
  // A quote within the string has more backslashes before it than the opening quote, since nesting doubles them.
  const escapes = slashes.length;
  let run = 0;
  for (let place = from; place < text.length; place += 1) {
    const character = text[place];
    if (character === '\n') return place;
    if (character === '\\') {
      run += 1;
      continue;
    }
    if (character === quote && (run <= escapes || (run - escapes) % (2 * (escapes + 1)) === 0))
      return place + 1;
    run = 0;
  }
  return text.length;
}

function closed(text: string, close: number, quote: string, from: number): number {
  const last = lineEnd(text, from);
  return close < 0 || close > last ? last : close + quote.length;
}

/** The end of a bare word, including its brackets and strings, but not punctuation that may close something around it. */
function bareEnd(text: string, from: number, { isLine, isElement }: ValueKind): number {
  if (isElement) return from + (matchAt(ELEMENT_TEXT, text, from)?.[0].length ?? 0);
  let depth = 0;
  let isMultiline = false;
  /** The position after the last bracket that closes one within the value. */
  let least = from;
  let place = from;
  for (; place < text.length; place += 1) {
    const character = text.charAt(place);
    if (character === '\n') {
      if (depth === 0 || !isMultiline || matchAt(FRAME, text, place + 1) !== null) break;
    } else if ('([{'.includes(character)) {
      depth += 1;
      isMultiline ||= matchAt(LINE_BREAK_AFTER, text, place + 1) !== null;
    } else if (')]}'.includes(character)) {
      if (depth === 0) continue;
      depth -= 1;
      least = place + 1;
      if (depth === 0 && isMultiline && !isLine) return least;
    } else if ('"\'`'.includes(character)) {
      if (depth > 0) {
        const opening = matchAt(OPENING, text, place);
        if (opening !== null) place = stringEnd(text, place, opening) - 1;
      } else if (matchAt(AFTER_STRING, text, place) !== null) break;
    } else if (depth === 0) {
      if (/\s/.test(character)) {
        if (!SCHEME.test(text.slice(from, Math.min(place, from + SCHEME_CHARS_MAX)).trimEnd())) break;
      } else if ('&;,'.includes(character) && matchAt(NEXT_PARAMETER, text, place) !== null) break;
    }
  }
  while (place > least && CLOSING.test(text.charAt(place - 1))) place -= 1;
  return isLine ? Math.max(place, lineEnd(text, from)) : place;
}
