/**
 * Celery's events: one shape per event type, with only the fields that later rooms use. Types only; `event-types.ts` reads
 * them from the wire.
 */

export interface EventBase {
  /** Nodename `name@host` of a worker, or `gen<pid>@<host>` of a client. */
  readonly hostname: string;
  /** Process id of the emitter; 0 if missing. */
  readonly pid: number;
  /** Lamport clock of the emitter; -1 if missing. */
  readonly clock: number;
  /**
   * When it happened, ms since the epoch: by the emitter's clock, or the time of arrival if that is implausible. Already
   * UTC, so `utcoffset` is not used.
   */
  readonly timestampMs: number;
  /** The emitter's time if it is implausible, ms since the epoch. It is never used for durations. */
  readonly implausibleMs: number | undefined;
}

export interface TaskEventBase extends EventBase {
  readonly uuid: string;
  /** Present if any of it is enabled. */
  readonly extras?: Extras;
}

/** Which tasks a task descends from. */
export interface Lineage {
  /** Uuid of the first task of the workflow; '' if it is not given. */
  readonly rootId: string;
  /** Uuid of the task that sent it; '' where none did. */
  readonly parentId: string;
}

/** The reprs of arguments, cut; '' if missing. */
export interface ArgumentTexts {
  readonly args: string;
  readonly kwargs: string;
}

/** The texts of an exception, bounded. */
export interface ErrorTexts {
  /**
   * Its class with its module, `shop.orders.PaymentDeclined`, if the traceback contains it; otherwise the class alone;
   * '' if unknown.
   */
  readonly path: string;
  /** Its message, without its class; '' if unknown. */
  readonly message: string;
  /** Python’s traceback, cut in the middle; '' if there is none. */
  readonly stacktrace: string;
}

/** Fields that are only read if enabled, depending on the event type. */
export interface Extras {
  /** Of a sending or a receipt, like `arguments`. */
  readonly lineage?: Lineage;
  /** Of a sending; '' is the default exchange. */
  readonly exchange?: string;
  readonly arguments?: ArgumentTexts;
  /** Of a failure or a retry. */
  readonly error?: ErrorTexts;
  /** Of a success: a repr, cut. */
  readonly result?: string;
}

/** Celery: worker/strategy.py. */
export interface TaskReceived extends TaskEventBase {
  readonly type: 'task-received';
  /** '' if missing; the shadow name if the task has one. */
  readonly name: string;
  readonly etaMs: number | undefined;
  readonly expiresMs: number | undefined;
  readonly retries: number;
  /** It reports that no task sent it. A task sent by `replace`, or as a retry, has its own id as parent. */
  readonly hasNoParent: boolean;
}

/** Celery: app/amqp.py, sent by the client. Off by default. */
export interface TaskSent extends Omit<TaskReceived, 'type' | 'hasNoParent'> {
  readonly type: 'task-sent';
  /** '' with native delayed delivery, where only the routing key names the queue. */
  readonly queue: string;
  readonly routingKey: string;
}

/** Celery: worker/request.py. */
export interface TaskStarted extends TaskEventBase {
  readonly type: 'task-started';
}

export interface TaskSucceeded extends TaskEventBase {
  readonly type: 'task-succeeded';
  /** Seconds; undefined if the pool process was lost after it had stored its result. */
  readonly runtimeS: number | undefined;
}

export interface TaskFailed extends TaskEventBase {
  readonly type: 'task-failed';
  /** Of a task that its worker does not know (worker/consumer/consumer.py, `on_unknown_task`): no other event of it has one. */
  readonly name?: string;
  readonly errorType: string;
  /** The failure is a `celery.exceptions.Reject`: newer versions of Celery first report a rejection as a failure. */
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

/** Not of Celery: sent by programs that trace their workers, see docs/tracing.md. */
export interface TaskTraced extends TaskEventBase {
  readonly type: 'task-traced';
  /** Of the span in which the worker runs the task; '' if it is no text, or too long. */
  readonly traceparent: string;
  readonly retries: number;
}

/** Celery: worker/heartbeat.py. The numbers are undefined in a heartbeat that replies to remote control. */
export interface WorkerSignal extends EventBase {
  readonly type: 'worker-online' | 'worker-heartbeat' | 'worker-offline';
  /** Tasks executing now. */
  readonly active: number | undefined;
  /** Tasks started since the worker booted. */
  readonly processed: number | undefined;
  readonly loadavg: readonly [number, number, number] | undefined;
  /** Between two of its heartbeats. */
  readonly freqS: number | undefined;
  /** Celery's version; '' if missing. */
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
  | TaskCancelled
  | TaskTraced;

export type CeleryEvent = TaskEvent | WorkerSignal;
