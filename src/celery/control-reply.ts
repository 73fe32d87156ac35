/**
 * Decodes the replies of workers to remote control (Celery: worker/control.py, worker/worker.py `stats`). Pure: no clock, and
 * no input makes it throw. It keeps only the fields listed here, because a reply may contain passwords.
 */
import type { RawMessage } from '../broker/broker.ts';
import { isJsonObject } from '../text/json-structure.ts';
import { undelayedKey } from '../text/native-delay.ts';
import { open } from './envelope.ts';
import { epochMs, identifier, isoMs, name, type RawFields } from './fields.ts';
import {
  type Findings,
  type Implausible,
  NOTHING_IMPLAUSIBLE,
  NUMERIC_FIELDS,
  numeric,
} from './numeric-fields.ts';
import type { Rejection } from './rejection.ts';

/** Celery’s pools; `other` for third-party ones. */
export type PoolKind = 'prefork' | 'threads' | 'solo' | 'gevent' | 'eventlet' | 'other';

/** The reply to `stats`. A field is undefined if the worker did not report it, or if its value is implausible. */
export interface WorkerStats {
  /** Process id of the worker’s main process; 0 if missing. */
  readonly pid: number;
  readonly pool: PoolKind | undefined;
  /** How many tasks the pool can run at once now: the number of its processes, or the size of a pool without processes. */
  readonly processes: number | undefined;
  /** How many tasks the pool can run at once at most, with an autoscaler once it has scaled up. */
  readonly limit: number | undefined;
  /** The smallest and largest size of the pool, in tasks; undefined if the worker has no autoscaler. */
  readonly autoscaler: { readonly min: number | undefined; readonly max: number | undefined } | undefined;
  /** How many unacknowledged tasks the worker may hold; 0 for no limit. */
  readonly prefetchLimit: number | undefined;
  /** Seconds since the worker started. */
  readonly uptimeS: number | undefined;
  /** CPU seconds of the main process in user mode, then in system mode, and its peak memory. */
  readonly cpuUserS: number | undefined;
  readonly cpuSystemS: number | undefined;
  readonly memoryMaxBytes: number | undefined;
  /** For each process of a prefork pool, how many tasks it was given since the worker started; empty for other pools. */
  readonly writes: readonly number[];
}

/** A task that a worker reported. */
export interface ReportedTask {
  readonly uuid: string;
  /** `waiting` for a free slot of the pool, `scheduled` for its ETA. */
  readonly stage: 'started' | 'waiting' | 'scheduled';
  /** '' if missing; the shadow name if the task has one. */
  readonly name: string;
  /** '' if the routing of the task does not name its queue. */
  readonly queue: string;
  /** The start of a started task, by the worker’s clock, or the ETA of a scheduled one; epoch ms, undefined if not reported. */
  readonly sinceMs: number | undefined;
}

/** The part that all readable replies have. */
interface Replied {
  /** The worker that sent the reply. */
  readonly nodename: string;
}

export type ControlReply<Content> =
  | (Replied & {
      readonly kind: 'answer';
      readonly content: Content;
      readonly implausible: readonly Implausible[];
    })
  /** The worker could not execute the command. The text of the error is not kept, since it may contain anything. */
  | (Replied & { readonly kind: 'error' })
  /** The reply does not have the form that the command returns. */
  | (Replied & { readonly kind: 'unexpected' })
  | { readonly kind: 'unreadable'; readonly rejection: Rejection };

/** Reads the return value of one command; returns undefined if the value has another form. */
export type ReplyReader<Content> = (value: unknown, findings: Findings) => Content | undefined;

/** At most this many queues of one worker are kept. */
const QUEUES_MAX = 10_000;
/** At most this many processes of one pool are kept in `writes`. */
const PROCESSES_MAX = 1000;
/** At most this many tasks of one worker are kept; the largest pools of greenlets run some thousands. */
const TASKS_MAX = 10_000;

/** @param listenedMs the current time of a monotonic clock */
export function readReply<Content>(
  message: RawMessage,
  listenedMs: number,
  read: ReplyReader<Content>,
): ControlReply<Content> {
  const opened = open(message, listenedMs, undefined);
  if (!opened.ok) return { kind: 'unreadable', rejection: opened.rejection };
  // A reply has one entry, for the worker that sent it (kombu: pidbox.py, `_publish_reply`).
  const [[hostname, value] = ['', undefined]] = isJsonObject(opened.value)
    ? Object.entries(opened.value)
    : [];
  const nodename = name(hostname);
  if (nodename === '')
    return { kind: 'unreadable', rejection: { reason: 'missing-hostname', detail: 'reply' } };
  if (isJsonObject(value) && 'error' in value) return { kind: 'error', nodename };
  const findings: Findings = { implausible: NOTHING_IMPLAUSIBLE };
  const content = read(value, findings);
  if (content === undefined) return { kind: 'unexpected', nodename };
  return { kind: 'answer', nodename, content, implausible: findings.implausible };
}

/** Command `active_queues`: the names of the queues that the worker consumes. */
export const readQueues: ReplyReader<readonly string[]> = (value) => {
  if (!Array.isArray(value)) return undefined;
  const queues: readonly unknown[] = value;
  const names = queues.slice(0, QUEUES_MAX).map((queue) => (isJsonObject(queue) ? name(queue['name']) : ''));
  return [...new Set(names)].filter((queue) => queue !== '');
};

/** The reply to a command that only confirms success, such as `ping`. */
export const readDone: ReplyReader<true> = (value) =>
  isJsonObject(value) && 'ok' in value ? true : undefined;

/** Command `active`: the tasks that the worker is running. */
export const readActive: ReplyReader<readonly ReportedTask[]> = (value) =>
  tasksOf(value, (task) => reportedTask(task, 'started', epochMs(fieldsOf(task)['time_start'])));

/** Command `reserved`: the tasks that wait for a free slot of the pool. */
export const readReserved: ReplyReader<readonly ReportedTask[]> = (value) =>
  tasksOf(value, (task) => reportedTask(task, 'waiting', undefined));

/** Command `scheduled`: the tasks that wait for their ETA. */
export const readScheduled: ReplyReader<readonly ReportedTask[]> = (value, findings) =>
  tasksOf(value, (item) => {
    const { eta, request } = fieldsOf(item);
    const etaMs = isoMs(eta, NUMERIC_FIELDS.eta, findings);
    return reportedTask(request, etaMs === undefined ? 'waiting' : 'scheduled', etaMs);
  });

function tasksOf(
  value: unknown,
  read: (item: unknown) => ReportedTask | undefined,
): readonly ReportedTask[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const items: readonly unknown[] = value;
  return items.slice(0, TASKS_MAX).flatMap((item) => read(item) ?? []);
}

/** Reads what a worker reports about a task (Celery: worker/request.py, `info`); undefined if it has no id. */
function reportedTask(
  value: unknown,
  stage: ReportedTask['stage'],
  sinceMs: number | undefined,
): ReportedTask | undefined {
  const { id, name: taskName, delivery_info: delivery } = fieldsOf(value);
  const uuid = identifier(id);
  if (uuid === '') return undefined;
  return { uuid, stage, name: name(taskName), queue: queueOf(fieldsOf(delivery)), sinceMs };
}

/** The exchange of delayed messages (kombu: transport/native_delayed_delivery.py). */
const DELAYED_EXCHANGE = 'celery_delayed_delivery';

/**
 * With the default exchange, and with Celery’s default routing, the routing key is the name of the queue. With native delayed
 * delivery, the queue is named by the part of the key that follows the delay, as in `task-sent`.
 */
function queueOf({ exchange, routing_key: key }: RawFields): string {
  const queue = name(key);
  if (exchange === DELAYED_EXCHANGE) return undelayedKey(queue) ?? '';
  return exchange === '' || exchange === null || exchange === queue ? queue : '';
}

/** Command `stats`: the pool, the limits and the resource usage of the worker. */
export const readStats: ReplyReader<WorkerStats> = (value, findings) => {
  if (!isJsonObject(value)) return undefined;
  const number = (given: unknown, field: keyof typeof NUMERIC_FIELDS): number | undefined =>
    // Celery writes `N/A` for values that a platform or a pool does not have.
    given === 'N/A' ? undefined : numeric(given, NUMERIC_FIELDS[field], findings);
  const pool = fieldsOf(value['pool']);
  const scaler = isJsonObject(value['autoscaler']) ? value['autoscaler'] : undefined;
  const usage = fieldsOf(value['rusage']);
  const kind = poolKind(pool);
  const concurrency = number(pool['max-concurrency'], 'concurrency');
  const current = number(scaler?.['current'], 'concurrency');
  const max = number(scaler?.['max'], 'concurrency');
  const kib = number(usage['maxrss'], 'maxrss');
  return {
    pid: number(value['pid'], 'pid') ?? 0,
    pool: kind,
    processes: processesOf(pool, kind) ?? current ?? concurrency,
    // If there is an autoscaler, `max-concurrency` is its minimum, not its maximum.
    limit: max ?? concurrency,
    autoscaler: scaler && { min: number(scaler['min'], 'concurrency'), max },
    prefetchLimit: number(value['prefetch_count'], 'prefetch_count'),
    uptimeS: number(value['uptime'], 'uptime'),
    cpuUserS: number(usage['utime'], 'cpu_time'),
    cpuSystemS: number(usage['stime'], 'cpu_time'),
    memoryMaxBytes: kib === undefined ? undefined : kib * 1024,
    writes: writesOf(fieldsOf(pool['writes'])['raw'], findings),
  };
};

/** The number of processes of a prefork pool. */
function processesOf(pool: RawFields, kind: PoolKind | undefined): number | undefined {
  const processes = pool['processes'];
  return kind === 'prefork' && Array.isArray(processes) ? processes.length : undefined;
}

/** Reads `WorkerStats.writes`, which Celery sends as one string: `2, 1, 1`. */
function writesOf(raw: unknown, findings: Findings): readonly number[] {
  if (typeof raw !== 'string') return [];
  const counts = raw.split(',', PROCESSES_MAX).map(Number);
  return counts.flatMap((count) => numeric(count, NUMERIC_FIELDS.processed, findings) ?? []);
}

const IMPLEMENTATION = /^celery\.concurrency\.(\w+):/u;
const KINDS: ReadonlyMap<string, PoolKind> = new Map([
  ['prefork', 'prefork'],
  ['solo', 'solo'],
  ['thread', 'threads'],
  ['gevent', 'gevent'],
  ['eventlet', 'eventlet'],
]);

/** Celery before 5.3 does not name the pool, but each kind can be recognized by its keys. */
function poolKind(pool: RawFields): PoolKind | undefined {
  const { implementation } = pool;
  if (typeof implementation === 'string')
    return KINDS.get(IMPLEMENTATION.exec(implementation)?.[1] ?? '') ?? 'other';
  if (!('max-concurrency' in pool)) return undefined;
  if ('threads' in pool) return 'threads';
  if ('running-threads' in pool) return 'eventlet';
  if ('writes' in pool) return 'prefork';
  return 'processes' in pool ? 'solo' : 'gevent';
}

function fieldsOf(value: unknown): RawFields {
  return isJsonObject(value) ? value : {};
}
