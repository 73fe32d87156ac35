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
 * `process`: an exception that nobody caught, which ends the process; `deliver`: processing a message; `between`: between two broker
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
 * Why a span or a log record is not sent. `queue_full`: too many waited; `refused`: the backend would refuse it again; `stopped`: the
 * time for the last batches was up; `unknown_root`: the receipt of its task was missed, so its trace is not known; `repeated` and
 * `rate_limited`: too many records of one problem, or in all.
 */
export type ItemDropReason =
  | 'queue_full'
  | 'refused'
  | 'stopped'
  | 'unknown_root'
  | 'repeated'
  | 'rate_limited';

/** Commands of remote control that workers are asked with (`broker/control/commands.ts`). */
export type AskedName =
  | 'ping'
  | 'stats'
  | 'active_queues'
  | 'active'
  | 'reserved'
  | 'scheduled'
  | 'enable_events';

/** Why a worker is not asked something. */
export type Skipped =
  /** Its replies are not JSON: none is of use, and some would fail. */
  | { readonly kind: 'serializer' }
  /** A reply that fails may stop a worker of its version, and nobody named the command. '' if it is not known. */
  | { readonly kind: 'version'; readonly version: string }
  /** It did not reply, and goes on: its reply failed. */
  | { readonly kind: 'unanswered' }
  /** It went deaf when it was asked: then nobody is asked any more. */
  | { readonly kind: 'deaf' }
  /** All of this has ended: it was restarted, or has left. */
  | { readonly kind: 'over' };

/** Nothing is known of it but its service. */
type Alone = unknown;

interface PublishFailed {
  readonly broker: string;
  readonly reason: string;
}

/** What can happen, by its kind. */
interface Facts {
  'broker-connected': {
    readonly broker: string;
    /** The exchange whose events arrive; a recording has none. */
    readonly exchange?: string;
    readonly attempts: number;
  };
  /** The exchange did not exist, so nobody can have published to it. */
  'exchange-made': { readonly broker: string; readonly exchange: string };
  /** The broker takes nobody’s messages, in an alarm. */
  'publish-blocked': PublishFailed;
  /** The broker does not take ours, without permission. */
  'publish-refused': PublishFailed;
  'broker-session-ended': {
    readonly broker: string;
    readonly end: SessionEndKind;
    readonly reason: string;
    /** Whether TLS failed. */
    readonly isTls?: boolean;
    /** ms until the next attempt, 0 for at once; undefined when there will be none. */
    readonly retryInMs: number | undefined;
    /** Whether the next attempt is at another address. */
    readonly isElsewhere?: boolean;
  };
  /** A message, or an event in it, was dropped. `intentional`: by design, not a loss. */
  'input-dropped': {
    readonly reason: string;
    readonly intentional: boolean;
    readonly detail: string;
    /** How many, if more than one. */
    readonly count?: number;
  };
  /** A field of an event has an implausible value and was ignored; the event is counted. */
  'field-implausible': {
    /** One of a closed list. */
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
    /** Of this metric of this service. */
    readonly isFirst: boolean;
  };
  /** A waiting time was negative, because the clocks of two hosts differ. */
  'clock-skewed': { readonly senderHost: string; readonly workerHost: string };
  /** A task that was counted as lost ended after all. */
  'loss-refuted': { readonly task: string; readonly worker: string };
  /** The broker was asked for its queues. `partial`: some answers are missing. */
  'broker-polled': {
    readonly outcome: 'success' | 'partial' | 'failure';
    /** '' if it succeeded. */
    readonly reason: string;
  };
  /** The workers were asked by remote control. `partial`: some did not reply, or not as expected. */
  'workers-asked': {
    readonly command: AskedName;
    readonly outcome: 'success' | 'partial' | 'failure';
    /** '' if it succeeded. */
    readonly reason: string;
    readonly replies: Readonly<Partial<Record<ReplyOutcome, number>>>;
    /** How many workers the question reached, if the broker says it. */
    readonly receivers?: number;
  };
  /** A worker is not asked something. Once for each of its processes, and reason. */
  'command-skipped': {
    readonly worker: string;
    readonly commands: readonly AskedName[];
    readonly why: Skipped;
  };
  /** A worker that is gone left its name in Redis, with another separator than those that live. Once for each. */
  'name-left-behind': {
    readonly member: string;
    /** What to write in `redis-cli`. */
    readonly removal: string;
  };
  /** A worker lives, but has stopped listening: it consumes no task. */
  'worker-deaf': { readonly worker: string };
  /** It replies again, was restarted, or left. */
  'worker-recovered': { readonly worker: string };
  /** How many instances of celery-otel export this service, if there are several, or were. */
  'instances-changed': { readonly count: number };
  'export-finished': {
    /** Where to and how, without secrets. */
    readonly backend: string;
    /** `partial`: the backend rejected some points for good. */
    readonly outcome: 'success' | 'partial' | 'failure';
    readonly durationMs: number;
    /** Points that arrived, including rejected ones. */
    readonly points: number;
    readonly rejectedPoints: number;
    readonly reason: string;
  };
  /** A batch of spans or log records was sent, or was tried to be; it may have those of several services. */
  'batch-finished': {
    readonly signal: BatchedSignal;
    /** Where to and how, without secrets. */
    readonly backend: string;
    /** `partial`: the backend rejected some for good. */
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
  /** Connected, but no event has arrived for `forMs`. */
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
    /** Some of them. */
    readonly workers: readonly string[];
    /** How many more there are. */
    readonly more: number;
  };
  /** No such worker is left. */
  'task-events-resumed': Alone;
  /** The clock of this machine was set, back where it is negative; or the machine was suspended. */
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
    /** The part of it spent waiting for the backend. */
    readonly waitedMs: number;
    readonly intervalMs: number;
  };
  'service-started': { readonly brokers: readonly string[] };
  /** Remote control is used in a way that may stop workers. */
  'workers-endangered': { readonly commands: readonly string[] };
  'service-stopping': Alone;
  'service-stopped': {
    /**
     * `flushed`: everything counted was exported; `empty`: there was nothing to export. `rejected`: the backend rejected
     * points of the last export for good. `unsent`: the last export did not arrive; `never-exported`: none ever did.
     * `handed-over`: the metrics are in the attached MeterProvider.
     */
    readonly metrics: 'flushed' | 'empty' | 'rejected' | 'unsent' | 'never-exported' | 'handed-over';
  };
  /** A setting that changes nothing, as a variable of an environment that is shared. */
  'setting-unused': { readonly reason: string };
  /** Node or a library warns about the process, as of a variable that switches TLS checks off. */
  'process-warned': { readonly reason: string };
  /** Probes and the status are answered there. */
  'status-served': {
    readonly url: string;
    /** Whether others than this machine may reach it, and need no token. */
    readonly isOpen: boolean;
  };
  /** The npm script that started the process is gone, so it stops. */
  'starter-gone': Alone;
  /** An unexpected error was caught at a boundary: the current operation failed, the rest goes on. */
  defect: { readonly where: DefectPlace; readonly reason: string };
}

export type SelfEventKind = keyof Facts;

/** `service`: the name of a Celery service, or of the bridge itself. */
export type SelfEvent<K extends SelfEventKind = SelfEventKind> = {
  [Each in K]: { readonly kind: Each; readonly service: string } & Facts[Each];
}[K];

/** Takes a self event; must not throw. */
export type EventSink = (event: SelfEvent) => void;

/** What became of a reply of a worker. `repeated`: another one had the same nodename. */
export type ReplyOutcome = 'answer' | 'error' | 'unreadable' | 'repeated' | 'late' | 'too_large';
