/**
 * Bounds texts and makes them safe: long ones are cut, at the end or in the middle, and what would steer a terminal is escaped.
 * It hides no secrets. Pure.
 */
import { printable } from '../text/printable.ts';

const ELLIPSIS = '…';
/** Longest line about what was cut out. */
const GAP_CHARS = 48;

/** The beginning of the text. */
export function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1).toWellFormed()}${ELLIPSIS}`;
}

/** A line in place of what was cut out of the middle, here or at decoding. */
const GAP = /^\[\.\.\. \d{1,9} (?:bytes|characters) left out \.\.\.\]$/;
const FRAME = /^[ |]{2,64}File "/;

export function isGap(line: string): boolean {
  return GAP.test(line);
}

/** The beginning and the end, with a line in between that shows how much is missing: in a Python traceback both matter. */
export function cutInMiddle(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const half = Math.max(0, Math.floor((charsMax - GAP_CHARS) / 2));
  const [head, tail] = [text.slice(0, half), text.slice(text.length - half)];
  const gap = `[... ${text.length - head.length - tail.length} characters left out ...]`;
  return `${head}\n${gap}\n${tail}`.toWellFormed();
}

/**
 * The text without the lines below a gap that may belong to a line above the cut: there, the name of a secret may have been left
 * out and its value may be shown.
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

/** Escapes what is unprintable; line breaks and tabs stay. */
export function safeLines(text: string): string {
  return text.replaceAll(/[^\n\t]+/g, printable);
}

/** One line, escaped and bounded, for names. */
export function safeName(name: string, charsMax: number): string {
  return cut(printable(cut(name, charsMax)), charsMax);
}
