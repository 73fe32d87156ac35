/**
 * The table of columns that the page and the terminal show of tasks, workers, queues, services and exports. In a narrow
 * window, the first columns stay. Pure.
 */
import type { QueueRow } from '../health/queue-rows.ts';
import type { TaskRow, WorkerRow } from '../health/service-document.ts';
import type { StatusService } from '../health/status-document.ts';
import type { Step } from '../service/activity/task-activity.ts';
import type { Place } from './address.ts';
import { ageOf, clock, duration, NONE, number, percent } from './numbers.ts';
import type { BridgedService, LimitRow, NamedExport, ServiceStatus, TimedTask } from './snapshot.ts';

/** What the colour of a text means. */
export type Tone = 'plain' | 'title' | 'quiet' | 'good' | 'warn' | 'bad' | 'chosen';

export interface Column<Row> {
  readonly label: string;
  /** The value to sort by. */
  readonly value: (row: Row) => number | string | null;
  readonly text: (row: Row) => string;
  readonly tone: (row: Row) => Tone;
  /** Whether the column is a text: it is sorted ascending, and the filter searches it. */
  readonly isName: boolean;
  /** The parts of a text that has several; absent if the text is one. */
  readonly parts?: (row: Row) => readonly string[];
  /** The grade whose sign is shown before the text. */
  readonly grade?: (row: Row) => StatusService['grade'];
  /** The page about the thing that the text names; undefined if there is none. */
  readonly place?: (row: Row) => Place | undefined;
}

/** Above this share of failures, a task is shown as a warning; as in the judge (health/judge.ts). */
const FAILURES_BAD = 0.1;

export function numeric<Row>(
  label: string,
  value: (row: Row) => number | null,
  show: (value: number | null) => string = number,
  tone: Column<Row>['tone'] = () => 'plain',
): Column<Row> {
  return { label, value, text: (row) => show(value(row)), tone, isName: false };
}

export function named<Row>(
  label: string,
  text: (row: Row) => string,
  tone: Column<Row>['tone'] = () => 'plain',
): Column<Row> {
  return { label, value: text, text, tone, isName: true };
}

/** A worker that sent `worker-offline` (“left”) is no warning; a silent one is. */
function stateOf({ up, left, deaf }: WorkerRow): readonly [word: string, tone: Tone] {
  if (deaf) return ['deaf', 'warn'];
  if (up) return ['up', 'plain'];
  return left ? ['left', 'quiet'] : ['silent', 'warn'];
}

export const WORKERS: readonly Column<WorkerRow>[] = [
  named('Worker', ({ name }) => name),
  named(
    'State',
    (row) => stateOf(row)[0],
    (row) => stateOf(row)[1],
  ),
  numeric('Running', ({ running }) => running),
  numeric('Slots', ({ slots }) => slots),
  numeric('Prefetched', ({ prefetched }) => prefetched),
  numeric('Scheduled', ({ scheduled }) => scheduled),
  numeric(
    'Last sign of life',
    ({ seen_s }) => seen_s,
    duration,
    (row) => stateOf(row)[1],
  ),
  named('Pool', ({ pool }) => pool ?? NONE),
  named('Celery', ({ celery }) => celery ?? NONE),
];

export const QUEUES: readonly Column<QueueRow>[] = [
  named('Queue', ({ name }) => name),
  numeric('Length', ({ length }) => length),
  numeric(
    'Consumers',
    ({ consumers }) => consumers,
    number,
    ({ consumers, length }) => (consumers === 0 && (length ?? 0) > 0 ? 'warn' : 'plain'),
  ),
  numeric('Oldest waiting', ({ waiting_age_s }) => waiting_age_s, ageOf),
  numeric('Oldest running', ({ running_age_s }) => running_age_s, ageOf),
  numeric('Wait p95', ({ wait_p95_s }) => wait_p95_s, duration),
  numeric('Slots', ({ slots }) => slots),
  numeric('Unacked', ({ unacked }) => unacked),
];

const OTHER_ENDS = ['rejected', 'revoked', 'cancelled'] as const;

const sum = (counts: TaskRow['total'], steps: readonly Step[]): number =>
  steps.reduce((total, step) => total + counts[step], 0);

function countColumn(
  isRate: boolean,
  label: string,
  steps: readonly Step[],
  tone?: Column<TimedTask>['tone'],
) {
  return numeric<TimedTask>(
    isRate ? `${label}/min` : label,
    ({ recent, total, perMinute }) =>
      perMinute === undefined ? sum(total, steps) : sum(recent, steps) * perMinute,
    number,
    tone,
  );
}

function exceptionsOf({ errors }: TimedTask): readonly string[] {
  return errors.map(({ type, count }) => `${type} ×${count}`);
}

const TASK_COLUMNS = {
  name: named<TimedTask>('Task', ({ name }) => name || '(all others)'),
  share: numeric<TimedTask>(
    'Failed share',
    ({ failure_ratio }) => failure_ratio,
    percent,
    ({ failure_ratio }) => ((failure_ratio ?? 0) > FAILURES_BAD ? 'warn' : 'plain'),
  ),
  lost: numeric<TimedTask>(
    'Lost',
    ({ total }) => total.lost,
    number,
    ({ recent }) => (recent.lost > 0 ? 'warn' : 'plain'),
  ),
  running: numeric<TimedTask>('Running', ({ running }) => running),
  unseen: numeric<TimedTask>('Ended unseen', ({ open, running }) => Math.max(0, open - (running ?? 0))),
  p50: numeric<TimedTask>('Runtime p50', ({ runtime_p50_s }) => runtime_p50_s, duration),
  p95: numeric<TimedTask>('Runtime p95', ({ runtime_p95_s }) => runtime_p95_s, duration),
  seen: numeric<TimedTask>('Last event', ({ seen_s }) => seen_s, duration),
  errors: {
    ...named<TimedTask>('Exceptions', (row) => exceptionsOf(row).join(', ') || NONE),
    parts: exceptionsOf,
  },
} as const;

const { name, share, lost, running, unseen, p50, p95, seen, errors } = TASK_COLUMNS;

/** The columns with rates of the last minutes. */
export const TASK_RATES: readonly Column<TimedTask>[] = [
  ...[name, countColumn(true, 'Started', ['started']), share, running, lost, p95, errors],
  ...[countColumn(true, 'Failed', ['failed']), countColumn(true, 'Succeeded', ['succeeded'])],
  ...[
    countColumn(true, 'Retried', ['retried']),
    p50,
    unseen,
    countColumn(true, 'Other ends', OTHER_ENDS),
    seen,
  ],
];

/**
 * The columns with counts since the start: first all outcomes of a start, so that they can be added up; exceptions come
 * before rare outcomes.
 */
export const TASK_TOTALS: readonly Column<TimedTask>[] = [
  ...[name, countColumn(false, 'Started', ['started']), countColumn(false, 'Succeeded', ['succeeded'])],
  ...[
    countColumn(false, 'Failed', ['failed']),
    countColumn(false, 'Retried', ['retried']),
    running,
    lost,
    errors,
  ],
  ...[countColumn(false, 'Rejected', ['rejected']), countColumn(false, 'Revoked', ['revoked'])],
  ...[countColumn(false, 'Cancelled', ['cancelled']), unseen, share, p50, p95, seen],
];

export const EXPORTS: readonly Column<NamedExport>[] = [
  named('What', ({ of, signal }) => `${of}: ${signal}`),
  named(
    'Last result',
    ({ outcome, reason }) => (reason === '' ? outcome : `${outcome}: ${reason}`),
    ({ outcome }) => (outcome === 'failure' ? 'bad' : outcome === 'partial' ? 'warn' : 'plain'),
  ),
  numeric('Ago', ({ age_s }) => age_s, duration),
  numeric('Points', ({ items }) => items),
  numeric('Failures in a row', ({ failures }) => failures),
  numeric('Last success ago', ({ success_age_s }) => success_age_s, duration),
  named('To', ({ backend }) => backend),
];

/** The word of each grade, and its colour. */
export const GRADES: Readonly<
  Record<StatusService['grade'], readonly [word: string, tone: 'good' | 'quiet' | 'warn' | 'bad']>
> = {
  fine: ['fine', 'good'],
  unknown: ['not known', 'quiet'],
  degraded: ['degraded', 'warn'],
  down: ['down', 'bad'],
};

/** The connection of a service, in words. */
export const PHASES: Readonly<Record<StatusService['phase'], readonly [text: string, tone: Tone]>> = {
  waiting: ['not connected', 'bad'],
  listening: ['connected', 'plain'],
  stopped: ['stopped', 'warn'],
  finished: ['recording played', 'plain'],
  unusable: ['recording unusable', 'bad'],
};

/** While the broker is away, the numbers are old, and shown in grey. */
const staleTone = ({ as_of }: ServiceStatus): Tone => (as_of === null ? 'plain' : 'quiet');

/** From worst to best. */
const BY_GRADE = ['down', 'degraded', 'unknown', 'fine'] as const;

export const SERVICES: readonly Column<ServiceStatus>[] = [
  named('Service', ({ name }) => name),
  {
    ...named<ServiceStatus>('Verdict', ({ grade }) => GRADES[grade][0]),
    value: ({ grade }) => BY_GRADE.indexOf(grade),
    grade: ({ grade }) => grade,
  },
  numeric('Workers up', ({ workers }) => workers?.up ?? null, number, staleTone),
  numeric('Running', ({ workers }) => workers?.active ?? null, number, staleTone),
  numeric('Waiting', ({ queues }) => queues?.waiting ?? null, number, staleTone),
  numeric<ServiceStatus>('Failed lately', ({ tasks }) => tasks?.failed ?? null, number, staleTone),
  numeric(
    'Lost lately',
    ({ tasks }) => tasks?.lost ?? null,
    number,
    (row) => ((row.tasks?.lost ?? 0) > 0 ? 'warn' : staleTone(row)),
  ),
  named(
    'Broker',
    ({ phase, as_of }) => PHASES[phase][0] + (as_of === null ? '' : ` since ${clock(new Date(as_of))}`),
    ({ phase }) => PHASES[phase][1],
  ),
  numeric('Workers known', ({ workers }) => workers?.known ?? null, number, staleTone),
];

/** The columns about how celery-otel reads and keeps a service. */
export const BRIDGED: readonly Column<BridgedService>[] = [
  named('Service', ({ name }) => name),
  numeric('Events/s', ({ events }) => events.per_second, number, staleTone),
  numeric('Lag', ({ events }) => events.lag_s, duration, staleTone),
  named('Not counted', ({ events }) => droppedText(events.dropped), droppedTone),
  numeric('Series', ({ series }) => series?.live ?? null),
  named('Nearest to its limit', ({ series }) => fullestOf(series)),
  numeric('Events since the start', ({ events }) => events.received),
  numeric('Instances that export it', ({ instances }) => instances),
  numeric(
    'Internal errors',
    ({ defects }) => defects,
    number,
    ({ defects }) => (defects > 0 ? 'bad' : 'plain'),
  ),
];

export function droppedText(dropped: ServiceStatus['events']['dropped']): string {
  const texts = Object.entries(dropped).map(([reason, count]) => `${number(count)} ${reason}`);
  return texts.join(', ') || 'none';
}

export function droppedTone({ events }: Pick<ServiceStatus, 'events'>): Tone {
  return Object.keys(events.dropped).length === 0 ? 'plain' : 'warn';
}

/** The metric that is closest to its limit of series; nothing before the first export. */
function fullestOf(series: BridgedService['series']): string {
  const { live = 0, fullest = null } = series ?? {};
  if (live === 0 || fullest === null) return NONE;
  return `${fullest.metric}: ${number(fullest.live)} of ${number(fullest.limit)}`;
}

export const LIMITS: readonly Column<LimitRow>[] = [
  named('Table', ({ of, table }) => `${of}: ${table.replaceAll('_', ' ')}`),
  numeric('Used', ({ size, limit }) => (limit === 0 ? null : size / limit), percent),
  numeric('Size', ({ size }) => size),
  numeric('Limit', ({ limit }) => limit),
  numeric(
    'Evicted',
    ({ evicted }) => evicted,
    number,
    ({ evicted }) => (evicted > 0 ? 'warn' : 'plain'),
  ),
];
