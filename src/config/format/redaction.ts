/**
 * Makes values safe to print. If in doubt, it hides too much: it hides more of a malformed address than of a
 * well-formed one, because the password may be anywhere in a malformed one.
 */
import { printable } from '../../text/printable.ts';

/** The text that replaces secrets. */
export const MASK = '***';

const SHOWN_CHARS_MAX = 120;

/** The value in quotes, on one line, shortened to 120 characters. */
export function quote(text: string): string {
  const shown = text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text;
  return printable(JSON.stringify(shown));
}

/**
 * Masks one or more addresses, except for the first scheme and the last host. Other parts cannot be identified safely, because
 * an unescaped `;`, `/`, `#` or `@` in a password shifts them.
 */
export function maskUrl(text: string): string {
  // The path of a recording is not a secret.
  if (/^\s*recording:[^@]*$/i.test(text) && !text.includes('://')) return quote(text);
  const scheme = /^\s*([a-z][a-z0-9+.-]{0,30}:\/\/)/i.exec(text)?.[1];
  if (scheme === undefined) return quote(MASK);
  const host = /@([a-z0-9.-]+(?::\d{1,5})?)(?=[/?]|$)[^@]*$/i.exec(text.trim())?.[1];
  return quote(host === undefined ? `${scheme}${MASK}` : `${scheme}${MASK}@${host}`);
}
