/**
 * Everything that can happen to the bridge itself, as typed facts. Log lines and self metrics are both derived from them, so
 * the two cannot drift. Names and reasons are raw: only the log escapes them. It imports nothing.
 */

/** How an attempt to use a broker ended; mirrors `SessionEnd` of the transports. */
export type SessionEndKind =
  | 'stopped'
  | 'finished'
  | 'unreachable'
  | 'refused'
  | 'malformed'
  | 'unusable'
  | 'lost';

/**
 * `process`: an uncaught exception, which ends the process; `deliver`: processing a message; `between`: between two broker
 * sessions; `look`: a periodic check; `report`: making spans and log records.
 */
export type DefectPlace =
  | 'process'
  | 'transport'
  | 'deliver'
  | 'between'
  | 'look'
  | 'report'
  | 'export'
  | 'attached_provider'
  | 'stop';

/** The signals that are sent in batches. */
export type BatchedSignal = 'traces' | 'logs';

/**
 * Why a span or a log record was dropped. `queue_full`: too many waited; `refused`: the backend would refuse it again;
 * `stopped`: the shutdown timeout expired; `unknown_root`: the task-received event was missed, so the trace is unknown;
 * `trace_undecided`: too much was held to wait for the end of the trace;
 * `repeated` and `rate_limited`: too many records of one problem, or in total.
 */
export type ItemDropReason =
  | 'queue_full'
  | 'refused'
  | 'stopped'
  | 'unknown_root'
  | 'trace_undecided'
  | 'repeated'
  | 'rate_limited';

/** Remote control commands sent to workers (`broker/control/commands.ts`). */
export type AskedName =
  | 'ping'
  | 'stats'
  | 'active_queues'
  | 'active'
  | 'reserved'
  | 'scheduled'
  | 'enable_events';

/** Why a command is skipped for a worker. */
export type Skipped =
  /** Its replies are not JSON: none can be read, and some would fail. */
  | { readonly kind: 'serializer' }
  /** A failed reply may stop a worker of this version ('' if unknown), and the configuration does not name the command. */
  | { readonly kind: 'version'; readonly version: string }
  /** The worker did not reply but still runs: its reply failed. */
  | { readonly kind: 'unanswered' }
  /** The worker went deaf after this command (it stopped listening): the command is not sent to any other worker. */
  | { readonly kind: 'deaf' }
  /** None of these applies any more: the worker was restarted, or has left. */
  | { readonly kind: 'over' };

/** An event with no field but its service. */
type Alone = unknown;

interface PublishChanged {
  readonly broker: string;
  readonly reason: string;
}

/** The kinds of self events, and the fields of each. */
interface Facts {
  'broker-connected': {
    readonly broker: string;
    /** The exchange whose events arrive; a recording has none. */
    readonly exchange?: string;
    readonly attempts: number;
  };
  /** The exchange did not exist, so nothing can have been published to it. */
  'exchange-made': { readonly broker: string; readonly exchange: string };
  /** The broker blocks all publishers because of an alarm. */
  'publish-blocked': PublishChanged;
  /** The alarm is over; the reason is ''. */
  'publish-unblocked': PublishChanged;
  /** The broker refuses our messages for lack of permission. */
  'publish-refused': PublishChanged;
  'broker-session-ended': {
    readonly broker: string;
    readonly end: SessionEndKind;
    readonly reason: string;
    /** Whether TLS failed. */
    readonly isTls?: boolean;
    /** ms until the next attempt, 0 for immediately; undefined if there is none. */
    readonly retryInMs: number | undefined;
    /** Whether the next attempt is at another address. */
    readonly isElsewhere?: boolean;
  };
  /** A message, or an event in it, was dropped. `intentional`: by design, not a loss. */
  'input-dropped': {
    readonly reason: string;
    readonly intentional: boolean;
    readonly detail: string;
    /** How many messages or events; by default one. */
    readonly count?: number;
  };
  /** A field of an event has an implausible value and was ignored; the event is counted. */
  'field-implausible': {
    /** The name of a row of `celery/numeric-fields.ts`. */
    readonly field: string;
    readonly detail: string;
  };
  /** A full table evicted entries that were still needed. */
  'table-evicted': {
    readonly table: 'tasks' | 'workers' | 'reordering_window' | 'clock_skews' | 'fixed_bounds';
    readonly count: number;
  };
  /** A metric reached its cardinality limit since the last collection. */
  'series-overflowed': {
    readonly metric: string;
    /** Maximum number of points. */
    readonly limit: number;
    /** Whether this is the first overflow of this metric of this service. */
    readonly isFirst: boolean;
  };
  /** A waiting time was negative, because the clocks of two hosts differ. */
  'clock-skewed': { readonly senderHost: string; readonly workerHost: string };
  /** A task that was counted as lost ended after all. */
  'loss-refuted': { readonly task: string; readonly worker: string };
  /** The broker was polled for its queues. `partial`: some replies are missing. */
  'broker-polled': {
    readonly outcome: 'success' | 'partial' | 'failure';
    /** '' if it succeeded. */
    readonly reason: string;
  };
  /** A remote control command was sent to workers. `partial`: some did not reply, or not as expected. */
  'workers-asked': {
    readonly command: AskedName;
    readonly outcome: 'success' | 'partial' | 'failure';
    /** '' if it succeeded. */
    readonly reason: string;
    readonly replies: Readonly<Partial<Record<ReplyOutcome, number>>>;
    /** How many workers the command reached, if the broker reports it. */
    readonly receivers?: number;
  };
  /** A command is skipped for a worker. Once per process and reason. */
  'command-skipped': {
    readonly worker: string;
    readonly commands: readonly AskedName[];
    readonly why: Skipped;
  };
  /** A worker that is no longer running left its name in Redis, with another separator than the live ones. Once per name. */
  'name-left-behind': {
    readonly member: string;
    /** The command for `redis-cli`. */
    readonly removal: string;
  };
  /** A worker still sends heartbeats but has stopped listening: it consumes no tasks. */
  'worker-deaf': { readonly worker: string };
  /** A deaf worker replies again, was restarted, or left. */
  'worker-recovered': { readonly worker: string };
  /** How many instances of celery-otel export this service, when that changes. */
  'instances-changed': { readonly count: number };
  'export-finished': {
    /** Where to and how, without secrets. */
    readonly backend: string;
    /** `partial`: the backend rejected some points permanently. */
    readonly outcome: 'success' | 'partial' | 'failure';
    readonly durationMs: number;
    /** Points that arrived, including rejected ones. */
    readonly points: number;
    readonly rejectedPoints: number;
    readonly reason: string;
  };
  /** An attempt to send a batch of spans or log records, possibly of several services. */
  'batch-finished': {
    readonly signal: BatchedSignal;
    /** Where to and how, without secrets. */
    readonly backend: string;
    /** `partial`: the backend rejected some permanently. */
    readonly outcome: 'success' | 'partial' | 'failure';
    readonly durationMs: number;
    /** Spans or records that arrived, including rejected ones. */
    readonly items: number;
    readonly rejectedItems: number;
    readonly reason: string;
  };
  /** Spans or log records that will never be sent. */
  'items-dropped': {
    readonly signal: BatchedSignal;
    readonly reason: ItemDropReason;
    readonly count: number;
  };
  /** The broker is connected, but no event has arrived for `forMs`. */
  'events-missing': {
    readonly exchange: string;
    readonly forMs: number;
    /** Messages that arrived without a readable event. */
    readonly unread: number;
  };
  /** Events arrive again after `afterMs`. */
  'events-resumed': { readonly afterMs: number };
  /** Workers run tasks, according to their heartbeats, but send no task events. */
  'task-events-missing': {
    /** The names of some of these workers. */
    readonly workers: readonly string[];
    /** How many more workers there are. */
    readonly more: number;
  };
  /** No worker runs tasks without sending task events any more. */
  'task-events-resumed': Alone;
  /** The clock of this machine was set (negative: back), or the machine was suspended. */
  'clock-stepped': { readonly byMs: number };
  /** The first successful export after failures. */
  'exports-recovered': {
    readonly backend: string;
    readonly failures: number;
    readonly afterMs: number;
  };
  /** A successful export took longer than the interval, so that others were skipped. */
  'export-late': {
    readonly durationMs: number;
    /** The part of the duration that was spent waiting for the backend. */
    readonly waitedMs: number;
    readonly intervalMs: number;
  };
  'service-started': { readonly brokers: readonly string[] };
  /** The configured remote control commands may stop workers. */
  'workers-endangered': { readonly commands: readonly string[] };
  'service-stopping': Alone;
  'service-stopped': {
    /**
     * `flushed`: everything counted was exported; `empty`: there was nothing to export. `rejected`: the backend rejected
     * points of the last export permanently. `unsent`: the last export did not arrive; `never-exported`: none ever did.
     * `handed-over`: the metrics are in the attached MeterProvider.
     */
    readonly metrics: 'flushed' | 'empty' | 'rejected' | 'unsent' | 'never-exported' | 'handed-over';
  };
  /** A setting that has no effect, such as a variable of a shared environment. */
  'setting-unused': { readonly reason: string };
  /** A warning of Node.js or a library about the process, such as a variable that disables TLS checks. */
  'process-warned': { readonly reason: string };
  /** The status server listens for probes and status requests. */
  'status-served': {
    readonly url: string;
    /** Whether other machines can reach it, without a token. */
    readonly isOpen: boolean;
  };
  /** The npm script that started the process has ended, so it stops. */
  'starter-gone': Alone;
  /** An unexpected error was caught at a boundary: the current operation failed, everything else continues. */
  defect: { readonly where: DefectPlace; readonly reason: string };
}

export type SelfEventKind = keyof Facts;

/** `service`: the name of a Celery service, or of the bridge itself. */
export type SelfEvent<K extends SelfEventKind = SelfEventKind> = {
  [Each in K]: { readonly kind: Each; readonly service: string } & Facts[Each];
}[K];

/** Takes a self event; must not throw. */
export type EventSink = (event: SelfEvent) => void;

/** What happened to a worker’s reply. `repeated`: another one had the same nodename. */
export type ReplyOutcome = 'answer' | 'error' | 'unreadable' | 'repeated' | 'late' | 'too_large';
