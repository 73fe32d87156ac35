/** The table of keys of `top`, and how each changes what is shown. Help and documents are derived from it. Pure. */
import { type Column, EXPORTS, QUEUES, SERVICES, TASK_RATES, TASK_TOTALS, WORKERS } from '../view/columns.ts';
import { type Order, orderBy } from '../view/order.ts';

export const TABLES = ['Tasks', 'Workers', 'Queues', 'Exports', 'Services'] as const;
export type TableName = (typeof TABLES)[number];

/** Identifies a row of a table, wherever sorting moves it. */
export interface Target {
  readonly table: TableName;
  /** The text in the first column of the row. */
  readonly name: string;
  /** The index of its service. */
  readonly service: number;
}

/** What the user has chosen to see. */
export interface Choice {
  readonly table: TableName;
  readonly orders: Readonly<Record<TableName, Order>>;
  /** Whether tasks are shown with counts since the start instead of rates. */
  readonly isTotals: boolean;
  readonly filter: string;
  /** Whether the user is typing the filter. */
  readonly isWriting: boolean;
  /** How many rows of a table, or lines of a page, are scrolled past. */
  readonly offset: number;
  /** The index of the cursor among the filtered and sorted rows. */
  readonly selected: number;
  /** The row at the cursor when it was last drawn: the cursor stays with it, except on the first row. */
  readonly target: Target | undefined;
  /** The row whose page is open; undefined while a table is shown. */
  readonly open: Target | undefined;
  /** The index of the service whose tables are shown. */
  readonly service: number;
  readonly isHelp: boolean;
}

/** The limits of moving around: rows in a window, and services. */
export interface Limits {
  /** How many rows fit into the window. */
  readonly page: number;
  readonly services: number;
}

export function firstChoice(isTotals: boolean): Choice {
  const byCount = { column: 1, isDescending: true };
  const byName = { column: 0, isDescending: false };
  return {
    table: 'Tasks',
    isTotals,
    filter: '',
    isWriting: false,
    ...{ offset: 0, selected: 0, target: undefined, open: undefined },
    service: 0,
    isHelp: false,
    // Services are sorted by verdict, worst first.
    orders: {
      ...{ Tasks: byCount, Workers: byName, Queues: byCount, Exports: byName },
      Services: { column: 1, isDescending: false },
    },
  };
}

interface KeyRow {
  /** The names of the keys in Node’s readline, with `S-` for Shift and `C-` for Ctrl. */
  readonly keys: readonly string[];
  /** The name of the key for people. */
  readonly label: string;
  readonly doc: string;
  /** A word for the last line of the window; keys without it are only in the help. */
  readonly hint?: string;
  readonly act: (choice: Choice, limits: Limits) => Choice | 'end';
}

export const KEYS: readonly KeyRow[] = [
  { keys: ['q', 'C-c', 'C-d'], label: 'q, Ctrl-C', doc: 'end', hint: 'end', act: () => 'end' },
  {
    keys: ['tab'],
    label: 'Tab',
    doc: 'the next table',
    hint: 'tables',
    act: (choice) => otherTable(choice, 1),
  },
  { keys: ['S-tab'], label: 'Shift-Tab', doc: 'the table before', act: (choice) => otherTable(choice, -1) },
  ...TABLES.map(
    (table, place): KeyRow => ({
      keys: [String(place + 1)],
      label: String(place + 1),
      doc: table.toLowerCase(),
      act: (choice) => shown(choice, table),
    }),
  ),
  {
    keys: ['return', 'enter'],
    label: 'Enter',
    doc: 'open the selected row: a page with all facts, or the tables of a service',
    hint: 'open',
    act: opened,
  },
  {
    keys: ['escape'],
    label: 'Esc',
    doc: 'back to the table, then to all rows, then to the services',
    hint: 'back',
    act: back,
  },
  {
    keys: ['/'],
    label: '/',
    doc: 'find rows by a part of a name; Enter keeps them, Esc shows all again',
    hint: 'find',
    act: (choice) => ({ ...choice, open: undefined, isHelp: false, isWriting: true }),
  },
  {
    keys: ['s', 'right'],
    label: 's, →',
    doc: 'sort by the next column',
    hint: 'sort',
    act: (choice) => sorted(choice, 1),
  },
  { keys: ['left'], label: '←', doc: 'sort by the column before', act: (choice) => sorted(choice, -1) },
  { keys: ['S-s', 'r'], label: 'S, r', doc: 'sort the other way round', act: reversed },
  { keys: ['up', 'k'], label: '↑', doc: 'a row up', act: (choice) => moved(choice, -1) },
  { keys: ['down', 'j'], label: '↓', doc: 'a row down', act: (choice) => moved(choice, 1) },
  {
    keys: ['pageup'],
    label: 'PgUp',
    doc: 'a page up',
    act: (choice, { page }) => moved(choice, -page, -page),
  },
  {
    keys: ['pagedown', 'space'],
    label: 'PgDn, Space',
    doc: 'a page down',
    act: (choice, { page }) => moved(choice, page, page),
  },
  {
    keys: ['home', 'g'],
    label: 'Home',
    doc: 'the first row',
    act: (choice) => moved(choice, Number.NEGATIVE_INFINITY),
  },
  {
    keys: ['end', 'S-g'],
    label: 'End',
    doc: 'the last row',
    act: (choice) => moved(choice, Number.MAX_SAFE_INTEGER),
  },
  {
    keys: ['t'],
    label: 't',
    doc: 'tasks: counts since the start, or rates of the last minutes',
    act: (choice) => ({ ...choice, isTotals: !choice.isTotals }),
  },
  {
    keys: ['n'],
    label: 'n',
    doc: 'the next service',
    act: (choice, limits) => otherService(choice, limits, 1),
  },
  {
    keys: ['p'],
    label: 'p',
    doc: 'the service before',
    act: (choice, limits) => otherService(choice, limits, -1),
  },
  {
    keys: ['?', 'h'],
    label: '?',
    doc: 'these keys, or the tables again',
    hint: 'keys',
    act: (choice) => ({ ...choice, isHelp: !choice.isHelp, offset: 0 }),
  },
];

const BY_KEY = new Map(KEYS.flatMap((row) => row.keys.map((key) => [key, row] as const)));
const ENDING: readonly string[] = ['C-c', 'C-d'];
const FILTER_CHARS_MAX = 200;

export interface Pressed {
  /** The name of the key, as in the table; '' if it has none. */
  readonly key: string;
  /** The text that the key types; '' if none. */
  readonly text: string;
}

export function pressed(choice: Choice, { key, text }: Pressed, limits: Limits): Choice | 'end' {
  if (choice.isWriting && !ENDING.includes(key)) return typed(choice, key, text);
  return BY_KEY.get(key)?.act(choice, limits) ?? choice;
}

function typed(choice: Choice, key: string, text: string): Choice {
  if (key === 'escape') return filtered(choice, '', false);
  if (key === 'return' || key === 'enter') return filtered(choice, choice.filter, false);
  if (key === 'backspace') return filtered(choice, Array.from(choice.filter).slice(0, -1).join(''), true);
  if (/\p{Cc}/u.test(text)) return choice;
  return filtered(choice, (choice.filter + text).slice(0, FILTER_CHARS_MAX), true);
}

function filtered(choice: Choice, filter: string, isWriting: boolean): Choice {
  return { ...atTop(choice), filter, isWriting };
}

/** Selects the first row, and closes the open page. */
function atTop(choice: Choice): Choice {
  return { ...choice, offset: 0, selected: 0, target: undefined, open: undefined };
}

function shown(choice: Choice, table: TableName): Choice {
  return { ...atTop(choice), table, isHelp: false };
}

/** Opens the selected row; does nothing if that row has gone since it was drawn. */
function opened(choice: Choice): Choice {
  const { target, isHelp, open } = choice;
  if (target === undefined || isHelp || open !== undefined) return choice;
  if (target.table !== 'Services') return { ...choice, open: target, offset: 0 };
  return { ...shown(choice, 'Tasks'), service: target.service, filter: '' };
}

function back(choice: Choice, { services }: Limits): Choice {
  const { isHelp, open, filter, table } = choice;
  if (isHelp) return { ...choice, isHelp: false, offset: 0 };
  // The cursor stays on the row whose page was open.
  if (open !== undefined) return { ...choice, open: undefined, offset: 0 };
  if (filter !== '') return filtered(choice, '', false);
  return services > 1 && table !== 'Services' ? shown(choice, 'Services') : choice;
}

function otherTable(choice: Choice, by: number): Choice {
  const place = (TABLES.indexOf(choice.table) + by + TABLES.length) % TABLES.length;
  return shown(choice, TABLES[place] ?? 'Tasks');
}

/** Moves the cursor; on a page or in the help, scrolls. @param linesBy scrolls a table by this many rows, too */
function moved(choice: Choice, by: number, linesBy = 0): Choice {
  const { isHelp, open, offset, selected } = choice;
  if (isHelp || open !== undefined) return { ...choice, offset: Math.max(0, offset + by) };
  const shifted = { offset: Math.max(0, offset + linesBy), selected: Math.max(0, selected + by) };
  return { ...choice, ...shifted, target: undefined };
}

function otherService(choice: Choice, { services }: Limits, by: number): Choice {
  if (services === 0) return choice;
  return { ...atTop(choice), service: (choice.service + by + services) % services };
}

/** The columns of the current table. */
function columnsOf({ table, isTotals }: Choice): readonly Pick<Column<unknown>, 'isName'>[] {
  const tasks = isTotals ? TASK_TOTALS : TASK_RATES;
  return { Tasks: tasks, Workers: WORKERS, Queues: QUEUES, Exports: EXPORTS, Services: SERVICES }[table];
}

function sorted(choice: Choice, by: number): Choice {
  const columns = columnsOf(choice);
  const column = (choice.orders[choice.table].column + by + columns.length) % columns.length;
  return orderedBy(choice, orderBy(columns, column));
}

function reversed(choice: Choice): Choice {
  const { column, isDescending } = choice.orders[choice.table];
  return orderedBy(choice, { column, isDescending: !isDescending });
}

function orderedBy(choice: Choice, order: Order): Choice {
  return { ...atTop(choice), orders: { ...choice.orders, [choice.table]: order } };
}
