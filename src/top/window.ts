/**
 * Turns a snapshot into the lines of a window of any size, or into a report. Pure: the same documents, window and
 * choice give the same lines.
 */

import type { Listed } from '../health/service-document.ts';
import { type Column, EXPORTS, QUEUES, SERVICES, TASK_RATES, TASK_TOTALS, WORKERS } from '../view/columns.ts';
import { number } from '../view/numbers.ts';
import type { Order } from '../view/order.ts';
import { exportRows, type Snapshot, type StatusSnapshot, taskRows } from '../view/snapshot.ts';
import { fit, widthOf } from './cells.ts';
import { type Choice, firstChoice, KEYS, TABLES, type TableName, type Target } from './keys.ts';
import { cutLine, type Line, part } from './line.ts';
import { problemLines, serviceLines, shortServiceLine, verdictLines } from './overview.ts';
import { rowPage } from './row-page.ts';
import { type TableLines, type TableOptions, tableLines } from './table.ts';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface View {
  /** As many lines as the window has rows, none of them wider than the window. */
  readonly lines: readonly Line[];
  /** How many rows of the table fit. */
  readonly page: number;
  /** The offset, limited to the lines that exist. */
  readonly offset: number;
  /** The index of the cursor, and the row there; undefined if there is none. */
  readonly selected: number;
  readonly target: Target | undefined;
}

/** The verdict has at most this many lines, so that tables have room. */
const VERDICT_LINES_MAX = 3;
/** How many services are listed above the tables. */
const SERVICES_MAX = 5;
/** A heading, and some rows of a table. */
const TABLE_LINES_MIN = 4;
const HINT = KEYS.flatMap(({ label, hint }) =>
  hint === undefined ? [] : [`${label.split(', ', 1).join()} ${hint}`],
).join('   ');

export function windowView(snapshot: Snapshot, choice: Choice, { columns, rows }: Size): View {
  const top = headLines(snapshot, choice, columns, rows);
  const height = Math.max(0, rows - top.length - 1);
  const body = bodyView(snapshot, choice, columns, height);
  const filling = Array.from({ length: Math.max(0, height - body.lines.length) }, (): Line => []);
  const foot: Line = choice.isWriting
    ? [part(`/${choice.filter}`), part(' ', 'chosen')]
    : [part(HINT, 'quiet')];
  const shown = [...top, ...body.lines.slice(0, height), ...filling, foot].slice(0, rows);
  return { ...body, lines: shown.map((line) => cutLine(line, columns)) };
}

function bodyView(snapshot: Snapshot, choice: Choice, width: number, height: number): View {
  const { isHelp, open } = choice;
  if (isHelp) return scrolledView(helpLines(), choice, height);
  if (open === undefined) return tableView(snapshot, choice, width, height);
  const [heading, ...facts] = rowPage(snapshot, choice.service, open, width);
  const view = scrolledView(facts, choice, Math.max(0, height - 1));
  return { ...view, lines: [heading, ...view.lines] };
}

/** The lines above the tables: always the verdict; problems and facts as far as tables keep their room. */
function headLines(snapshot: Snapshot, choice: Choice, columns: number, rows: number): readonly Line[] {
  const { status } = snapshot;
  const room = rows - TABLE_LINES_MIN - 2;
  const verdict = verdictLines(snapshot, columns, Math.max(1, Math.min(VERDICT_LINES_MAX, room)));
  if (status === undefined) return verdict;
  const services = choice.table === 'Services' ? [] : servicesShown(snapshot, status, choice, columns);
  const facts = services.slice(0, Math.max(0, room - verdict.length));
  const left = Math.floor((room - verdict.length - facts.length) / 2);
  const problems = problemLines(status, columns);
  const some = problems.slice(0, Math.max(0, left));
  return [...verdict, ...some, ...facts];
}

function servicesShown(
  snapshot: Snapshot,
  { services }: StatusSnapshot,
  choice: Choice,
  columns: number,
): readonly Line[] {
  const chosen = services[choice.service];
  if (chosen === undefined) return [];
  const details = snapshot.details.get(choice.service);
  const facts = serviceLines(chosen, details, columns, false);
  if (services.length < 2) return facts;
  const first = Math.max(0, Math.min(choice.service - 2, services.length - SERVICES_MAX));
  const some = services.slice(first, first + SERVICES_MAX);
  const nameWidth = Math.min(columns - 63, Math.max(...some.map(({ name }) => widthOf(name))));
  const list = some.map((each) => shortServiceLine(each, each === chosen, Math.max(8, nameWidth)));
  return [...list, ...facts];
}

function tableView(snapshot: Snapshot, choice: Choice, width: number, height: number): View {
  const page = Math.max(0, height - 2);
  const { table, filter, offset, selected, target } = choice;
  const cursor = { place: selected, name: target?.name };
  const window = { filter, offset, width, height: page, order: choice.orders[table], cursor };
  const { lines, total, ...rest } = tableOf(snapshot, choice, table, window);
  const tabs = TABLES.flatMap((name, place) => [
    part(` ${place + 1} ${name} `, name === table ? 'chosen' : 'plain'),
    part(' '),
  ]);
  const from = rest.offset + 1;
  const to = Math.min(rest.offset + page, rest.matching);
  const noun = table.toLowerCase();
  const matched = filter === '' ? '' : ` with “${filter}”`;
  const counts =
    total === 0
      ? `no ${noun} yet`
      : rest.matching === 0
        ? `no ${noun}${matched}`
        : `${from}–${to} of ${number(filter === '' ? total : rest.matching)}${matched}`;
  const heading = [...tabs, part(` ${counts}`, 'quiet')];
  return {
    lines: [heading, ...lines],
    page,
    ...{ offset: rest.offset, selected: rest.selected, target: rest.target },
  };
}

type Window = Pick<TableOptions<unknown>, 'filter' | 'offset' | 'width' | 'height' | 'cursor'> & {
  readonly order: Order;
};

type ShownTable = Omit<TableLines<unknown>, 'row'> & {
  readonly total: number;
  readonly target: Target | undefined;
};

function tableOf(
  { status, details }: Snapshot,
  { service, isTotals }: Pick<Choice, 'service' | 'isTotals'>,
  table: TableName,
  window: Window,
): ShownTable {
  const shown = details.get(service);
  const of = <Row>(columns: readonly Column<Row>[], { total, rows }: Listed<Row>): ShownTable => {
    const { row, ...lines } = tableLines({ ...window, columns, rows });
    const name = row === undefined ? undefined : columns[0]?.text(row);
    const place = table === 'Services' && row !== undefined ? rows.indexOf(row) : service;
    return { ...lines, total, target: name === undefined ? undefined : { table, name, service: place } };
  };
  switch (table) {
    case 'Tasks':
      return of(isTotals ? TASK_TOTALS : TASK_RATES, taskRows(shown, isTotals));
    case 'Workers':
      return of(WORKERS, shown?.workers ?? NO_ROWS);
    case 'Queues':
      return of(QUEUES, shown?.queues ?? NO_ROWS);
    case 'Exports': {
      const rows = status === undefined ? [] : exportRows(status);
      return of(EXPORTS, { total: rows.length, rows });
    }
    case 'Services': {
      const rows = status?.services ?? [];
      return of(SERVICES, { total: rows.length, rows });
    }
  }
}

const NO_ROWS = { total: 0, rows: [] } as const;

function helpLines(): readonly Line[] {
  const width = Math.max(...KEYS.map(({ label }) => widthOf(label)));
  return KEYS.map(({ label, doc }) => [part(`  ${fit(label, width)}`, 'title'), part(`  ${doc}`)]);
}

/** The visible part of lines that keys scroll. */
function scrolledView(lines: readonly Line[], { offset, selected, target }: Choice, height: number): View {
  const first = Math.max(0, Math.min(offset, lines.length - height));
  return { lines: lines.slice(first, first + height), page: height, offset: first, selected, target };
}

/** Everything without a window: for each service, its facts and its tables that have rows. */
export function report(
  snapshot: Snapshot,
  isTotals: boolean,
  width: number = Number.POSITIVE_INFINITY,
): readonly Line[] {
  const { status } = snapshot;
  const verdict = verdictLines(snapshot, width, VERDICT_LINES_MAX);
  if (status === undefined) return verdict;
  const { orders } = firstChoice(isTotals);
  const tables = (service: number, names: readonly TableName[]): readonly Line[] =>
    names.flatMap((table) => {
      const window = { filter: '', offset: 0, width, height: Number.POSITIVE_INFINITY, order: orders[table] };
      const { lines, total } = tableOf(snapshot, { service, isTotals }, table, window);
      return total === 0 ? [] : [[], ...lines];
    });
  return [
    ...verdict,
    ...problemLines(status, width),
    ...status.services.flatMap((service, place) => [
      [],
      ...serviceLines(service, snapshot.details.get(place), width, false),
      ...tables(place, ['Tasks', 'Workers', 'Queues']),
    ]),
    ...tables(0, ['Exports']),
  ];
}
