/**
 * Lines of a terminal: a line is a list of parts, each with a text and a tone. Turns them into text, with or without
 * colours. Pure.
 */
import { styleText } from 'node:util';
import type { Tone } from '../view/columns.ts';
import { cut, widthOf } from './cells.ts';

export interface Part {
  readonly text: string;
  readonly tone: Tone;
}

export type Line = readonly Part[];

const STYLES: Readonly<Record<Exclude<Tone, 'plain'>, Parameters<typeof styleText>[0]>> = {
  title: 'bold',
  quiet: 'dim',
  good: 'green',
  warn: 'yellow',
  bad: ['bold', 'red'],
  chosen: 'inverse',
};

export function part(text: string, tone: Tone = 'plain'): Part {
  return { text, tone };
}

export function textOf(line: Line): string {
  return line
    .map(({ text }) => text)
    .join('')
    .trimEnd();
}

/** The text with escape sequences for colours. It has no others, since its texts are printable. */
export function colouredOf(line: Line): string {
  return line
    .map(({ text, tone }) =>
      tone === 'plain' || text === '' ? text : styleText(STYLES[tone], text, { validateStream: false }),
    )
    .join('');
}

/** The line, at most `width` cells wide. */
export function cutLine(line: Line, width: number): Line {
  const kept: Part[] = [];
  let left = width;
  for (const { text, tone } of line) {
    if (left <= 0) break;
    const shown = cut(text, left);
    kept.push({ text: shown, tone });
    left -= widthOf(shown);
    if (shown !== text) break;
  }
  return kept;
}

/** The words of a text on lines of at most `width` cells; the last of `linesMax` lines is cut. */
export function wrapped(text: string, tone: Tone, width: number, linesMax: number): readonly Line[] {
  const lines: string[] = [];
  let current = '';
  for (const word of text.split(' ')) {
    const longer = current === '' ? word : `${current} ${word}`;
    if (current !== '' && widthOf(longer) > width) {
      lines.push(current);
      current = word;
    } else current = longer;
  }
  lines.push(current);
  const shown = lines.slice(0, linesMax);
  if (lines.length > linesMax) shown[linesMax - 1] = lines.slice(linesMax - 1).join(' ');
  return shown.map((line) => [part(cut(line, width), tone)]);
}
