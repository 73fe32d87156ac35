/**
 * Converts texts from outside to keys of a Map or Set, and back. Node 22.15, unlike 22.23, hashes strings that are decimal
 * numbers by the number’s low bits, so a sender could make them collide. Pure; it keeps no texts.
 */

/** The longest string that V8 may hash as a number. */
const DIGITS_MAX = 16;
const MARK = '#';
const AFTER_DIGITS = ':';

/** The key of a text: unique, and never a number. Most names and all ids of Celery are unchanged. */
export function safeKey(text: string): string {
  // V8 has several representations of strings, so comparing them is faster than reading their characters and lengths.
  if (text >= AFTER_DIGITS) return text;
  return text.length > DIGITS_MAX && text[0] !== MARK ? text : `${MARK}${text}`;
}

/** The text that `safeKey` made this key from. */
export function textOf(key: string): string {
  return key[0] === MARK ? key.slice(1) : key;
}
