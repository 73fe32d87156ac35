/** The format of `NAME=SECONDS` lists: how long each task may be without a success. It does not check any task. */
import { type Format, format, itemsOf, line } from './formats.ts';

/** A task that is expected to succeed regularly. */
export interface TaskPeriod {
  readonly task: string;
  /** The task is stale after this many seconds without a success. */
  readonly staleAfterS: number;
  /** The text of the item, for example `shop.report=90000`. */
  readonly label: string;
}

const NAME = line(255);
const YEAR_S = 366 * 86_400;

export const taskPeriods: Format<readonly TaskPeriod[]> = format(
  `names of tasks, each with seconds above 0 and at most ${YEAR_S}, as in shop.report=90000,shop.sync=600; each name once`,
  (text) => {
    const periods = itemsOf(text)
      .filter((item) => item !== '')
      .map(periodOf);
    const known = periods.filter((period) => period !== undefined);
    const isEach = known.length === periods.length && periods.length > 0;
    const areDistinct = new Set(known.map(({ task }) => task)).size === known.length;
    return isEach && areDistinct ? { ok: true, value: known } : undefined;
  },
  { list: { separator: ',', items: NAME.schema } },
);

function periodOf(item: string): TaskPeriod | undefined {
  const at = item.lastIndexOf('=');
  const [task, digits] = [item.slice(0, at).trim(), item.slice(at + 1).trim()];
  const staleAfterS = /^\d{1,9}(?:\.\d{1,3})?$/u.test(digits) ? Number(digits) : 0;
  const isPeriod = at > 0 && NAME.read(task).ok && staleAfterS > 0 && staleAfterS <= YEAR_S;
  return isPeriod ? { task, staleAfterS, label: `${task}=${digits}` } : undefined;
}
