/**
 * What the cluster room may say: facts that are to be measured, each once, and what is true at one moment. Types only.
 * They name a task, queue and worker as attributes are to show them; what is not known is `unknown`, never a guess.
 */

/** Stands for a name that cannot be known. */
export const UNKNOWN = 'unknown';

export type Revocation = 'revoked' | 'terminated' | 'expired';

/** Which runs are counted together; the same ones have the same object. */
export interface RunIdentity {
  readonly task: string;
  readonly queue: string;
  /** Full nodename, `name@host`. */
  readonly worker: string;
}

interface OfRun {
  readonly run: RunIdentity;
}

/** Durations are seconds, never negative; undefined where nobody can tell. */
export type Observation =
  | { readonly kind: 'task-sent'; readonly task: string; readonly queue: string }
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
  | ({ readonly kind: 'task-succeeded'; readonly runtimeS: number | undefined } & OfRun)
  | ({
      readonly kind: 'task-failed' | 'task-retried';
      readonly errorType: string;
      readonly runtimeS: number | undefined;
    } & OfRun)
  | ({ readonly kind: 'task-rejected'; readonly requeue: boolean } & OfRun)
  | ({ readonly kind: 'task-revoked'; readonly revocation: Revocation } & OfRun)
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
  /** Since its last sign of life. */
  readonly heartbeatAgeS: number;
  /** Over 1, 5 and 15 minutes; undefined until it has told, and when it is not up. */
  readonly load: readonly [number, number, number] | undefined;
  /** Celery's version; '' until it has told. */
  readonly version: string;
  /** `Linux`, `Darwin` …; '' until it has told. */
  readonly system: string;
}

/** The oldest task of a queue in each state; undefined where there is none. */
export interface QueueReading {
  readonly queue: string;
  readonly waitingAgeS: number | undefined;
  readonly runningAgeS: number | undefined;
}

export interface Survey {
  readonly workers: readonly WorkerReading[];
  /** Nodenames of those that have been forgotten since the last survey, so that nothing need be kept of them. */
  readonly forgotten: readonly string[];
  readonly queues: readonly QueueReading[];
}

/** Takes an observation; must not throw. */
export type Observe = (observation: Observation) => void;
