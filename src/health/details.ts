/**
 * The shapes of the documents under `/details/`, version 1: one task, queue or worker of a service beyond its row, and what is known of
 * one task id. Times are ISO 8601; durations are in seconds, and null if unknown. Shapes only.
 */

/** Numbers of each minute of the last hour. All lists have the same length, the oldest minute first; the last minute is incomplete. */
export interface Hour {
  /** The length of a step in seconds: 60. */
  readonly step_s: number;
  /** When the first minute began. */
  readonly since: string;
}

export interface TaskHour extends Hour {
  /** Runs that ended with this outcome in each minute; null: no event was received in that minute, not even a heartbeat. */
  readonly succeeded: readonly (number | null)[];
  readonly failed: readonly (number | null)[];
  readonly retried: readonly (number | null)[];
  readonly lost: readonly (number | null)[];
  /** Quantiles of the runtimes; null: no run with a known runtime ended in that minute. */
  readonly runtime_p50_s: readonly (number | null)[];
  readonly runtime_p95_s: readonly (number | null)[];
}

export interface QueueHour extends Hour {
  /** Runs from this queue that started in each minute; null: no event was received in that minute. */
  readonly started: readonly (number | null)[];
  /** Messages that waited in the broker at the end of the minute; null if the broker was not polled. */
  readonly waiting: readonly (number | null)[];
  readonly oldest_age_s: readonly (number | null)[];
  /** Quantiles of the time between sending and start; null: no run with a known waiting time started in that minute. */
  readonly wait_p50_s: readonly (number | null)[];
  readonly wait_p95_s: readonly (number | null)[];
}

/** A run that is over. */
export interface RunRow {
  readonly id: string;
  readonly task: string;
  readonly queue: string;
  readonly worker: string;
  /** As in metrics and spans: `succeeded`, `failed`, `retried`, `lost` …; `unknown` if no end was reported. */
  readonly outcome: string;
  /** The class of the exception; '' if there is none. */
  readonly error_type: string;
  /** How often the task had been retried before this run. */
  readonly retries: number;
  readonly received: string | null;
  readonly started: string | null;
  readonly ended: string | null;
  readonly wait_s: number | null;
  readonly runtime_s: number | null;
}

/** A run that failed or is retried, with the texts of its exception, redacted as in log records. */
export interface FailureRow extends RunRow {
  readonly message: string;
  /** '' if Celery did not report it. */
  readonly stacktrace: string;
}

/** A run that has not ended, or a task that was sent and not received yet. */
export interface OpenRow {
  readonly id: string;
  readonly task: string;
  readonly queue: string;
  /** The nodename; '' if no worker has received it. */
  readonly worker: string;
  /** `sent`: not received yet; `scheduled`: its ETA is in the future; `waiting`: in the prefetch of its worker; `doubtful`: its end may have been missed. */
  readonly stage: 'sent' | 'scheduled' | 'waiting' | 'running' | 'doubtful';
  readonly retries: number;
  /** When this stage began. */
  readonly since: string | null;
  readonly age_s: number | null;
}

/** How many of the remembered runs have this queue or worker. */
export interface Share {
  readonly name: string;
  readonly runs: number;
}

/** How many runs of the service are remembered, and at most can be. */
export interface Remembered {
  readonly runs: number;
  readonly limit: number;
}

/** What the documents of a task, a queue and a worker have in common. */
export interface Head {
  readonly version: 1;
  readonly time: string;
  readonly service: string;
  readonly name: string;
  readonly remembered: Remembered;
}

export interface TaskDocument extends Head {
  /** Null if the task has no row of its own. */
  readonly hour: TaskHour | null;
  /** The newest first, as in all lists of runs. */
  readonly failures: readonly FailureRow[];
  readonly runs: readonly RunRow[];
  /** The queues and the workers of its remembered runs, the most frequent first. */
  readonly queues: readonly Share[];
  readonly workers: readonly Share[];
}

export interface QueueDocument extends Head {
  readonly hour: QueueHour | null;
  /** Nodenames of the workers that report consuming the queue; null if workers are not asked. */
  readonly consumers: readonly string[] | null;
  readonly runs: readonly RunRow[];
  /** The workers of these runs, the most frequent first: those that are no consumers now consumed the queue before. */
  readonly workers: readonly QueueWorker[];
}

export interface QueueWorker extends Share {
  /** Its last exit; null if none was seen. */
  readonly exit: WorkerExitRow | null;
}

export interface WorkerExitRow {
  readonly at: string;
  readonly reason: 'goodbye' | 'silence' | 'replaced' | 'restarted';
}

export interface WorkerDocument extends Head {
  /** The runs that it executes, the oldest first; `total` may exceed the number of rows. */
  readonly running: { readonly total: number; readonly rows: readonly OpenRow[] };
  /** The queues that it consumes; null if it has not reported them. */
  readonly queues: readonly string[] | null;
  readonly exits: readonly WorkerExitRow[];
  readonly runs: readonly RunRow[];
}

/** A finished run of a workflow, in the order in which its tree is drawn. */
export interface TreeRow
  extends Pick<RunRow, 'id' | 'task' | 'worker' | 'outcome' | 'error_type' | 'retries'> {
  /** The number of its ancestors; 0 for the root. */
  readonly depth: number;
  /** When it was sent, or otherwise received; null if both are unknown. */
  readonly from: string | null;
  readonly started: string | null;
  /** Null if its end has no plausible time. */
  readonly ended: string | null;
}

/** What is known of a task id in one service. */
export interface FoundTask {
  readonly service: string;
  readonly open: readonly OpenRow[];
  readonly runs: readonly RunRow[];
  readonly failures: readonly FailureRow[];
  /** The first finished runs of its workflow that are remembered, and the runs with this id. */
  readonly tree: readonly TreeRow[];
  /** How many remembered runs the workflow has. */
  readonly tree_total: number;
  readonly remembered: Remembered;
}

/** What is known of a task id in all services. */
export interface FoundDocument {
  readonly version: 1;
  readonly time: string;
  readonly id: string;
  /** The services that know the id. */
  readonly found: readonly FoundTask[];
  /** The sum over all services. */
  readonly remembered: Remembered;
}

export type RowDocument = TaskDocument | QueueDocument | WorkerDocument;
