/**
 * How a value may be printed. It errs on the side of hiding: what is malformed is masked more coarsely than what is
 * well-formed, because nobody can say where in it the password is.
 */
import { printable } from '../../printable.ts';

/** Stands for whatever must not be read. */
export const MASK = '***';

const SHOWN_CHARS_MAX = 120;

/** A value in quotes, on one line and of bounded length. */
export function quote(text: string): string {
  const shown = text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text;
  return printable(JSON.stringify(shown));
}

/**
 * An address, or a list of them, with everything masked but the scheme of the first and the host of the last: an
 * unescaped `;`, `/`, `#` or `@` in a password moves every other border of a URL.
 */
export function maskUrl(text: string): string {
  // The path of a recording has nothing to hide.
  if (/^\s*recording:[^@]*$/i.test(text) && !text.includes('://')) return quote(text);
  const scheme = /^\s*([a-z][a-z0-9+.-]{0,30}:\/\/)/i.exec(text)?.[1];
  if (scheme === undefined) return quote(MASK);
  const host = /@([a-z0-9.-]+(?::\d{1,5})?)(?=[/?]|$)[^@]*$/i.exec(text.trim())?.[1];
  return quote(host === undefined ? `${scheme}${MASK}` : `${scheme}${MASK}@${host}`);
}
