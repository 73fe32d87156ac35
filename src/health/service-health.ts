/**
 * The current health of one service, or of the bridge itself, from the bridge’s own events: its broker, exports and
 * remote control. Pure: the time is an argument. It keeps a bounded number of names.
 */

import type {
  BatchedSignal,
  ItemDropReason,
  ReplyOutcome,
  SelfEvent,
  SelfEventKind,
} from '../self/self-event.ts';
import { noteSkipped, type Refusals } from './skipped-commands.ts';

/** How many names of deaf workers are kept. */
const NAMES_MAX = 100;
/**
 * How many skipped commands are kept: the default of workers_max, since in an old cluster on Redis every worker has
 * some.
 */
const SKIPPED_MAX = 10_000;

/** The result of the latest attempt at something. */
export interface Attempt {
  readonly outcome: 'success' | 'partial' | 'failure';
  /** '' if it succeeded. */
  readonly reason: string;
  /** By a monotonic clock. */
  readonly atMs: number;
}

export interface ExportAttempt extends Attempt {
  readonly backend: string;
  /** Failures in a row, including this one. */
  readonly failures: number;
  /** How many items the backend rejected permanently in this attempt. */
  readonly rejected: number;
  /** Data points, spans or log records in this attempt. */
  readonly items: number;
  /** When an export last succeeded, by a monotonic clock; undefined if none has. */
  readonly succeededAtMs: number | undefined;
}

export interface Loss {
  readonly count: number;
  /** When the last item was lost, by a monotonic clock. */
  readonly atMs: number;
  readonly detail: string;
}

export type Exported = 'metrics' | BatchedSignal;

/** The health of one service, or of the bridge itself. */
export class ServiceHealth {
  hasConnected = false;
  connections = 0;
  /** The address of the latest connection. */
  broker: string | undefined;
  isStopping = false;
  /** By address: how the latest attempt to connect ended, since the last connection. */
  readonly failures = new Map<string, SelfEvent<'broker-session-ended'>>();
  /** Why the broker blocks publishers, and why it refuses our messages; undefined if it does not. */
  blocked: string | undefined;
  publishRefused: string | undefined;
  readonly exports = new Map<Exported, ExportAttempt>();
  polled: Attempt | undefined;
  asked: Attempt | undefined;
  /** The latest reply of a worker that could not be used. */
  unusableReply: Omit<Attempt, 'outcome'> | undefined;
  eventsMissing: SelfEvent<'events-missing'> | undefined;
  taskEventsMissing: SelfEvent<'task-events-missing'> | undefined;
  readonly deaf = new Set<string>();
  /** Commands that are currently skipped for workers. */
  readonly skipped: Refusals = new Map();
  /** How many instances of celery-otel export this service; a check does not count. Undefined if unknown. */
  instances: number | undefined;
  /** Dropped messages and events, by the reason; the reasons are a closed list. */
  readonly dropped = new Map<string, Loss>();
  /** By table: entries that were evicted although they were needed. */
  readonly evicted = new Map<string, Loss>();
  /** Spans or log records that will never be sent; `detail` is the reason. */
  readonly unsent = new Map<BatchedSignal, Loss>();
  /** The metric that reached its cardinality limit last. */
  overflowed: { readonly metric: string; readonly limit: number; readonly atMs: number } | undefined;
  defects = 0;
  defectAtMs = Number.NEGATIVE_INFINITY;
  /** When the broker was lost, by a monotonic clock; undefined while connected, and before the first connection. */
  lostAtMs: number | undefined;

  note<K extends SelfEventKind>(event: SelfEvent<K>, nowMs: number): void {
    NOTES[event.kind]?.(this, event, nowMs);
  }
}

const UNUSABLE: readonly ReplyOutcome[] = ['error', 'unreadable', 'repeated', 'too_large'];

const UNSENT: readonly ItemDropReason[] = ['queue_full', 'refused'];

type Note<K extends SelfEventKind> = (health: ServiceHealth, event: SelfEvent<K>, nowMs: number) => void;

/** What each kind of event changes; other kinds change nothing. */
const NOTES: { readonly [K in SelfEventKind]?: Note<K> } = {
  'broker-connected': (health, { broker }) => {
    health.hasConnected = true;
    health.connections += 1;
    health.broker = broker;
    health.failures.clear();
    health.lostAtMs = undefined;
  },
  'broker-session-ended': (health, event, atMs) => {
    health.failures.set(event.broker, event);
    if (health.hasConnected) health.lostAtMs ??= atMs;
    health.blocked = undefined;
    health.publishRefused = undefined;
    health.eventsMissing = undefined;
    health.taskEventsMissing = undefined;
    health.skipped.clear();
  },
  'publish-blocked': (health, { reason }) => {
    health.blocked = reason;
  },
  'publish-unblocked': (health) => {
    health.blocked = undefined;
  },
  'publish-refused': (health, { reason }) => {
    health.publishRefused = reason;
  },
  'service-stopping': (health) => {
    health.isStopping = true;
  },
  'input-dropped': (health, { reason, intentional, detail, count = 1 }, atMs) => {
    if (!intentional) add(health.dropped, reason, { count, atMs, detail });
  },
  'table-evicted': (health, { table, count }, atMs) =>
    add(health.evicted, table, { count, atMs, detail: '' }),
  'broker-polled': (health, { outcome, reason }, atMs) => {
    health.polled = { outcome, reason, atMs };
  },
  'workers-asked': (health, { outcome, reason, replies }, atMs) => {
    health.asked = { outcome, reason, atMs };
    if (outcome !== 'failure' && UNUSABLE.some((fault) => (replies[fault] ?? 0) > 0))
      health.unusableReply = { reason, atMs };
  },
  'worker-deaf': ({ deaf }, { worker }) => {
    if (deaf.size < NAMES_MAX) deaf.add(worker);
  },
  'command-skipped': (health, event) => {
    noteSkipped(health.skipped, event, SKIPPED_MAX);
  },
  'worker-recovered': ({ deaf }, { worker }) => deaf.delete(worker),
  'instances-changed': (health, { count }) => {
    health.instances = count;
  },
  'events-missing': (health, event) => {
    health.eventsMissing = event;
  },
  'events-resumed': (health) => {
    health.eventsMissing = undefined;
  },
  'task-events-missing': (health, event) => {
    health.taskEventsMissing = event;
  },
  'task-events-resumed': (health) => {
    health.taskEventsMissing = undefined;
  },
  'export-finished': ({ exports }, { outcome, reason, backend, points: items, rejectedPoints }, atMs) =>
    attempted(exports, 'metrics', { outcome, reason, backend, items, rejected: rejectedPoints, atMs }),
  'batch-finished': ({ exports }, { signal, outcome, reason, backend, items, rejectedItems }, atMs) =>
    attempted(exports, signal, { outcome, reason, backend, items, rejected: rejectedItems, atMs }),
  'series-overflowed': (health, { metric, limit }, atMs) => {
    health.overflowed = { metric, limit, atMs };
  },
  'items-dropped': (health, { signal, reason, count }, atMs) => {
    // Other reasons are intended, such as sampling.
    if (UNSENT.includes(reason)) add(health.unsent, signal, { count, atMs, detail: reason });
  },
  defect: (health, _event, atMs) => {
    health.defects += 1;
    health.defectAtMs = atMs;
  },
};

function add<Key>(losses: Map<Key, Loss>, key: Key, { count, ...last }: Loss): void {
  losses.set(key, { ...last, count: count + (losses.get(key)?.count ?? 0) });
}

function attempted(
  exports: Map<Exported, ExportAttempt>,
  signal: Exported,
  attempt: Omit<ExportAttempt, 'failures' | 'succeededAtMs'>,
): void {
  // With nothing to send, the backend was not contacted.
  if (attempt.outcome === 'success' && attempt.items === 0) return;
  const before = exports.get(signal);
  const failed = attempt.outcome === 'failure';
  exports.set(signal, {
    ...attempt,
    failures: failed ? (before?.failures ?? 0) + 1 : 0,
    succeededAtMs: failed ? before?.succeededAtMs : attempt.atMs,
  });
}
