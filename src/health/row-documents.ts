/**
 * The documents of one task, queue or worker of a service, and of one task id, version 1: what the pages of each show beyond the
 * rows of the service. Times are ISO 8601; durations are in seconds, and null if not known.
 */

/** What was counted in each minute of the last hour. All lists have the same length, the oldest minute first; the last is not over. */
export interface Hour {
  readonly step_s: number;
  /** When the first minute began. */
  readonly since: string;
}

export interface TaskHour extends Hour {
  /** Runs that ended so in each minute. */
  readonly succeeded: readonly number[];
  readonly failed: readonly number[];
  readonly retried: readonly number[];
  readonly lost: readonly number[];
  /** Null: no run ended in that minute, or its runtime is not known. */
  readonly runtime_p50_s: readonly (number | null)[];
  readonly runtime_p95_s: readonly (number | null)[];
}

export interface QueueHour extends Hour {
  /** Runs of its tasks that started in each minute. */
  readonly started: readonly number[];
  /** Messages that waited in the broker, at the end of the minute; null if it was not polled. */
  readonly waiting: readonly (number | null)[];
  readonly oldest_age_s: readonly (number | null)[];
  /** From the sending to the start. */
  readonly wait_p50_s: readonly (number | null)[];
  readonly wait_p95_s: readonly (number | null)[];
}

/** A run that is over. */
export interface RunRow {
  readonly id: string;
  readonly task: string;
  readonly queue: string;
  readonly worker: string;
  /** As on the metrics and spans: `succeeded`, `failed`, `retried`, `lost` …; `unknown` if no end was reported. */
  readonly outcome: string;
  /** The class of the exception; '' if there is none. */
  readonly error_type: string;
  /** How often the task had been retried before. */
  readonly retries: number;
  readonly received: string | null;
  readonly started: string | null;
  readonly ended: string | null;
  readonly wait_s: number | null;
  readonly runtime_s: number | null;
}

/** A run that failed or is retried, with its texts, redacted as those of log records are. */
export interface FailureRow extends RunRow {
  readonly message: string;
  /** '' if it was not reported. */
  readonly stacktrace: string;
}

/** A run that is not over, or a sending that no worker has received. */
export interface OpenRow {
  readonly id: string;
  readonly task: string;
  readonly queue: string;
  /** '' if no worker has it. */
  readonly worker: string;
  /** `sent`: not received yet; `scheduled`: its ETA is in the future; `waiting`: in the prefetch of its worker; `doubtful`: its end may have been missed. */
  readonly stage: 'sent' | 'scheduled' | 'waiting' | 'running' | 'doubtful';
  readonly retries: number;
  /** Since when it is in this stage. */
  readonly since: string | null;
  readonly age_s: number | null;
}

export interface Share {
  readonly name: string;
  readonly runs: number;
}

/** How many runs of the service are remembered, and how many may be. */
export interface Remembered {
  readonly runs: number;
  readonly limit: number;
}

interface Head {
  readonly version: 1;
  readonly time: string;
  readonly service: string;
  readonly name: string;
  readonly remembered: Remembered;
}

export interface TaskDocument extends Head {
  /** Null if the task has no row of its own. */
  readonly hour: TaskHour | null;
  /** The newest first, as all runs here. */
  readonly failures: readonly FailureRow[];
  readonly runs: readonly RunRow[];
  /** Of the runs that are remembered, the most frequent first. */
  readonly queues: readonly Share[];
  readonly workers: readonly Share[];
}

export interface QueueDocument extends Head {
  readonly hour: QueueHour | null;
  /** Nodenames of the workers that reported it; null if workers are not asked. */
  readonly consumers: readonly string[] | null;
  readonly runs: readonly RunRow[];
}

export interface WorkerExitRow {
  readonly at: string;
  readonly reason: 'goodbye' | 'silence' | 'replaced' | 'restarted';
}

export interface WorkerDocument extends Head {
  /** The oldest first. */
  readonly running: { readonly total: number; readonly rows: readonly OpenRow[] };
  /** Null if it has not reported them. */
  readonly queues: readonly string[] | null;
  readonly exits: readonly WorkerExitRow[];
  readonly runs: readonly RunRow[];
}

/** A run, or a sending that no run followed, in the order in which a tree is drawn. */
export interface TreeRow extends Pick<RunRow, 'id' | 'task' | 'worker' | 'outcome' | 'error_type' | 'retries'> {
  /** 0 for the root. */
  readonly depth: number;
  /** When it was sent, or received; null if neither is known. */
  readonly from: string | null;
  readonly started: string | null;
  /** Null if it is not over. */
  readonly ended: string | null;
}

/** What is known of a task id in one service. */
export interface FoundTask {
  readonly service: string;
  readonly open: readonly OpenRow[];
  readonly runs: readonly RunRow[];
  readonly failures: readonly FailureRow[];
  /** Its workflow, as far as its runs are remembered. */
  readonly tree: readonly TreeRow[];
  readonly remembered: Remembered;
}

/** What is known of a task id in all services. */
export interface FoundDocument {
  readonly version: 1;
  readonly time: string;
  readonly id: string;
  /** Those that know it. */
  readonly found: readonly FoundTask[];
  /** Of all services. */
  readonly remembered: Remembered;
}
