/**
 * Makes text fit to be shown: what steers a terminal, begins a line or turns the direction of writing is escaped where it
 * can be seen. Anybody can write what he likes into a name. It shortens nothing, and hides no secret.
 */

/** Control (C0, DEL, C1), format (directions, joiners, marks), lone surrogates, separators of lines and paragraphs. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The text on one line: `\u001b` stands for an escape, `\u000a` for the end of a line. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, escaped);
}

/** The same of a text of our own that has several lines, which it keeps. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** As JSON and JavaScript have it. */
function escaped(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
}
