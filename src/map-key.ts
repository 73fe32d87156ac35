/**
 * Keys in a Map or Set for texts from outside. Node 22.15, unlike 22.23, hashes decimal numbers by their low bits, so that a
 * sender could make them collide. Pure; it keeps no texts.
 */

/** The longest text that the engine may take for a number. */
const DIGITS_MAX = 16;
const [MARK, NINE] = [0x23, 0x39];

/** Different for different texts, and never a number. Most names and all ids of Celery are their own keys. */
export function mapKey(text: string): string {
  const first = text.charCodeAt(0);
  return first > NINE || (first !== MARK && text.length > DIGITS_MAX) ? text : `#${text}`;
}

/** The text of a key. */
export function textOf(key: string): string {
  return key.charCodeAt(0) === MARK ? key.slice(1) : key;
}
