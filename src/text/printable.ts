/**
 * Makes untrusted text safe to print: escapes characters that control a terminal, break a line or change the writing
 * direction. It does not shorten texts or hide secrets.
 */

/** Control and format characters, lone surrogates, line and paragraph separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The text on one line: ESC becomes `\u001b`, a line break `\u000a`. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, escaped);
}

/** Like `printable`, but keeps line breaks, for multi-line texts of this program. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** The character, escaped as in JSON, so that a JSON document stays valid. */
function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
