/** What the view shows: the parts of the documents of the status that it needs, wherever they come from. Types only. */
import type { QueueRow } from '../health/queue-rows.ts';
import type { ServiceDocument, TaskRow, WorkerRow } from '../health/service-document.ts';
import type {
  StatusDocument,
  StatusExport,
  StatusProblem,
  StatusService,
} from '../health/status-document.ts';

export type ShownService = Pick<
  StatusService,
  'name' | 'details' | 'phase' | 'broker' | 'events' | 'workers' | 'queues' | 'exports' | 'defects'
> & { readonly unknown: readonly Pick<StatusService['unknown'][number], 'line'>[] };

export type ShownProblem = Pick<StatusProblem, 'service' | 'line' | 'remedy'>;

export interface ShownStatus extends Pick<StatusDocument, 'ok' | 'summary' | 'exports'> {
  readonly time: Date;
  readonly problems: readonly ShownProblem[];
  readonly services: readonly ShownService[];
}

export interface ShownDetails {
  /** What the recent counts are about. */
  readonly recent_s: number;
  readonly events: ServiceDocument['events'];
  readonly tasks: Listed<ShownTask>;
  readonly workers: Listed<ShownWorker>;
  readonly queues: Listed<QueueRow>;
}

export interface Listed<Row> {
  /** Of which there may be fewer rows. */
  readonly total: number;
  readonly rows: readonly Row[];
}

export interface ShownTask extends Readonly<Omit<TaskRow, 'errors'>> {
  readonly errors: readonly { readonly type: string; readonly count: number }[];
}

export interface ShownWorker extends Readonly<Omit<WorkerRow, 'pool'>> {
  readonly pool: string | null;
}

export type ShownExport = StatusExport & { readonly of: string };

/** At a moment. */
export interface Seen {
  /** Undefined before the first one. */
  readonly status: ShownStatus | undefined;
  /** By the place of the service; those that were not asked for are absent. */
  readonly details: ReadonlyMap<number, ShownDetails>;
  /** Undefined if what is seen is of now. */
  readonly away: Away | undefined;
}

export interface Away {
  readonly since: Date;
  readonly reason: string;
  readonly remedy: string;
}
