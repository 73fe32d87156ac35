/**
 * The output of the cluster room: observations, each made once; the view of one moment; the fill level of its tables.
 * Types only. Tasks, queues and workers are named as in attributes; anything Celery doesn’t report is `unknown`.
 */
import type { BrokerReading } from '../broker/broker-reading.ts';
import type { PoolKind, WorkerStats } from '../celery/control-reply.ts';

/** Replaces an unknown name. */
export const UNKNOWN = 'unknown';

/**
 * Why a worker process is gone: it sent `worker-offline`, its heartbeats stopped, or another process took its place, with
 * another pid (`replaced`) or the same one (`restarted`).
 */
export type WorkerExit = 'goodbye' | 'silence' | 'replaced' | 'restarted';

export type Revocation = 'revoked' | 'terminated' | 'expired';

/** How a run ended, by its event. */
export type Outcome = 'succeeded' | 'failed' | 'retried' | 'rejected' | 'requeued' | 'cancelled' | Revocation;

/** The same, including ends without an event. */
export type RunEnd = Outcome | 'lost';

export type { PoolKind };

/** Runs or sendings with the same names are counted together; they share one object. */
export interface RunIdentity {
  readonly task: string;
  readonly queue: string;
  /** Full nodename, `name@host`; '' for a sending. */
  readonly worker: string;
}

interface OfRun {
  readonly run: RunIdentity;
}

/** Durations are in seconds and never negative; undefined if unknown. */
export type Observation =
  | ({ readonly kind: 'task-sent' } & OfRun)
  | ({
      readonly kind: 'task-received';
      /** From the sending (with native delayed delivery: from the ETA, if later) to the receipt. */
      readonly queueTimeS: number | undefined;
    } & OfRun)
  | ({
      readonly kind: 'task-started';
      /** From the sending, or the ETA if later, to the start. */
      readonly waitTimeS: number | undefined;
      /** From the receipt, or the ETA if later, to the start. */
      readonly prefetchTimeS: number | undefined;
    } & OfRun)
  | ({ readonly kind: 'task-cancelled' | 'task-lost' } & OfRun)
  /** A run that was observed as lost has ended after all; its end is observed, too. */
  | ({ readonly kind: 'loss-refuted' } & OfRun)
  | ({ readonly kind: 'task-succeeded'; readonly runtimeS: number | undefined } & OfRun)
  | ({
      readonly kind: 'task-failed' | 'task-retried';
      readonly errorType: string;
      readonly runtimeS: number | undefined;
    } & OfRun)
  | ({ readonly kind: 'task-rejected'; readonly requeue: boolean } & OfRun)
  | ({ readonly kind: 'task-revoked'; readonly revocation: Revocation } & OfRun)
  /** The worker is known from now on, until it is forgotten. */
  | { readonly kind: 'worker-appeared'; readonly worker: string }
  /** A process with that name is up after an earlier one exited. */
  | { readonly kind: 'worker-returned'; readonly worker: string }
  | { readonly kind: 'worker-exited'; readonly worker: string; readonly reason: WorkerExit }
  | {
      readonly kind: 'worker-progressed';
      readonly worker: string;
      /** Tasks started since its last heartbeat, by its own count. */
      readonly processed: number;
      /** How many of their `task-started` events are now known to be lost. */
      readonly eventsLost: number;
    }
  /** CPU time of its main process since the previous reply. */
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
  /** It sent `worker-offline`, and has not come back since. */
  readonly hasLeft: boolean;
  /** It is alive, but has stopped listening. */
  readonly deaf: boolean;
  /** Running tasks; 0 if it is not up, undefined until it has reported a number. */
  readonly active: number | undefined;
  /** Tasks received, due and not started. */
  readonly prefetched: number;
  /** Tasks received whose ETA is in the future. */
  readonly scheduled: number;
  /** Since its last event, in listened time. */
  readonly heartbeatAgeS: number;
  /** Over 1, 5 and 15 minutes; undefined until it has reported them, zeros if it is not up. */
  readonly load: readonly [number, number, number] | undefined;
  /** As reported: first the current one, then former ones. */
  readonly versions: readonly WorkerVersion[];
  /** As reported by remote control; undefined before. */
  readonly pool?: PoolKind;
  /** Its replies to remote control; undefined if there are none, and while it is not up. */
  readonly reported?: ReportedReading;
}

export interface ReportedReading {
  readonly stats: WorkerStats;
  /** How long ago it reported them. */
  readonly ageMs: number;
  /** Busy share of the pool, from 0 to 1; undefined if its size is unknown or 0. */
  readonly utilization: number | undefined;
}

export interface WorkerVersion {
  /** Of Celery. */
  readonly version: string;
  /** `Linux`, `Darwin` …; '' if not reported. */
  readonly system: string;
}

/** The age of the oldest task of a queue in each state; 0 if there is none. */
export interface QueueReading {
  readonly queue: string;
  readonly waitingAgeS: number;
  readonly runningAgeS: number;
}

/** How long ago a run of a task was last seen to end with this outcome. */
export interface EndReading {
  readonly task: string;
  readonly end: RunEnd;
  readonly ageS: number;
}

/** How many tasks with that name have left their queue, the last within an hour, although no worker was seen to run one. */
export interface LeftReading {
  readonly task: string;
  readonly count: number;
}

/** The workers that are up and consume a queue, as they reported by remote control. */
export interface QueueConsumers {
  readonly queue: string;
  readonly workers: number;
  /** How many tasks they can run at the same time, from all their queues; undefined unless known for all of them. */
  readonly processes: number | undefined;
  /** Busy share of these; undefined if there are none, or their number is unknown. */
  readonly utilization: number | undefined;
}

/** The state of a cluster at one moment. */
export interface ClusterView {
  readonly workers: readonly WorkerReading[];
  readonly queues: readonly QueueReading[];
  readonly ends: readonly EndReading[];
  /** Absent if there are none. */
  readonly left?: readonly LeftReading[];
  /** Running tasks by task name (as a key of `safeKey`); names without any are absent. */
  readonly running?: ReadonlyMap<string, number>;
  /** Undefined if no command was sent to the workers, or sending failed. */
  readonly reported?: {
    readonly consumers: readonly QueueConsumers[];
    /** Queues not listed here, because a worker without a reply may consume them; absent if there are none. */
    readonly unsure?: readonly string[];
    /** Whether there is room for all queues that they consume. */
    readonly isWhole: boolean;
    /** How long ago the command was sent. */
    readonly ageMs: number;
  };
  /** Undefined if the broker has not replied, or is unavailable. */
  readonly broker?: BrokerView;
}

/** The broker’s last reading. */
export interface BrokerView extends BrokerReading {
  /** Its age. */
  readonly ageMs: number;
}

/** The bounded tables, by their names in the bridge’s own metrics. */
export type ClusterTable = 'tasks' | 'workers' | 'reordering_window' | 'clock_skews';

export interface TableState {
  readonly size: number;
  /** The most entries. */
  readonly limit: number;
  /**
   * Entries evicted while they were still needed: unfinished tasks, workers, events released early from the window, clock
   * skews counted without the names of their hosts.
   */
  readonly evicted: number;
  /** Memory in use, an upper estimate. */
  readonly bytes: number;
  /** The limit; beyond it entries are evicted, however few there are. */
  readonly bytesMax: number;
}

export type ClusterTables = Readonly<Record<ClusterTable, TableState>>;

/** Takes an observation; must not throw. */
export type Observe = (observation: Observation) => void;
