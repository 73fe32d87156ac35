/** The page of one row: each column of its table as one fact per line, uncut. Pure. */
import { type Column, EXPORTS, QUEUES, SERVICES, TASK_RATES, TASK_TOTALS, WORKERS } from '../view/columns.ts';
import { exportRows, type Snapshot, taskRows } from '../view/snapshot.ts';
import { fit, folded, widthOf } from './cells.ts';
import type { Target } from './keys.ts';
import { type Line, part } from './line.ts';

const MARGIN = '  ';
/** The least width of a text beside its label; in a narrower window, lines are cut. */
const TEXT_WIDTH_MIN = 8;

/** The columns of rates that the totals do not have. */
const RATES = TASK_RATES.filter(({ label }) => !TASK_TOTALS.some((other) => other.label === label));

/** A heading, and the facts of the row if a row of this name still exists. @param service index of the service */
export function rowPage(
  snapshot: Snapshot,
  service: number,
  target: Target,
  width: number,
): readonly [heading: Line, ...facts: Line[]] {
  const facts = factsOf(snapshot, service, target);
  const labelWidth = Math.max(0, ...facts.map(({ label }) => widthOf(label)));
  const textWidth = Math.max(TEXT_WIDTH_MIN, width - labelWidth - 2 * MARGIN.length);
  const lines = facts.flatMap(({ label, texts, tone }) =>
    texts
      .flatMap((text) => folded(text, textWidth))
      .map((line, place) => [
        part(`${MARGIN}${fit(place === 0 ? label : '', labelWidth)}${MARGIN}`, 'quiet'),
        part(line, tone),
      ]),
  );
  const gone = [part(`${MARGIN}it is not there any more`, 'quiet')];
  return [
    [part(` ${target.table} `, 'chosen'), part(` ${target.name}`, 'title')],
    ...(lines.length === 0 ? [gone] : lines),
  ];
}

type RowFact = Pick<Column<unknown>, 'label'> & {
  /** More than one if the text of the column has several parts. */
  readonly texts: readonly string[];
  readonly tone: ReturnType<Column<unknown>['tone']>;
};

function factsOf(
  { status, details }: Snapshot,
  service: number,
  { table, name }: Target,
): readonly RowFact[] {
  const shown = details.get(service);
  const of = <Row>(rows: readonly Row[], columns: readonly Column<Row>[], [named] = columns): RowFact[] => {
    const row = rows.find((each) => named?.text(each) === name);
    return row === undefined ? [] : columns.map((column) => factOf(column, row));
  };
  switch (table) {
    case 'Tasks':
      return [
        ...of(taskRows(shown, true).rows, TASK_TOTALS),
        ...of(taskRows(shown, false).rows, RATES, TASK_RATES),
      ];
    case 'Workers':
      return of(shown?.workers.rows ?? [], WORKERS);
    case 'Queues':
      return of(shown?.queues.rows ?? [], QUEUES);
    case 'Exports':
      return of(status === undefined ? [] : exportRows(status), EXPORTS);
    case 'Services':
      return of(status?.services ?? [], SERVICES);
  }
}

function factOf<Row>({ label, text, tone, parts }: Column<Row>, row: Row): RowFact {
  const several = parts?.(row) ?? [];
  return { label, texts: several.length === 0 ? [text(row)] : several, tone: tone(row) };
}
