/**
 * Celery's events: one type per event type, with only the fields that other rooms use. Types only; `event-types.ts` reads
 * them from messages.
 */

export interface EventBase {
  /** Nodename `name@host` of a worker, or `gen<pid>@<host>` of a client. */
  readonly hostname: string;
  /** Process id of the emitter; 0 if missing. */
  readonly pid: number;
  /** Lamport clock of the emitter; -1 if missing. */
  readonly clock: number;
  /**
   * When it happened, ms since the epoch: by the emitter's clock, or the time of arrival if the emitter's time is
   * implausible. Celery sends UTC, so `utcoffset` is not used.
   */
  readonly timestampMs: number;
  /** The emitter's time if it is implausible, ms since the epoch. It is never used for durations. */
  readonly implausibleMs: number | undefined;
}

export interface TaskEventBase extends EventBase {
  readonly uuid: string;
  /** Present if any of these optional fields is enabled. */
  readonly extras?: Extras;
}

/** The tasks that led to a task. */
export interface Lineage {
  /** Uuid of the first task of the workflow; '' if missing. */
  readonly rootId: string;
  /** Uuid of the task that sent this one; '' if no task did. */
  readonly parentId: string;
}

/** The reprs of arguments, cut; '' if missing. */
export interface ArgumentTexts {
  readonly args: string;
  readonly kwargs: string;
}

/** The texts of an exception, all bounded. */
export interface ErrorTexts {
  /**
   * The class with its module, `shop.orders.PaymentDeclined`, if the traceback contains both; otherwise the class alone;
   * '' if unknown.
   */
  readonly path: string;
  /** The message without the class; '' if unknown. */
  readonly message: string;
  /** Python’s traceback, cut in the middle; '' if there is none. */
  readonly stacktrace: string;
}

/** Fields that are read only if enabled. Which of them an event has depends on its type. */
export interface Extras {
  /** In `task-sent` and `task-received`, like `arguments`. */
  readonly lineage?: Lineage;
  /** In `task-sent`; '' is the default exchange. */
  readonly exchange?: string;
  readonly arguments?: ArgumentTexts;
  /** In `task-failed` and `task-retried`. */
  readonly error?: ErrorTexts;
  /** In `task-succeeded`: the repr of the result, cut. */
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
  /** The event reports that no task sent this one. A task sent by `replace`, or as a retry, names itself as its parent. */
  readonly hasNoParent: boolean;
}

/** Celery: app/amqp.py. Sent by the client, and off by default. */
export interface TaskSent extends Omit<TaskReceived, 'type' | 'hasNoParent'> {
  readonly type: 'task-sent';
  /** '' if delivery is natively delayed; then only the routing key names the queue. */
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
  /** Present if the worker does not know the task (worker/consumer/consumer.py, `on_unknown_task`), which has no other event. */
  readonly name?: string;
  readonly errorType: string;
  /** Whether the exception is `celery.exceptions.Reject`: newer versions of Celery first report a rejection as a failure. */
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

/** Not an event of Celery itself: programs that trace their workers send it, see docs/tracing.md. */
export interface TaskTraced extends TaskEventBase {
  readonly type: 'task-traced';
  /** Identifies the span in which the worker runs the task; '' if it is not a string, or too long. */
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
  /** Time between two heartbeats of the worker. */
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
