/**
 * Makes untrusted text safe to print: escapes characters that control a terminal, break a line or change the direction of
 * writing. It does not shorten text or hide secrets.
 */

/** Control and format characters, lone surrogates, line and paragraph separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The text on one line: an escape becomes `\u001b`, a line break `\u000a`. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, escaped);
}

/** The same, but line breaks are kept: for our own multi-line texts. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** Escaped as in JSON, so that a JSON document stays valid. */
function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
