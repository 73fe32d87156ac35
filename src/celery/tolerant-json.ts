/**
 * Parses JSON as Python writes it: the tokens NaN, Infinity and -Infinity become a number that is not finite. It rewrites
 * only texts that are not valid JSON.
 */

import { BODY_LIMITS } from './body-limits.ts';

export type JsonOutcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

/** Parsed as Infinity, because JSON has no NaN. The spaces keep `5NaN` invalid. */
const NOT_FINITE = ' 1e999 ';

/** UTF-16 units of the longest text that is rewritten: a longer one would take too long to rewrite and parse again. */
const REWRITTEN_CHARS_MAX = BODY_LIMITS.rewritten.max;

/** Python's tokens, the quotes that delimit strings, and escapes, since an escaped quote ends no string. */
const PARTS = /"|\\.|NaN|-?Infinity/gs;

export function parseTolerantJson(text: string): JsonOutcome {
  const strict = parse(text);
  if (strict.ok || text.length > REWRITTEN_CHARS_MAX) return strict;
  if (!(text.includes('NaN') || text.includes('Infinity'))) return strict;
  return parse(withoutPythonTokens(text));
}

/**
 * Replaces Python's tokens outside of strings. It matches quotes one by one, because a regular expression for whole strings
 * would overflow the stack on a long string, and take quadratic time on an unclosed one. `JSON.parse` then checks whether the
 * tokens are in valid places.
 */
function withoutPythonTokens(text: string): string {
  let isInString = false;
  return text.replaceAll(PARTS, (part) => {
    if (part === '"') isInString = !isInString;
    return isInString || part === '"' || part.startsWith('\\') ? part : NOT_FINITE;
  });
}

function parse(text: string): JsonOutcome {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    // JSON.parse reports invalid JSON only by throwing.
    return { ok: false };
  }
}
