/**
 * Makes values safe to print. It hides rather too much: more of a malformed address than of a well-formed one, because the
 * password may be anywhere in it.
 */
import { printable } from '../../text/printable.ts';

/** Replaces secrets. */
export const MASK = '***';

const SHOWN_CHARS_MAX = 120;

/** A value in quotes, on one line, shortened. */
export function quote(text: string): string {
  const shown = text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text;
  return printable(JSON.stringify(shown));
}

/**
 * Masks one or more addresses, but for the first scheme and the last host: an unescaped `;`, `/`, `#` or `@` in a password
 * shifts all other parts of a URL.
 */
export function maskUrl(text: string): string {
  // The path of a recording is no secret.
  if (/^\s*recording:[^@]*$/i.test(text) && !text.includes('://')) return quote(text);
  const scheme = /^\s*([a-z][a-z0-9+.-]{0,30}:\/\/)/i.exec(text)?.[1];
  if (scheme === undefined) return quote(MASK);
  const host = /@([a-z0-9.-]+(?::\d{1,5})?)(?=[/?]|$)[^@]*$/i.exec(text.trim())?.[1];
  return quote(host === undefined ? `${scheme}${MASK}` : `${scheme}${MASK}@${host}`);
}
