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
   * When the event happened, ms since the epoch, by the emitter's clock; the time of arrival if the emitter's time is
   * implausible. Celery sends UTC, so `utcoffset` is not used.
   */
  readonly timestampMs: number;
  /** The emitter's time if it is implausible, ms since the epoch. It is never used for durations. */
  readonly implausibleMs: number | undefined;
}

export interface TaskEventBase extends EventBase {
  readonly uuid: string;
  /** The optional fields that are enabled; absent if this event has none of them. */
  readonly extras?: Extras;
}

/** The ids of the tasks that led to a task. */
export interface Lineage {
  /** Uuid of the first task of the workflow; '' if missing. */
  readonly rootId: string;
  /** Uuid of the task that sent this one; '' if no task did. */
  readonly parentId: string;
}

/** The Python reprs of positional and named arguments, cut to a maximum length; '' if missing. */
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

/** Fields that are read only if they are enabled. The type of an event decides which of them it can have. */
export interface Extras {
  /** Read from `task-sent` and `task-received`, as are `arguments`. */
  readonly lineage?: Lineage;
  /** The exchange in `task-sent`; '' is the default exchange. */
  readonly exchange?: string;
  readonly arguments?: ArgumentTexts;
  /** The texts of the exception in `task-failed` and `task-retried`. */
  readonly error?: ErrorTexts;
  /** The Python repr of the result in `task-succeeded`, cut to a maximum length. */
  readonly result?: string;
}

/** A worker has received the task from the broker (Celery: worker/strategy.py). */
export interface TaskReceived extends TaskEventBase {
  readonly type: 'task-received';
  /** '' if missing; the shadow name if the task has one. */
  readonly name: string;
  /** Before this time the task must not start, ms since the epoch; undefined if it has no ETA. */
  readonly etaMs: number | undefined;
  /** From this time on the task must not start, ms since the epoch; undefined if it does not expire. */
  readonly expiresMs: number | undefined;
  /** How often the task was retried before; 0 if missing. */
  readonly retries: number;
  /** The event reports that no task sent this one. A task sent by `replace`, or as a retry, names itself as its parent. */
  readonly hasNoParent: boolean;
}

/** A client has sent the task (Celery: app/amqp.py). Celery sends this event only if the application enables it. */
export interface TaskSent extends Omit<TaskReceived, 'type' | 'hasNoParent'> {
  readonly type: 'task-sent';
  /** '' if delivery is natively delayed; then only the routing key names the queue. */
  readonly queue: string;
  readonly routingKey: string;
}

/** A worker has begun to run the task (Celery: worker/request.py). */
export interface TaskStarted extends TaskEventBase {
  readonly type: 'task-started';
}

export interface TaskSucceeded extends TaskEventBase {
  readonly type: 'task-succeeded';
  /** How long the task ran, in seconds; undefined if the pool process was lost after it had stored its result. */
  readonly runtimeS: number | undefined;
}

export interface TaskFailed extends TaskEventBase {
  readonly type: 'task-failed';
  /**
   * Present only if no task of this name is registered in the worker (worker/consumer/consumer.py, `on_unknown_task`): this
   * failure is then the only event of the task.
   */
  readonly name?: string;
  readonly errorType: string;
  /** Whether the exception is `celery.exceptions.Reject`: Celery 5.7 first reports a rejection without requeue as a failure. */
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

/** An event that Celery itself never sends: programs that trace their workers send it, see docs/tracing.md. */
export interface TaskTraced extends TaskEventBase {
  readonly type: 'task-traced';
  /** Identifies the span in which the worker runs the task; '' if it is not a string, or too long. */
  readonly traceparent: string;
  /** The parent of that span, 16 hexadecimal digits; '' if not reported. */
  readonly parentSpanId: string;
  readonly retries: number;
}

/**
 * A sign of life of a worker (Celery: worker/heartbeat.py). In a heartbeat that replies to remote control, `active`,
 * `processed` and `loadavg` are undefined.
 */
export interface WorkerSignal extends EventBase {
  readonly type: 'worker-online' | 'worker-heartbeat' | 'worker-offline';
  /** How many tasks the worker is running. */
  readonly active: number | undefined;
  /** How many tasks the worker has started since its own start. */
  readonly processed: number | undefined;
  /** The load averages of the host over 1, 5 and 15 minutes. */
  readonly loadavg: readonly [number, number, number] | undefined;
  /** Seconds between two heartbeats of the worker. */
  readonly freqS: number | undefined;
  /** Celery's version; '' if missing. */
  readonly softwareVersion: string;
  /** The operating system, such as `Linux`; '' if missing. */
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
