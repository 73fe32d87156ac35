/**
 * Parses JSON as Python writes it: the bare tokens NaN, Infinity and -Infinity become a number that is not finite. Valid JSON
 * is parsed directly; the text is rewritten only if that fails.
 */

import { BODY_LIMITS } from './body-limits.ts';

export type JsonOutcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

/** Parsed as Infinity, because JSON has no NaN. The spaces keep `5NaN` invalid. */
const NOT_FINITE = ' 1e999 ';

/** Larger texts would take too long to rewrite and parse again. */
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
 * Replaces Python's tokens outside of strings. A plain scan, because a regular expression over string literals overflows the
 * stack on a long one and takes quadratic time on an unclosed one. The parser checks what surrounds a token.
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

/** The position after the string literal that opens at `open`. */
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
    // JSON.parse reports invalid JSON only by throwing.
    return { ok: false };
  }
}
