/**
 * What the cluster room may say: facts that are to be measured, each once. Types only. They name a task, queue and
 * worker as attributes are to show them; what is not known is `unknown`, never a guess.
 */

/** Stands for a name that cannot be known. */
export const UNKNOWN = 'unknown';

export type Revocation = 'revoked' | 'terminated' | 'expired';

export type Observation =
  | { readonly kind: 'task-sent'; readonly task: string; readonly queue: string }
  | {
      readonly kind: 'task-received' | 'task-started' | 'task-cancelled';
      readonly task: string;
      readonly queue: string;
      /** Full nodename, `name@host`. */
      readonly worker: string;
    }
  | {
      readonly kind: 'task-succeeded';
      readonly task: string;
      readonly queue: string;
      readonly worker: string;
      /** Seconds in the task's own code; undefined where nobody can tell. */
      readonly runtimeS: number | undefined;
    }
  | {
      readonly kind: 'task-failed' | 'task-retried';
      readonly task: string;
      readonly queue: string;
      readonly worker: string;
      readonly errorType: string;
      readonly runtimeS: number | undefined;
    }
  | {
      readonly kind: 'task-rejected';
      readonly task: string;
      readonly queue: string;
      readonly worker: string;
      readonly requeue: boolean;
    }
  | {
      readonly kind: 'task-revoked';
      readonly task: string;
      readonly queue: string;
      readonly worker: string;
      readonly revocation: Revocation;
    };

/** What is true of a worker at one moment. */
export interface WorkerReading {
  /** Full nodename. */
  readonly worker: string;
  readonly up: boolean;
  /** Tasks executing; 0 when it is not up, undefined until it has told. */
  readonly active: number | undefined;
}
