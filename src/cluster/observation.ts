/**
 * The output of the cluster room: observations, which are facts to be counted once; the view, which is the state at one moment;
 * and the fill level of its tables. Types only. Names of tasks, queues and workers are those of the attributes; a name that
 * Celery does not report is `unknown`.
 */
import type { BrokerReading } from '../broker/broker-reading.ts';
import type { PoolKind, WorkerStats } from '../celery/control-reply.ts';

/** The name of a task or queue whose name is not known. */
export const UNKNOWN = 'unknown';

/**
 * Why a worker process is gone: it sent `worker-offline`, its heartbeats stopped, or another process took its place, with
 * another pid (`replaced`) or the same one (`restarted`).
 */
export type WorkerExit = 'goodbye' | 'silence' | 'replaced' | 'restarted';

export type Revocation = 'revoked' | 'terminated' | 'expired';

/** How a run ended, according to the event of its end. */
export type Outcome = 'succeeded' | 'failed' | 'retried' | 'rejected' | 'requeued' | 'cancelled' | Revocation;

/** How a run ended, including `lost`, the end without an event. */
export type RunEnd = Outcome | 'lost';

export type { PoolKind };

/** The names under which a run or sending is counted. All runs with the same names share one object. */
export interface RunIdentity {
  readonly task: string;
  readonly queue: string;
  /** Full nodename, `name@host`; '' for a sending. */
  readonly worker: string;
}

interface WithRun {
  readonly run: RunIdentity;
}

/** A fact to be counted. Durations are in seconds and never negative; undefined if unknown. */
export type Observation =
  | ({ readonly kind: 'task-sent' } & WithRun)
  | ({
      readonly kind: 'task-received';
      /** The time from the sending to the receipt; with native delayed delivery, from the ETA if that is later. */
      readonly queueTimeS: number | undefined;
    } & WithRun)
  | ({
      readonly kind: 'task-started';
      /** The time from the sending, or from the ETA if that is later, to the start. */
      readonly waitTimeS: number | undefined;
      /** The time from the receipt, or from the ETA if that is later, to the start. */
      readonly prefetchTimeS: number | undefined;
    } & WithRun)
  | ({ readonly kind: 'task-cancelled' | 'task-lost' } & WithRun)
  /** A run that was observed as lost has ended after all, which is observed too, or its task was delivered again. */
  | ({ readonly kind: 'loss-refuted' } & WithRun)
  | ({ readonly kind: 'task-succeeded'; readonly runtimeS: number | undefined } & WithRun)
  | ({
      readonly kind: 'task-failed' | 'task-retried';
      readonly errorType: string;
      readonly runtimeS: number | undefined;
    } & WithRun)
  | ({ readonly kind: 'task-rejected'; readonly requeue: boolean } & WithRun)
  | ({ readonly kind: 'task-revoked'; readonly revocation: Revocation } & WithRun)
  /** The worker has its own series from now on, until it is forgotten. */
  | { readonly kind: 'worker-appeared'; readonly worker: string }
  /** After a process with that nodename exited, one is running again. */
  | { readonly kind: 'worker-returned'; readonly worker: string }
  | { readonly kind: 'worker-exited'; readonly worker: string; readonly reason: WorkerExit }
  | {
      readonly kind: 'worker-progressed';
      readonly worker: string;
      /** How many tasks the worker has started since its last report, by its own count. */
      readonly processed: number;
      /** How many more `task-started` events of the worker are now known to be lost. */
      readonly eventsLost: number;
    }
  /** The CPU time that the main process has used since the previous reply, in user and in system mode. */
  | {
      readonly kind: 'worker-cpu-used';
      readonly worker: string;
      readonly userS: number | undefined;
      readonly systemS: number | undefined;
    }
  /** A wait was clearly negative and counted as 0: the clocks of two hosts differ. */
  | { readonly kind: 'clock-skewed'; readonly senderHost: string; readonly workerHost: string };

/** The state of a worker at one moment. */
export interface WorkerReading {
  /** Full nodename. */
  readonly worker: string;
  readonly up: boolean;
  /** The worker sent `worker-offline`, and has not come back since. */
  readonly hasLeft: boolean;
  /** The worker is alive, but has stopped listening. */
  readonly deaf: boolean;
  /** How many tasks the worker is running, as it reported; 0 if it is not up, undefined until it has reported a number. */
  readonly active: number | undefined;
  /** How many received tasks are due and have not started. */
  readonly prefetched: number;
  /** How many received tasks wait for their ETA. */
  readonly scheduled: number;
  /** Seconds of listened time since the last sign of life of the worker. */
  readonly heartbeatAgeS: number;
  /** Load averages over 1, 5 and 15 minutes; undefined until the worker has reported them, zeros if it is not up. */
  readonly load: readonly [number, number, number] | undefined;
  /** The versions that the worker reported: first the current one, then former ones. */
  readonly versions: readonly WorkerVersion[];
  /** The kind of its pool, by remote control; absent until it is reported. */
  readonly pool?: PoolKind;
  /** The replies of the worker to remote control; absent if there are none, and while it is not up. */
  readonly reported?: ReportedReading;
}

/** The last reply of a worker to `stats`. */
export interface ReportedReading {
  readonly stats: WorkerStats;
  /** How long ago the reply arrived. */
  readonly ageMs: number;
  /** Busy share of the pool, from 0 to 1; undefined if its size is unknown or 0. */
  readonly utilization: number | undefined;
}

export interface WorkerVersion {
  /** The version of Celery. */
  readonly version: string;
  /** The operating system: `Linux`, `Darwin` …; '' if not reported. */
  readonly system: string;
}

/** The ages of the oldest waiting and of the oldest running task of a queue, in seconds; 0 if there is none. */
export interface QueueReading {
  readonly queue: string;
  readonly waitingAgeS: number;
  readonly runningAgeS: number;
}

/** How long ago a run of a task last ended with this outcome. */
export interface EndReading {
  readonly task: string;
  readonly end: RunEnd;
  readonly ageS: number;
}

/** How many tasks with this name have left their queue, the last one within an hour, although no run of one was seen. */
export interface LeftReading {
  readonly task: string;
  readonly count: number;
}

/** The workers that are up and consume a queue, as they reported by remote control. */
export interface QueueConsumers {
  readonly queue: string;
  readonly workers: number;
  /** How many tasks these workers can run at the same time; undefined unless the number of each worker is known. */
  readonly processes: number | undefined;
  /** The busy share of `processes`, from 0 to 1; undefined if that is 0 or unknown. */
  readonly utilization: number | undefined;
}

/** The state of a cluster at one moment. */
export interface ClusterView {
  readonly workers: readonly WorkerReading[];
  readonly queues: readonly QueueReading[];
  readonly ends: readonly EndReading[];
  /** Tasks that left their queue unseen, by name; absent if there are none. */
  readonly left?: readonly LeftReading[];
  /** How many tasks are running, by `safeKey` of the task name; names without a running task are absent. */
  readonly running?: ReadonlyMap<string, number>;
  /** The replies of workers to remote control; absent if no command was sent, or sending failed. */
  readonly reported?: {
    readonly consumers: readonly QueueConsumers[];
    /** Queues that `consumers` lacks, because a worker that has not replied may consume them; absent if there are none. */
    readonly unsure?: readonly string[];
    /** Whether the table of consumed queues had room for all of them; otherwise `consumers` is incomplete. */
    readonly isWhole: boolean;
    /** How long ago the command was sent. */
    readonly ageMs: number;
  };
  /** The last poll of the broker; absent if the broker has not replied, or is unavailable. */
  readonly broker?: BrokerView;
}

/** The result of the last poll of the broker. */
export interface BrokerView extends BrokerReading {
  /** How long ago the broker was polled. */
  readonly ageMs: number;
}

/** The bounded tables, by their names in the bridge’s own metrics. */
export type ClusterTable = 'tasks' | 'workers' | 'reordering_window' | 'clock_skews';

/** The fill level of one bounded table. */
export interface TableState {
  readonly size: number;
  /** The most entries that the table holds. */
  readonly limit: number;
  /**
   * How many entries were evicted since the start while they were still needed: unfinished tasks, workers, events released
   * early from the window, clock skews counted without the names of their hosts.
   */
  readonly evicted: number;
  /** The bytes in use, an upper estimate. */
  readonly bytes: number;
  /** The most bytes; beyond them entries are evicted, however few there are. */
  readonly bytesMax: number;
}

export type ClusterTables = Readonly<Record<ClusterTable, TableState>>;

/** Takes an observation; must not throw. */
export type Observe = (observation: Observation) => void;
