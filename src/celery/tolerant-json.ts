/**
 * JSON as Python writes it: the bare tokens NaN, Infinity and -Infinity all become a number that is not finite. Plain JSON
 * takes the engine's own parser at full speed; the rewrite runs only where that refused. It never evaluates anything.
 */

import { BODY_LIMITS } from './body-limits.ts';

export type JsonOutcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

/** JSON's way to say Infinity, for want of a NaN. Apart from its neighbours, since `5NaN` is none that would be one with it. */
const NOT_FINITE = ' 1e999 ';

/** Beyond it the rewrite and the second parse would take too long. */
const REWRITTEN_CHARS_MAX = BODY_LIMITS.rewritten.max;

const PYTHON_TOKENS = ['NaN', 'Infinity', '-Infinity'] as const;
const LETTER_N = 0x4e;
const LETTER_I = 0x49;
const MINUS = 0x2d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export function parseTolerantJson(text: string): JsonOutcome {
  const strict = parse(text);
  if (strict.ok || text.length > REWRITTEN_CHARS_MAX) return strict;
  if (!(text.includes('NaN') || text.includes('Infinity'))) return strict;
  return parse(withNumbers(text));
}

/**
 * Python's tokens as numbers, but not those in strings. A plain scan: a regular expression over string literals runs out
 * of stack on a long one and takes quadratic time on an unclosed one. What surrounds a token is left to the parser.
 */
function withNumbers(text: string): string {
  let rewritten = '';
  let copiedTo = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    const token = code === LETTER_N || code === LETTER_I || code === MINUS ? tokenAt(text, at) : undefined;
    if (token !== undefined) {
      rewritten += `${text.slice(copiedTo, at)}${NOT_FINITE}`;
      at += token.length;
      copiedTo = at;
    } else {
      at = code === QUOTE ? endOfString(text, at) : at + 1;
    }
  }
  return rewritten + text.slice(copiedTo);
}

function tokenAt(text: string, at: number): string | undefined {
  return PYTHON_TOKENS.find((token) => text.startsWith(token, at));
}

/** The position behind the string literal that opens at `open`. */
function endOfString(text: string, open: number): number {
  let at = open + 1;
  for (let code = text.charCodeAt(at); at < text.length && code !== QUOTE; code = text.charCodeAt(at)) {
    at += code === BACKSLASH ? 2 : 1;
  }
  return at + 1;
}

function parse(text: string): JsonOutcome {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    // The one way the engine has to say that a text is not JSON: it becomes a value here.
    return { ok: false };
  }
}
