/**
 * What the cluster room may say: facts that are to be measured, each once, and what is true at one moment. Types only.
 * They name a task, queue and worker as attributes are to show them; what is not known is `unknown`, never a guess.
 */

/** Stands for a name that cannot be known. */
export const UNKNOWN = 'unknown';

/**
 * Why a process of a worker is no more: it said goodbye, it fell silent, or another one took its place, with another pid
 * or with the same.
 */
export type WorkerExit = 'goodbye' | 'silence' | 'replaced' | 'restarted';

export type Revocation = 'revoked' | 'terminated' | 'expired';

/** How a run ended, as it was told. */
export type Outcome = 'succeeded' | 'failed' | 'retried' | 'rejected' | 'requeued' | 'cancelled' | Revocation;

/** Which runs, or sendings, are counted together; the same ones have the same object. */
export interface RunIdentity {
  readonly task: string;
  readonly queue: string;
  /** Full nodename, `name@host`; '' of a sending. */
  readonly worker: string;
}

interface OfRun {
  readonly run: RunIdentity;
}

/** Durations are seconds, never negative; undefined where nobody can tell. */
export type Observation =
  | ({ readonly kind: 'task-sent' } & OfRun)
  | ({
      readonly kind: 'task-received';
      /** From the sending (under native delayed delivery: from the ETA, if that is later) to the receipt. */
      readonly queueTimeS: number | undefined;
    } & OfRun)
  | ({
      readonly kind: 'task-started';
      /** From the sending, or the ETA if that is later, to the start. */
      readonly waitTimeS: number | undefined;
      /** From the receipt, or the ETA if that is later, to the start. */
      readonly prefetchTimeS: number | undefined;
    } & OfRun)
  | ({ readonly kind: 'task-cancelled' | 'task-lost' } & OfRun)
  /** A run that was observed as lost has ended after all; its end is observed as well. */
  | ({ readonly kind: 'loss-refuted' } & OfRun)
  | ({ readonly kind: 'task-succeeded'; readonly runtimeS: number | undefined } & OfRun)
  | ({
      readonly kind: 'task-failed' | 'task-retried';
      readonly errorType: string;
      readonly runtimeS: number | undefined;
    } & OfRun)
  | ({ readonly kind: 'task-rejected'; readonly requeue: boolean } & OfRun)
  | ({ readonly kind: 'task-revoked'; readonly revocation: Revocation } & OfRun)
  /** It is known from now on, until it is forgotten. */
  | { readonly kind: 'worker-appeared'; readonly worker: string }
  | { readonly kind: 'worker-exited'; readonly worker: string; readonly reason: WorkerExit }
  | {
      readonly kind: 'worker-progressed';
      readonly worker: string;
      /** Tasks it has begun since its last word, as it says. */
      readonly processed: number;
      /** How many of their `task-started` are now known not to have reached us. */
      readonly eventsLost: number;
    }
  /** A wait came out clearly negative and was taken as 0: the clocks of two hosts differ. */
  | { readonly kind: 'clock-skewed'; readonly senderHost: string; readonly workerHost: string };

/** One run that has ended, with what is known of it. Times are by the clock of whoever told them, epoch ms. */
export interface FinishedRun {
  readonly uuid: string;
  /** Uuid of the first task of the workflow; '' where it is not known. */
  readonly rootId: string;
  /** Uuid of the task that sent it; '' where none did, or it is not known. */
  readonly parentId: string;
  readonly run: RunIdentity;
  /** A run that was lost may be told to have ended after all; then it has two. */
  readonly outcome: Outcome | 'lost';
  /** '' but for one that failed or is retried. */
  readonly errorType: string;
  readonly sentMs: number | undefined;
  readonly receivedMs: number | undefined;
  readonly startedMs: number | undefined;
  /** Undefined also where it was lost. */
  readonly endedMs: number | undefined;
}

/** What is true of a worker at one moment. */
export interface WorkerReading {
  /** Full nodename. */
  readonly worker: string;
  readonly up: boolean;
  /** Tasks executing; 0 when it is not up, undefined until it has told. */
  readonly active: number | undefined;
  /** Tasks received, due and not started. */
  readonly prefetched: number;
  /** Tasks received whose ETA is to come. */
  readonly scheduled: number;
  /** Since its last sign of life, as far as the service has listened since then. */
  readonly heartbeatAgeS: number;
  /** Over 1, 5 and 15 minutes; undefined until it has told, zeros when it is not up. */
  readonly load: readonly [number, number, number] | undefined;
  /** Those that it told of itself: first the present one, then former ones; none until it has told. */
  readonly versions: readonly WorkerVersion[];
}

export interface WorkerVersion {
  /** Of Celery. */
  readonly version: string;
  /** `Linux`, `Darwin` …; '' where it is not told. */
  readonly system: string;
}

/** The age of the oldest task of a queue in each state; 0 where there is none. */
export interface QueueReading {
  readonly queue: string;
  readonly waitingAgeS: number;
  readonly runningAgeS: number;
}

/** What is true at one moment. */
export interface ClusterView {
  readonly workers: readonly WorkerReading[];
  readonly queues: readonly QueueReading[];
}

/** Takes an observation; must not throw. */
export type Observe = (observation: Observation) => void;
