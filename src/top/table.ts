/**
 * Draws a table as lines: its rows filtered, sorted and cut to a window, its columns as wide as their content. It does not know what
 * the rows are. Pure.
 */

import type { Column } from '../view/columns.ts';
import { matchingRows, type Order, orderedRows } from '../view/order.ts';
import { fit, widthOf } from './cells.ts';
import { cutLine, type Line, type Part, part } from './line.ts';

export interface TableOptions<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly order: Order;
  /** A part of a name; empty for all rows. */
  readonly filter: string;
  readonly width: number;
  /** Rows that are shown at most. */
  readonly height: number;
  /** Rows that are left out before them. */
  readonly offset: number;
}

export interface TableLines {
  /** The first one is the heading. */
  readonly lines: readonly Line[];
  readonly matching: number;
  /** As far as there are rows to leave out. */
  readonly offset: number;
}

const GAP = 2;
/** A name may be cut to this, for the sake of a column. */
const NAME_WIDTH_MIN = 16;
/** A text beside the name, such as a reason, is cut to this. */
const TEXT_WIDTH_MAX = 40;
const UP = '▲';
const DOWN = '▼';

export function tableLines<Row>(options: TableOptions<Row>): TableLines {
  const { columns, order, width, height } = options;
  const sorted = orderedRows(columns, matchingRows(columns, options.rows, options.filter), order);
  const offset = Math.max(0, Math.min(options.offset, sorted.length - height));
  const rows = sorted.slice(offset, offset + height);
  const cells = rows.map((row) =>
    columns.map(({ text, tone }, place) => part(text(row), place === 0 ? 'plain' : tone(row))),
  );
  const headings = columns.map(({ label }, place) =>
    part(
      place === order.column ? `${label}${order.isDescending ? DOWN : UP}` : label,
      place === order.column ? 'chosen' : 'title',
    ),
  );
  const widths = widthsOf(columns, [headings, ...cells], width);
  const shown = chosenPlaces(columns, widths, order.column, width);
  const fitted = shownWidths(widths, shown, width);
  const lineOf = (line: readonly Part[]): Line => cutLine(joined(line, shown, columns, fitted), width);
  return { lines: [headings, ...cells].map(lineOf), matching: sorted.length, offset };
}

/** Each as wide as its widest cell; texts within limits, if the window has some. */
function widthsOf<Row>(
  columns: readonly Column<Row>[],
  lines: readonly (readonly Part[])[],
  width: number,
): readonly number[] {
  return columns.map(({ isName }, place) => {
    const widest = lines.reduce((most, line) => Math.max(most, widthOf(line[place]?.text ?? '')), 0);
    if (!isName || width === Number.POSITIVE_INFINITY) return widest;
    return place === 0 ? Math.min(widest, width) : Math.min(widest, TEXT_WIDTH_MAX);
  });
}

/** The name, the column that is sorted by, and of the others the first ones for which there is room. */
function chosenPlaces<Row>(
  columns: readonly Column<Row>[],
  widths: readonly number[],
  sortedBy: number,
  width: number,
): readonly number[] {
  const needed = (place: number): number => (place === 0 ? nameWidthMin(widths) : GAP + (widths[place] ?? 0));
  const chosen = new Set([0, sortedBy]);
  let left = width - [...chosen].reduce((sum, place) => sum + needed(place), 0);
  for (const place of columns.keys()) {
    if (chosen.has(place)) continue;
    left -= needed(place);
    if (left < 0) break;
    chosen.add(place);
  }
  return [...chosen].sort((one, other) => one - other);
}

function nameWidthMin(widths: readonly number[]): number {
  return Math.min(widths[0] ?? 0, NAME_WIDTH_MIN);
}

/** The name takes what the others leave of the width. */
function shownWidths(widths: readonly number[], shown: readonly number[], width: number): readonly number[] {
  const others = shown.slice(1).reduce((sum, place) => sum + GAP + (widths[place] ?? 0), 0);
  const name = Math.max(Math.min(widths[0] ?? 0, width - others), nameWidthMin(widths));
  return [name, ...widths.slice(1)];
}

function joined<Row>(
  line: readonly Part[],
  shown: readonly number[],
  columns: readonly Column<Row>[],
  widths: readonly number[],
): Line {
  return shown.flatMap((place) => {
    const { text, tone } = line[place] ?? part('');
    const cell = part(fit(text, widths[place] ?? 0, columns[place]?.isName !== true), tone);
    return place === 0 ? [cell] : [part(' '.repeat(GAP)), cell];
  });
}
