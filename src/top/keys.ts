/** The table of keys, and how each changes the view. Help and documents derive from it. Pure. */
import { type Column, EXPORTS, QUEUES, TASK_RATES, TASK_TOTALS, WORKERS } from '../view/columns.ts';
import { type Order, orderBy } from '../view/order.ts';

export const TABLES = ['Tasks', 'Workers', 'Queues', 'Exports'] as const;
export type TableName = (typeof TABLES)[number];

/** What the user has chosen to see. */
export interface Choice {
  readonly table: TableName;
  readonly orders: Readonly<Record<TableName, Order>>;
  /** Whether tasks have their counts since the start, or rates. */
  readonly isTotals: boolean;
  readonly filter: string;
  /** Whether the filter is being written. */
  readonly isWriting: boolean;
  readonly offset: number;
  /** The place of the service whose tables are shown. */
  readonly service: number;
  readonly isHelp: boolean;
}

/** What is there to choose from. */
export interface Room {
  /** Rows that a page has. */
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
    offset: 0,
    service: 0,
    isHelp: false,
    orders: { Tasks: byCount, Workers: byName, Queues: byCount, Exports: byName },
  };
}

interface KeyRow {
  /** As Node’s readline names them, with `S-` for a shift. */
  readonly keys: readonly string[];
  /** As people read them. */
  readonly label: string;
  readonly doc: string;
  readonly act: (choice: Choice, room: Room) => Choice | 'end';
}

export const KEYS: readonly KeyRow[] = [
  { keys: ['q', 'C-c', 'C-d'], label: 'q, Ctrl-C', doc: 'end', act: () => 'end' },
  { keys: ['tab'], label: 'Tab', doc: 'the next table', act: (choice) => turned(choice, 1) },
  { keys: ['S-tab'], label: 'Shift-Tab', doc: 'the table before', act: (choice) => turned(choice, -1) },
  ...TABLES.map(
    (table, place): KeyRow => ({
      keys: [String(place + 1)],
      label: String(place + 1),
      doc: table.toLowerCase(),
      act: (choice) => shown(choice, table),
    }),
  ),
  { keys: ['s', 'right'], label: 's, →', doc: 'sort by the next column', act: (choice) => sorted(choice, 1) },
  { keys: ['left'], label: '←', doc: 'sort by the column before', act: (choice) => sorted(choice, -1) },
  { keys: ['S-s', 'r'], label: 'S, r', doc: 'sort the other way round', act: reversed },
  {
    keys: ['/'],
    label: '/',
    doc: 'filter by a part of a name; Enter keeps the filter, Esc clears it',
    act: (choice) => ({ ...choice, isWriting: true }),
  },
  { keys: ['escape'], label: 'Esc', doc: 'clear the filter', act: (choice) => filtered(choice, '', false) },
  { keys: ['up', 'k'], label: '↑', doc: 'a row up', act: (choice) => scrolled(choice, -1) },
  { keys: ['down', 'j'], label: '↓', doc: 'a row down', act: (choice) => scrolled(choice, 1) },
  {
    keys: ['pageup'],
    label: 'PgUp',
    doc: 'a page up',
    act: (choice, { page }) => scrolled(choice, -page),
  },
  {
    keys: ['pagedown', 'space'],
    label: 'PgDn, Space',
    doc: 'a page down',
    act: (choice, { page }) => scrolled(choice, page),
  },
  { keys: ['home', 'g'], label: 'Home', doc: 'the first row', act: (choice) => ({ ...choice, offset: 0 }) },
  {
    keys: ['end', 'S-g'],
    label: 'End',
    doc: 'the last row',
    act: (choice) => ({ ...choice, offset: Number.MAX_SAFE_INTEGER }),
  },
  {
    keys: ['t'],
    label: 't',
    doc: 'tasks: counts since the start, or rates of the last minutes',
    act: (choice) => ({ ...choice, isTotals: !choice.isTotals }),
  },
  { keys: ['n'], label: 'n', doc: 'the next service', act: (choice, room) => served(choice, room, 1) },
  { keys: ['p'], label: 'p', doc: 'the service before', act: (choice, room) => served(choice, room, -1) },
  {
    keys: ['?', 'h'],
    label: '?',
    doc: 'these keys, or the tables again',
    act: (choice) => ({ ...choice, isHelp: !choice.isHelp, offset: 0 }),
  },
];

const BY_KEY = new Map(KEYS.flatMap((row) => row.keys.map((key) => [key, row] as const)));
const ENDING: readonly string[] = ['C-c', 'C-d'];
const FILTER_CHARS_MAX = 200;

export interface Pressed {
  /** Its name, as in the table; '' if it has none. */
  readonly key: string;
  /** What it writes; '' if nothing. */
  readonly text: string;
}

export function pressed(choice: Choice, { key, text }: Pressed, room: Room): Choice | 'end' {
  if (choice.isWriting && !ENDING.includes(key)) return written(choice, key, text);
  return BY_KEY.get(key)?.act(choice, room) ?? choice;
}

function written(choice: Choice, key: string, text: string): Choice {
  if (key === 'escape') return filtered(choice, '', false);
  if (key === 'return' || key === 'enter') return filtered(choice, choice.filter, false);
  if (key === 'backspace') return filtered(choice, Array.from(choice.filter).slice(0, -1).join(''), true);
  if (/\p{Cc}/u.test(text)) return choice;
  return filtered(choice, (choice.filter + text).slice(0, FILTER_CHARS_MAX), true);
}

function filtered(choice: Choice, filter: string, isWriting: boolean): Choice {
  return { ...choice, filter, isWriting, offset: 0 };
}

function shown(choice: Choice, table: TableName): Choice {
  return { ...choice, table, offset: 0, isHelp: false };
}

function turned(choice: Choice, by: number): Choice {
  const place = (TABLES.indexOf(choice.table) + by + TABLES.length) % TABLES.length;
  return shown(choice, TABLES[place] ?? 'Tasks');
}

function scrolled(choice: Choice, by: number): Choice {
  return { ...choice, offset: Math.max(0, choice.offset + by) };
}

function served(choice: Choice, { services }: Room, by: number): Choice {
  if (services === 0) return choice;
  return { ...choice, service: (choice.service + by + services) % services, offset: 0 };
}

/** By the columns of each table, whether they are names. */
function columnsOf({ table, isTotals }: Choice): readonly Pick<Column<unknown>, 'isName'>[] {
  const tasks = isTotals ? TASK_TOTALS : TASK_RATES;
  return { Tasks: tasks, Workers: WORKERS, Queues: QUEUES, Exports: EXPORTS }[table];
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
  return { ...choice, offset: 0, orders: { ...choice.orders, [choice.table]: order } };
}
