/** The columns of runs: of finished ones, and of open ones. Pure. */
import type { OpenRow, RunRow } from '../health/details.ts';
import { type Column, named, numeric, type Tone } from './columns.ts';
import { duration, moment, NONE } from './numbers.ts';

interface Shown {
  readonly service: string;
  /** The time at which the row is shown. */
  readonly now: Date;
}

export type ShownRun = RunRow & Shown;
export type ShownOpen = OpenRow & Shown;

const TONES: Readonly<Record<string, Tone>> = { failed: 'bad', lost: 'warn', rejected: 'warn' };

export function outcomeTone(outcome: string): Tone {
  return Object.hasOwn(TONES, outcome) ? (TONES[outcome] ?? 'plain') : 'plain';
}

export function outcomeText({ outcome, error_type }: Pick<RunRow, 'outcome' | 'error_type'>): string {
  return error_type === '' ? outcome : `${outcome}: ${error_type}`;
}

type Named = Shown & Pick<RunRow, 'task' | 'queue' | 'worker'>;

/** A name in a run, with a link to the page of its row. */
function linked<Row extends Named>(label: string, page: 'task' | 'queue' | 'worker'): Column<Row> {
  return {
    ...named<Row>(label, (row) => row[page] || NONE),
    place: ({ service, [page]: name }) => (name === '' ? undefined : { page, service, name }),
  };
}

function timed<Row extends Shown>(label: string, time: (row: Row) => string | null): Column<Row> {
  const instantOf = (row: Row): number | null => {
    const iso = time(row);
    return iso === null ? null : Date.parse(iso);
  };
  return {
    ...numeric<Row>(label, instantOf),
    text: (row) => {
      const iso = time(row);
      return iso === null ? NONE : moment(iso, row.now);
    },
  };
}

function identified<Row extends Pick<RunRow, 'id'>>(): Column<Row> {
  return { ...named<Row>('Id', ({ id }) => id), place: ({ id }) => ({ page: 'run', id }) };
}

/** The columns of finished runs. */
export const RUNS: readonly Column<ShownRun>[] = [
  identified(),
  named('Outcome', outcomeText, ({ outcome }) => outcomeTone(outcome)),
  numeric('Ran', ({ runtime_s }) => runtime_s, duration),
  timed('Ended', ({ ended }) => ended),
  linked('Task', 'task'),
  numeric('Waited', ({ wait_s }) => wait_s, duration),
  linked('Worker', 'worker'),
  numeric('Retries', ({ retries }) => retries),
  linked('Queue', 'queue'),
];

/** The state of an open run, in words. */
export const STAGES: Readonly<Record<OpenRow['stage'], string>> = {
  sent: 'waits in its queue',
  scheduled: 'waits for its time',
  waiting: 'waits in its worker',
  running: 'runs',
  doubtful: 'may have ended unseen',
};

/** The columns of open runs, which have not finished as far as known. */
export const OPEN_RUNS: readonly Column<ShownOpen>[] = [
  identified(),
  linked('Task', 'task'),
  named(
    'State',
    ({ stage }) => STAGES[stage],
    ({ stage }) => (stage === 'doubtful' ? 'warn' : 'plain'),
  ),
  numeric('For', ({ age_s }) => age_s, duration),
  timed('Since', ({ since }) => since),
  linked('Worker', 'worker'),
  linked('Queue', 'queue'),
  numeric('Retries', ({ retries }) => retries),
];
