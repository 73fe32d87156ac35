/**
 * A snapshot as the lines of a window of any size, or as a report. Pure: the same is shown for the same documents,
 * window and choice.
 */

import type { Listed } from '../health/service-document.ts';
import { type Column, EXPORTS, QUEUES, TASK_RATES, TASK_TOTALS, WORKERS } from '../view/columns.ts';
import { number } from '../view/numbers.ts';
import type { Order } from '../view/order.ts';
import { exportRows, type Snapshot, type StatusSnapshot, taskRows } from '../view/snapshot.ts';
import { fit, widthOf } from './cells.ts';
import { type Choice, firstChoice, KEYS, TABLES, type TableName } from './keys.ts';
import { cutLine, type Line, part } from './line.ts';
import { problemLines, serviceLines, shortServiceLine, verdictLines } from './overview.ts';
import { type TableLines, type TableOptions, tableLines } from './table.ts';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface View {
  /** As many as the window has rows, none of them wider. */
  readonly lines: readonly Line[];
  /** Rows of the table. */
  readonly page: number;
  /** As far as there is something to leave out. */
  readonly offset: number;
}

/** The tables need the rest. */
const VERDICT_LINES_MAX = 3;
const SERVICES_MAX = 5;
/** A heading, and some rows. */
const TABLE_LINES_MIN = 4;
const HINT = 'q end   Tab tables   s sort   / filter   ? keys';

export function windowView(snapshot: Snapshot, choice: Choice, { columns, rows }: Size): View {
  const top = headLines(snapshot, choice, columns, rows);
  const height = Math.max(0, rows - top.length - 1);
  const body = choice.isHelp ? helpView(choice.offset, height) : tableView(snapshot, choice, columns, height);
  const filling = Array.from({ length: Math.max(0, height - body.lines.length) }, (): Line => []);
  const foot: Line = choice.isWriting
    ? [part(`/${choice.filter}`), part(' ', 'chosen')]
    : [part(HINT, 'quiet')];
  const shown = [...top, ...body.lines.slice(0, height), ...filling, foot].slice(0, rows);
  return { ...body, lines: shown.map((line) => cutLine(line, columns)) };
}

/** The verdict always; the rest as far as the tables keep their room. */
function headLines(snapshot: Snapshot, choice: Choice, columns: number, rows: number): readonly Line[] {
  const { status } = snapshot;
  const room = rows - TABLE_LINES_MIN - 2;
  const verdict = verdictLines(snapshot, columns, Math.max(1, Math.min(VERDICT_LINES_MAX, room)));
  if (status === undefined) return verdict;
  const services = servicesShown(snapshot, status, choice, columns);
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
  const { table, filter, offset } = choice;
  const window = { filter, offset, width, height: page, order: choice.orders[table] };
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
  return { lines: [[...tabs, part(` ${counts}`, 'quiet')], ...lines], page, offset: rest.offset };
}

type Window = Pick<TableOptions<unknown>, 'filter' | 'offset' | 'width' | 'height'> & {
  readonly order: Order;
};

function tableOf(
  { status, details }: Snapshot,
  { service, isTotals }: Pick<Choice, 'service' | 'isTotals'>,
  table: TableName,
  window: Window,
): TableLines & { readonly total: number } {
  const shown = details.get(service);
  const of = <Row>(columns: readonly Column<Row>[], { total, rows }: Listed<Row>) => ({
    ...tableLines({ ...window, columns, rows }),
    total,
  });
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
  }
}

const NO_ROWS = { total: 0, rows: [] } as const;

function helpView(offset: number, height: number): View {
  const width = Math.max(...KEYS.map(({ label }) => widthOf(label)));
  const lines = KEYS.map(({ label, doc }) => [part(`  ${fit(label, width)}`, 'title'), part(`  ${doc}`)]);
  const first = Math.max(0, Math.min(offset, lines.length - height));
  return { lines: lines.slice(first, first + height), page: height, offset: first };
}

/** All rows, for a reader without a window: each service with its tables that have some. */
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
