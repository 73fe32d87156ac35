/**
 * What Celery says happened: one shape per event type, with only the fields that later rooms use. Types only; how each
 * is read from the wire is the table in `event-types.ts`.
 */

export interface EventBase {
  /** Nodename `name@host` of a worker, or `gen<pid>@<host>` of a client. */
  readonly hostname: string;
  /** OS process of the emitter; 0 where it is not told. */
  readonly pid: number;
  /** Lamport clock of the emitter; -1 where it is not told. */
  readonly clock: number;
  /**
   * When it happened, ms since the epoch: by the emitter's clock, or when it reached us where that is implausible.
   * `utcoffset` is no part of it (wire: true epoch).
   */
  readonly timestampMs: number;
  /** What the emitter's clock said where that is implausible, ms since the epoch. No duration is made of such a time. */
  readonly implausibleMs: number | undefined;
}

export interface TaskEventBase extends EventBase {
  readonly uuid: string;
}

/** Which tasks a task descends from. */
export interface Lineage {
  /** Uuid of the first task of the workflow; '' where it is not told. */
  readonly rootId: string;
  /** Uuid of the task that sent it; '' where none did. */
  readonly parentId: string;
}

/** Celery: app/amqp.py, sent by whoever calls a task. Off by default. */
export interface TaskSent extends TaskEventBase {
  readonly type: 'task-sent';
  /** '' where it is not told. */
  readonly name: string;
  /** '' under native delayed delivery, where only the routing key names it. */
  readonly queue: string;
  readonly routingKey: string;
  readonly etaMs: number | undefined;
  readonly expiresMs: number | undefined;
  readonly retries: number;
  /** Where it was asked for. */
  readonly lineage?: Lineage;
}

/** Celery: worker/strategy.py. `name` is the shadow name where the task has one. */
export interface TaskReceived extends TaskEventBase {
  readonly type: 'task-received';
  readonly name: string;
  readonly etaMs: number | undefined;
  readonly expiresMs: number | undefined;
  readonly retries: number;
  /** Where it was asked for. */
  readonly lineage?: Lineage;
}

/** Celery: worker/request.py. */
export interface TaskStarted extends TaskEventBase {
  readonly type: 'task-started';
}

export interface TaskSucceeded extends TaskEventBase {
  readonly type: 'task-succeeded';
  /** Seconds; undefined where the child was lost after it had stored its result. */
  readonly runtimeS: number | undefined;
}

export interface TaskFailed extends TaskEventBase {
  readonly type: 'task-failed';
  readonly errorType: string;
  /** The failure is `celery.exceptions.Reject`: newer Celery tells a rejection as a failure first. */
  readonly rejection: boolean;
}

export interface TaskRetried extends TaskEventBase {
  readonly type: 'task-retried';
  readonly errorType: string;
}

export interface TaskRejected extends TaskEventBase {
  readonly type: 'task-rejected';
  readonly requeue: boolean;
}

export interface TaskRevoked extends TaskEventBase {
  readonly type: 'task-revoked';
  readonly terminated: boolean;
  readonly expired: boolean;
}

/** Celery ≥ 5.1. */
export interface TaskCancelled extends TaskEventBase {
  readonly type: 'task-cancelled';
}

/** Celery: worker/heartbeat.py. The figures are undefined in the heartbeat that answers remote control. */
export interface WorkerSignal extends EventBase {
  readonly type: 'worker-online' | 'worker-heartbeat' | 'worker-offline';
  /** Tasks executing now. */
  readonly active: number | undefined;
  /** Tasks started since the worker booted. */
  readonly processed: number | undefined;
  readonly loadavg: readonly [number, number, number] | undefined;
  /** Celery's version, '' where it is not told. */
  readonly softwareVersion: string;
  readonly softwareSystem: string;
}

export type TaskEvent =
  | TaskSent
  | TaskReceived
  | TaskStarted
  | TaskSucceeded
  | TaskFailed
  | TaskRetried
  | TaskRejected
  | TaskRevoked
  | TaskCancelled;

export type CeleryEvent = TaskEvent | WorkerSignal;
