/**
 * Bounds texts and makes them safe: cuts long ones at the end or in the middle, and escapes what would control a terminal. It
 * hides no secrets. Pure.
 */
import { printable } from '../text/printable.ts';

const ELLIPSIS = '…';
/** Longest line that replaces what was cut out, with its line breaks. */
const GAP_CHARS = 48;

/** The beginning of the text, with an ellipsis if it was cut. */
export function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1).toWellFormed()}${ELLIPSIS}`;
}

/** A line that replaces what was cut out of the middle, here or at decoding. */
const GAP = /^\[\.\.\. \d{1,9} (?:bytes|characters) left out \.\.\.\]$/;
const FRAME = /^[ |]{2,64}File "/;

export function isGap(line: string): boolean {
  return GAP.test(line);
}

/** The beginning and the end, which both matter in a Python traceback, with a line in between that counts what is missing. */
export function cutInMiddle(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const half = Math.max(0, Math.floor((charsMax - GAP_CHARS) / 2));
  const [head, tail] = [text.slice(0, half), text.slice(text.length - half)];
  const gap = `[... ${text.length - head.length - tail.length} characters left out ...]`;
  return `${head}\n${gap}\n${tail}`.toWellFormed();
}

/**
 * The text without the lines below a gap that may continue a line that was cut out: such a line could have named a secret whose
 * value is below the gap, where redaction would not recognize it.
 */
export function withoutTorn(text: string): string {
  let below = Number.POSITIVE_INFINITY;
  const isTorn = (line: string): boolean => {
    if (isGap(line)) {
      below = 0;
      return false;
    }
    below += 1;
    if (below > 1 && !line.startsWith(' ')) below = Number.POSITIVE_INFINITY;
    if (FRAME.test(line)) below = Number.POSITIVE_INFINITY;
    return below < Number.POSITIVE_INFINITY;
  };
  if (!text.includes(' left out ...]')) return text;
  return text
    .split('\n')
    .filter((line) => !isTorn(line))
    .join('\n');
}

/** Escapes unprintable characters, except line breaks and tabs. */
export function safeLines(text: string): string {
  return text.replaceAll(/[^\n\t]+/g, printable);
}

/** A name on one line, escaped and bounded. */
export function safeName(name: string, charsMax: number): string {
  return cut(printable(cut(name, charsMax)), charsMax);
}
