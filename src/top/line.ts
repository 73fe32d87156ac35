/** Lines of a terminal as parts, each with a tone, and their text, with or without colours. Pure. */
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

/** With the escapes of its colours: the only ones of a line, since its texts are printable. */
export function colouredOf(line: Line): string {
  return line
    .map(({ text, tone }) =>
      tone === 'plain' || text === '' ? text : styleText(STYLES[tone], text, { validateStream: false }),
    )
    .join('');
}

/** At most so wide. */
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

/** Words on lines of at most that width, of which there are at most so many. */
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
