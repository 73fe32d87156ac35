/** Filters and sorts the rows of any table. Pure; it does not know what the rows are about. */
import type { Column } from './columns.ts';

export interface Order {
  /** The index of the column. */
  readonly column: number;
  readonly isDescending: boolean;
}

/** Text columns ascend, numbers descend: the largest ones matter most. */
export function orderBy(columns: readonly Pick<Column<unknown>, 'isName'>[], column: number): Order {
  return { column, isDescending: columns[column]?.isName !== true };
}

/** @param filter a part of any text column, in any case; empty for all rows */
export function matchingRows<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  filter: string,
): readonly Row[] {
  const wanted = filter.trim().toLowerCase();
  if (wanted === '') return rows;
  return rows.filter((row) =>
    columns.some(({ isName, text }) => isName && text(row).toLowerCase().includes(wanted)),
  );
}

/** Sorts the rows; those without a value come last, and equal rows are ordered by their first column. */
export function orderedRows<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { column, isDescending }: Order,
): readonly Row[] {
  const [name, by] = [columns[0], columns[column]];
  if (name === undefined || by === undefined) return rows;
  const sign = isDescending ? -1 : 1;
  const keyed = rows.map((row) => ({ row, key: by.value(row), name: name.value(row) }));
  keyed.sort((one, other) => {
    if (one.key === null || other.key === null)
      return Number(one.key === null) - Number(other.key === null) || compare(one.name, other.name);
    return sign * compare(one.key, other.key) || compare(one.name, other.name);
  });
  return keyed.map(({ row }) => row);
}

function compare(one: number | string | null, other: number | string | null): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  const [a, b] = [String(one), String(other)];
  return a < b ? -1 : a > b ? 1 : 0;
}
