/**
 * Keys in a Map or Set for texts from outside. Node 22.15, unlike 22.23, hashes decimal numbers by their low bits, so that a
 * sender could make them collide. Pure; it keeps no texts.
 */

/** The longest text that the engine may take for a number. */
const DIGITS_MAX = 16;
const MARK = '#';
const AFTER_DIGITS = ':';

/** Different for different texts, and never a number. Most names and all ids of Celery are their own keys. */
export function safeKey(text: string): string {
  // Many kinds of strings arrive here; comparing them is faster than reading their characters and lengths.
  if (text >= AFTER_DIGITS) return text;
  return text.length > DIGITS_MAX && text[0] !== MARK ? text : `${MARK}${text}`;
}

/** The text of a key. */
export function textOf(key: string): string {
  return key[0] === MARK ? key.slice(1) : key;
}
