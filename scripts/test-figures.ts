/** The table of what the program costs: each promise with its figure and its bound. It measures nothing. */

/** One row. */
export interface Figure {
  readonly promise: string;
  readonly figure: number;
  /** The figure may not be above it. */
  readonly max: number;
  readonly unit: string;
}

/** How the diagnostic line of a test begins that carries one, as JSON. */
export const FIGURE = 'figure ';

export function writeFigure(figure: Figure): string {
  return `${FIGURE}${JSON.stringify(figure)}`;
}

export function readFigure(line: string): Figure {
  return JSON.parse(line.slice(FIGURE.length));
}

export function figureTable(figures: readonly Figure[]): string {
  const rows = [
    ['promise', 'figure', 'bound'],
    ...figures.map(({ promise, figure, max, unit }) => [
      promise,
      `${round(figure)} ${unit}`,
      `${round(max)} ${unit}${figure > max ? ' ✖' : ''}`,
    ]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((text, column) =>
        column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0),
      )
      .join('  ');
  return `${rows.map(line).join('\n')}\n`;
}

function round(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}
