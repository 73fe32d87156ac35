/**
 * Draws a table as lines: filters and sorts its rows, scrolls to the cursor, and makes columns as wide as their
 * content. It does not know what the rows are about. Pure.
 */

import type { Column } from '../view/columns.ts';
import { matchingRows, type Order, orderedRows } from '../view/order.ts';
import { fit, widthOf } from './cells.ts';
import { cutLine, type Line, type Part, part } from './line.ts';

export interface TableOptions<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly order: Order;
  /** A part of a name; empty to show all rows. */
  readonly filter: string;
  readonly width: number;
  /** How many rows are shown at most. */
  readonly height: number;
  /** How many rows are scrolled past. */
  readonly offset: number;
  /** Undefined if the table has no cursor. */
  readonly cursor?: Cursor | undefined;
}

/** The selected row. */
export interface Cursor {
  /** The index of the cursor among the filtered and sorted rows. */
  readonly place: number;
  /** The name of the row at the cursor: the cursor stays with it, except on the first row. */
  readonly name: string | undefined;
}

export interface TableLines<Row> {
  /** The first line is the heading. */
  readonly lines: readonly Line[];
  readonly matching: number;
  /** The offset, limited to the rows that exist. */
  readonly offset: number;
  /** The index of the cursor, and the row there; undefined if there is no row. */
  readonly selected: number;
  readonly row: Row | undefined;
}

const GAP = 2;
/** To make room for a column, the name is cut to this width, or to a quarter of the window if that is more. */
const NAME_WIDTH_MIN = 16;
const NAME_SHARE = 0.25;
/** Other texts, such as a reason, are cut to the first width; to make room for a column, to the second. */
const TEXT_WIDTH_MAX = 40;
const TEXT_WIDTH_MIN = 24;
/** The mark of the selected row, and of the others. */
const MARKS = ['▸ ', '  '] as const;
const UP = '▲';
const DOWN = '▼';

export function tableLines<Row>(options: TableOptions<Row>): TableLines<Row> {
  const { columns, order, height, cursor } = options;
  const sorted = orderedRows(columns, matchingRows(columns, options.rows, options.filter), order);
  const selected = placeOf(sorted, columns, cursor);
  const first = Math.min(options.offset, sorted.length - height);
  // The cursor is always among the visible rows.
  const offset = cursor === undefined ? Math.max(0, first) : aroundCursor(first, selected, height);
  const rows = sorted.slice(offset, offset + height);
  const width = Math.max(0, options.width - (cursor === undefined ? 0 : widthOf(MARKS[0])));
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
  const fitted = shownWidths(columns, widths, shown, width);
  const lineOf = (line: readonly Part[], place: number): Line => {
    const isSelected = place === selected - offset + 1;
    const mark = cursor === undefined ? [] : [part(MARKS[isSelected ? 0 : 1], 'title')];
    const [name = part(''), ...others] = joined(line, shown, columns, fitted);
    const marked = cursor !== undefined && isSelected ? { ...name, tone: 'title' as const } : name;
    return cutLine([...mark, marked, ...others], options.width);
  };
  const lines = [headings, ...cells].map(lineOf);
  return { lines, matching: sorted.length, offset, selected, row: sorted[selected] };
}

/** The index of the cursor: follows its row, or stays in place if the row is gone. */
function placeOf<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  cursor: Cursor | undefined,
): number {
  const { place = 0, name } = cursor ?? {};
  const [named] = columns;
  const moved =
    place > 0 && name !== undefined && named !== undefined
      ? rows.findIndex((row) => named.text(row) === name)
      : -1;
  return Math.max(0, Math.min(moved < 0 ? place : moved, rows.length - 1));
}

function aroundCursor(first: number, selected: number, height: number): number {
  return Math.max(0, Math.min(Math.max(first, selected - height + 1), selected));
}

/** Makes each column as wide as its widest cell; in a window, texts have a limit. */
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

/** The indexes of the columns that fit: the name, the sorted one, and the first others. */
function chosenPlaces<Row>(
  columns: readonly Column<Row>[],
  widths: readonly number[],
  sortedBy: number,
  width: number,
): readonly number[] {
  const needed = (place: number): number => {
    if (place === 0) return nameWidthMin(widths, width);
    return GAP + columnWidthMin(columns, widths, place, width);
  };
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

/** The least width of a column: numbers are never cut. */
function columnWidthMin<Row>(
  columns: readonly Column<Row>[],
  widths: readonly number[],
  place: number,
  width: number,
): number {
  const wide = widths[place] ?? 0;
  const isText = columns[place]?.isName === true && width !== Number.POSITIVE_INFINITY;
  return isText ? Math.min(wide, TEXT_WIDTH_MIN) : wide;
}

function nameWidthMin(widths: readonly number[], width: number): number {
  return Math.min(widths[0] ?? 0, Math.max(NAME_WIDTH_MIN, Math.floor(NAME_SHARE * width)));
}

/** Distributes the width: first to the name, then to the other texts. */
function shownWidths<Row>(
  columns: readonly Column<Row>[],
  widths: readonly number[],
  shown: readonly number[],
  width: number,
): readonly number[] {
  const fitted = widths.map((_, place) => columnWidthMin(columns, widths, place, width));
  const others = shown.slice(1).reduce((sum, place) => sum + GAP + (fitted[place] ?? 0), 0);
  fitted[0] = Math.max(Math.min(widths[0] ?? 0, width - others), nameWidthMin(widths, width));
  let left = width - others - fitted[0];
  for (const place of shown.slice(1)) {
    const more = Math.max(0, Math.min(left, (widths[place] ?? 0) - (fitted[place] ?? 0)));
    fitted[place] = (fitted[place] ?? 0) + more;
    left -= more;
  }
  return fitted;
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
