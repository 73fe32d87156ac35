/**
 * What is shown at a moment: the parts of the status documents that the page and the terminal need, wherever they come from, and the
 * rows of their tables. Pure: it fetches nothing and draws nothing.
 */
import type { Listed, ServiceDocument, TaskRow } from '../health/service-document.ts';
import type {
  StatusDocument,
  StatusExport,
  StatusProblem,
  StatusService,
} from '../health/status-document.ts';

export type ServiceStatus = Pick<
  StatusService,
  | 'name'
  | 'details'
  | 'phase'
  | 'grade'
  | 'as_of'
  | 'broker'
  | 'events'
  | 'workers'
  | 'queues'
  | 'tasks'
  | 'exports'
  | 'instances'
  | 'defects'
> & { readonly unknown: readonly Pick<StatusService['unknown'][number], 'line'>[] };

export interface StatusSnapshot extends Pick<StatusDocument, 'time' | 'grade' | 'summary' | 'exports'> {
  readonly problems: readonly Omit<StatusProblem, 'code' | 'names'>[];
  readonly services: readonly ServiceStatus[];
}

export type ServiceDetails = Pick<
  ServiceDocument,
  'recent_s' | 'events' | 'series' | 'tasks' | 'other_tasks' | 'workers' | 'queues'
>;

export type NamedExport = StatusExport & {
  /** The service, or celery-otel itself. */
  readonly of: string;
};

/** The series are those of its details, if they are known. */
export type BridgedService = ServiceStatus & { readonly series: ServiceDetails['series'] | undefined };

export interface LimitRow {
  /** The service. */
  readonly of: string;
  readonly table: string;
  readonly size: number;
  readonly limit: number;
  readonly evicted: number;
}

export interface Snapshot {
  /** Undefined before the first one. */
  readonly status: StatusSnapshot | undefined;
  /** By the index of the service; those that were not fetched are absent. */
  readonly details: ReadonlyMap<number, ServiceDetails>;
  /** Undefined if the snapshot is current. */
  readonly unreachable: Unreachable | undefined;
}

export interface Unreachable {
  readonly since: Date;
  readonly reason: string;
  readonly remedy: string;
}

export interface TimedTask extends TaskRow {
  /** Makes a rate of a recent count; undefined to show the counts since the start. */
  readonly perMinute: number | undefined;
}

const SECONDS_PER_MINUTE = 60;
const NO_ROWS = { total: 0, rows: [] } as const;

/** The tasks with their rates, or with their totals; those without a row of their own come last, as one. */
export function taskRows(details: ServiceDetails | undefined, isTotals: boolean): Listed<TimedTask> {
  if (details === undefined) return NO_ROWS;
  const { tasks, other_tasks, recent_s } = details;
  const perMinute = isTotals || recent_s === 0 ? undefined : SECONDS_PER_MINUTE / recent_s;
  const others = other_tasks === null ? [] : [other_tasks];
  return {
    total: tasks.total + others.length,
    rows: [...tasks.rows, ...others].map((row) => ({ ...row, perMinute })),
  };
}

/** The last exports of all services, and of celery-otel itself. */
export function exportRows({ services, exports }: StatusSnapshot): readonly NamedExport[] {
  return [
    ...services.flatMap(({ name, exports: own }) => own.map((each) => ({ ...each, of: name }))),
    ...exports.map((each) => ({ ...each, of: 'celery-otel' })),
  ];
}

/** What celery-otel remembers of each service, and how much of it at most. */
export function limitRows(services: readonly Pick<StatusService, 'name' | 'tables'>[]): readonly LimitRow[] {
  return services.flatMap(({ name, tables }) =>
    Object.entries(tables).map(([table, counts]) => ({ of: name, table, ...counts })),
  );
}
