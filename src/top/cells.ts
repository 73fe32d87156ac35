/**
 * Computes the width of a text on a terminal, and cuts texts to fit: wide characters take two cells, combining ones
 * none. Pure; its texts must be printable and without colours.
 */
import stringWidth from 'string-width';

const ASCII = /^[\u0020-\u007e]*$/u;
const CUT = '…';

/** Splits a text into what people take for single characters. */
const CHARACTERS = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The width in terminal cells. */
export function widthOf(text: string): number {
  return ASCII.test(text) ? text.length : stringWidth(text);
}

/** The text, at most `width` cells wide; a text that is cut ends in `…`. */
export function cut(text: string, width: number): string {
  if (width <= 0) return '';
  if (widthOf(text) <= width) return text;
  let kept = '';
  let taken = 0;
  for (const { segment } of CHARACTERS.segment(text)) {
    taken += widthOf(segment);
    if (taken > width - 1) break;
    kept += segment;
  }
  return kept + CUT;
}

/** The text, exactly `width` cells wide: cut, or filled with spaces. */
export function fit(text: string, width: number, isRight = false): string {
  const shown = cut(text, width);
  const space = ' '.repeat(Math.max(0, width - widthOf(shown)));
  return isRight ? space + shown : shown + space;
}

/** The text on as many lines as it needs, broken anywhere. */
export function folded(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let [line, taken] = ['', 0];
  for (const { segment } of CHARACTERS.segment(text)) {
    const wide = widthOf(segment);
    if (line !== '' && taken + wide > width) {
      lines.push(line);
      [line, taken] = ['', 0];
    }
    line += segment;
    taken += wide;
  }
  return [...lines, line];
}
