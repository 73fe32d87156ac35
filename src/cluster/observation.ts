/**
 * The output of the cluster room: observations, each made once, the view of one moment and how full its tables are. Types only. Tasks, queues and
 * workers are named as in attributes; what is not known is `unknown`, never a guess.
 */
import type { BrokerReading } from '../broker/broker-reading.ts';
import type { PoolKind, WorkerStats } from '../celery/control-reply.ts';

/** Replaces a name that is not known. */
export const UNKNOWN = 'unknown';

/**
 * Why a worker process is gone: it sent `worker-offline`, its heartbeats stopped, or another process took its place, with
 * another pid (`replaced`) or the same one (`restarted`).
 */
export type WorkerExit = 'goodbye' | 'silence' | 'replaced' | 'restarted';

export type Revocation = 'revoked' | 'terminated' | 'expired';

/** How a run ended, by its event. */
export type Outcome = 'succeeded' | 'failed' | 'retried' | 'rejected' | 'requeued' | 'cancelled' | Revocation;

/** The same for what no event says, too. */
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

/** Durations are in seconds and never negative; undefined if not known. */
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
  /** A run that was observed as lost has ended after all; its end is observed too. */
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
  /** A process of that name is there after one has exited. */
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
  /** CPU time of its main process since it was asked before. */
  | {
      readonly kind: 'worker-cpu-used';
      readonly worker: string;
      readonly userS: number | undefined;
      readonly systemS: number | undefined;
    }
  /** A wait was clearly negative and was taken as 0: the clocks of two hosts differ. */
  | { readonly kind: 'clock-skewed'; readonly senderHost: string; readonly workerHost: string };

/** The state of a worker at one moment. */
export interface WorkerReading {
  /** Full nodename. */
  readonly worker: string;
  readonly up: boolean;
  /** It said goodbye, and has not come back since. */
  readonly hasLeft: boolean;
  /** It lives, but has stopped listening. */
  readonly deaf: boolean;
  /** Tasks executing; 0 if it is not up, undefined until it has reported a number. */
  readonly active: number | undefined;
  /** Tasks received, due and not started. */
  readonly prefetched: number;
  /** Tasks received whose ETA is in the future. */
  readonly scheduled: number;
  /** Since its last event, in listened time. */
  readonly heartbeatAgeS: number;
  /** Over 1, 5 and 15 minutes; undefined until it has reported them, zeros if it is not up. */
  readonly load: readonly [number, number, number] | undefined;
  /** As it reported them, first the current one, then former ones. */
  readonly versions: readonly WorkerVersion[];
  /** As it reported by remote control; undefined before. */
  readonly pool?: PoolKind;
  /** What it reported by remote control; undefined if it did not, and while it is not up. */
  readonly reported?: ReportedReading;
}

export interface ReportedReading {
  readonly stats: WorkerStats;
  /** How long ago it reported them. */
  readonly ageMs: number;
  /** Busy part of the pool, from 0 to 1; undefined if its size is not known, or 0. */
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

/** How long ago a run of a task last ended like this, as far as it was seen. */
export interface EndReading {
  readonly task: string;
  readonly end: RunEnd;
  readonly ageS: number;
}

/** How many tasks of that name have left their queue, the last within an hour, though no worker was ever seen to run one. */
export interface LeftReading {
  readonly task: string;
  readonly count: number;
}

/** The workers that are up and consume a queue, as they reported by remote control. */
export interface QueueConsumers {
  readonly queue: string;
  readonly workers: number;
  /** Tasks that they can run at once, of all their queues; undefined if that is not known of all of them. */
  readonly processes: number | undefined;
  /** Busy part of these; undefined if there are none, or if their number is not known. */
  readonly utilization: number | undefined;
}

/** The state of a cluster at one moment. */
export interface ClusterView {
  readonly workers: readonly WorkerReading[];
  readonly queues: readonly QueueReading[];
  readonly ends: readonly EndReading[];
  /** Absent if there are none. */
  readonly left?: readonly LeftReading[];
  /** Runs that execute, by the name of their task as a key of `safeKey`; a name without any is absent. */
  readonly running?: ReadonlyMap<string, number>;
  /** Undefined if the workers were not asked, or could not be. */
  readonly reported?: {
    readonly consumers: readonly QueueConsumers[];
    /** Queues that are not among them, since a worker that did not say may consume them; absent if there are none. */
    readonly unsure?: readonly string[];
    /** Whether there is room for all queues that they consume. */
    readonly isWhole: boolean;
    /** How long ago they were asked. */
    readonly ageMs: number;
  };
  /** Undefined if the broker has not answered, or is not there. */
  readonly broker?: BrokerView;
}

/** What the broker answered last. */
export interface BrokerView extends BrokerReading {
  /** How long ago it did. */
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
  /** Beyond it entries are evicted, however few there are. */
  readonly bytesMax: number;
}

export type ClusterTables = Readonly<Record<ClusterTable, TableState>>;

/** Takes an observation; must not throw. */
export type Observe = (observation: Observation) => void;
