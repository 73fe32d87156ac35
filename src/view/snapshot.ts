/**
 * The parts of the status documents that the page and the terminal need, wherever they come from, and the rows of their
 * tables. Pure: it fetches nothing and draws nothing.
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
  /** The name of the service, or `celery-otel`. */
  readonly of: string;
};

/** The series come from the details of the service; undefined if those were not fetched. */
export type BridgedService = ServiceStatus & { readonly series: ServiceDetails['series'] | undefined };

export interface LimitRow {
  /** The name of the service. */
  readonly of: string;
  readonly table: string;
  readonly size: number;
  readonly limit: number;
  readonly evicted: number;
}

export interface Snapshot {
  /** Undefined before the first status was fetched. */
  readonly status: StatusSnapshot | undefined;
  /** By the index of the service; services whose details were not fetched are absent. */
  readonly details: ReadonlyMap<number, ServiceDetails>;
  /** Why the status could not be fetched; undefined if the snapshot is current. */
  readonly unreachable: Unreachable | undefined;
}

export interface Unreachable {
  readonly since: Date;
  readonly reason: string;
  readonly remedy: string;
}

export interface TimedTask extends TaskRow {
  /** Factor that makes a rate of a recent count; undefined to show the counts since the start. */
  readonly perMinute: number | undefined;
}

const SECONDS_PER_MINUTE = 60;
const NO_ROWS = { total: 0, rows: [] } as const;

/** The tasks with rates, or with totals; tasks without a row of their own come last, as one row. */
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

/** The latest exports of all services, and of celery-otel itself. */
export function exportRows({ services, exports }: StatusSnapshot): readonly NamedExport[] {
  return [
    ...services.flatMap(({ name, exports: own }) => own.map((each) => ({ ...each, of: name }))),
    ...exports.map((each) => ({ ...each, of: 'celery-otel' })),
  ];
}

/** How full the tables of each service are. */
export function limitRows(services: readonly Pick<StatusService, 'name' | 'tables'>[]): readonly LimitRow[] {
  return services.flatMap(({ name, tables }) =>
    Object.entries(tables).map(([table, counts]) => ({ of: name, table, ...counts })),
  );
}
