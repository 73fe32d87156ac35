/**
 * The table of attributes: all attribute keys of metrics, with their values. The rows of the catalog list which attributes
 * each metric has. Below are the attributes of exemplars and resources.
 */
import type { PoolKind, Revocation, RunEnd, WorkerExit } from '../cluster/observation.ts';
import type { BatchedSignal, ItemDropReason, ReplyOutcome, SelfEvent } from '../self/self-event.ts';
import type { EventLoopDelay, MemoryReading, ProcessReading } from './self-readings.ts';

export interface AttributeRow {
  readonly description: string;
  /** `boolean`, or a closed list of strings; by default, any string. */
  readonly values?: 'boolean' | readonly string[];
}

/** The members of a union as a list; the compiler checks that it is complete. */
function membersOf<T extends string>(members: Readonly<Record<T, true>>): readonly string[] {
  return Object.keys(members);
}

export const WORKER_EXITS = membersOf<WorkerExit>({
  goodbye: true,
  silence: true,
  replaced: true,
  restarted: true,
});

export const BOUNDED_TABLES = membersOf<SelfEvent<'table-evicted'>['table']>({
  tasks: true,
  workers: true,
  reordering_window: true,
  clock_skews: true,
  fixed_bounds: true,
});

export const ATTRIBUTES = {
  'celery.task.name': { description: 'Name of the task; `unknown` if no event has it.' },
  'celery.queue.name': {
    description:
      'Queue that the task was sent to, from task-sent; else the only queue of its worker, if known; else `unknown`. With more than 10,000 queues at once, the ages of the rest are reported as `other`.',
  },
  'celery.queue.priority': {
    description: 'Priority of the messages; only Redis has a list for each.',
  },
  'celery.worker.name': { description: 'Nodename of the worker, `name@host`.' },
  'error.type': { description: 'Class of the exception; `unknown` if it could not be read.' },
  'celery.task.requeue': {
    description: 'Whether the rejected task went back to its queue.',
    values: 'boolean',
  },
  'celery.task.revocation': {
    description: '`revoked` before it ran, `terminated` while it ran, or `expired`.',
    values: membersOf<Revocation>({ revoked: true, terminated: true, expired: true }),
  },
  'celery.task.outcome': {
    description: 'How the run ended; as spans have it.',
    values: membersOf<RunEnd>({
      succeeded: true,
      failed: true,
      retried: true,
      rejected: true,
      requeued: true,
      cancelled: true,
      revoked: true,
      terminated: true,
      expired: true,
      lost: true,
    }),
  },
  'celery.task.state': {
    description: '`waiting` until it starts, then `running`.',
    values: ['waiting', 'running'],
  },
  'celery.worker.exit.reason': {
    description:
      'Why it ended: `goodbye`, as after SIGTERM; `silence`; or, without a goodbye, `replaced` by a process with another pid, or `restarted` with the same pid.',
    values: WORKER_EXITS,
  },
  'celery.worker.load.period': {
    description: 'Period of the average.',
    values: ['1m', '5m', '15m'],
  },
  'celery.worker.pool': {
    description: 'Kind of the pool; `other` if it is not one of Celery’s.',
    values: membersOf<PoolKind>({
      prefork: true,
      threads: true,
      solo: true,
      gevent: true,
      eventlet: true,
      other: true,
    }),
  },
  'celery.worker.process': { description: 'Number of the process in its pool, from 0 on.' },
  'celery.version': { description: 'Version of Celery.' },
  'os.type': {
    description:
      'Operating system of the worker in lower case, such as `linux`; `unknown` if the worker does not report it.',
  },
  'celery_otel.service': {
    description: '`service.name` of the Celery service; `celery-otel` for these metrics themselves.',
  },
  'celery_otel.event.type': { description: 'Type of the Celery event.' },
  'celery_otel.drop.reason': { description: 'Why it was dropped; docs/counting.md has the reasons.' },
  'celery_otel.drop.intentional': {
    description: 'Whether it was dropped by design, so that nothing is lost.',
    values: 'boolean',
  },
  'celery_otel.defect.where': {
    description:
      'Where it was caught; `attached_provider` is an error in a provider or processor of the embedding program.',
    values: membersOf<SelfEvent<'defect'>['where']>({
      process: true,
      transport: true,
      deliver: true,
      between: true,
      look: true,
      report: true,
      export: true,
      attached_provider: true,
      stop: true,
    }),
  },
  'celery_otel.event.field': { description: 'Name of the field; docs/counting.md has what is plausible.' },
  'celery_otel.session.end': {
    description: 'How the session or the attempt ended.',
    values: membersOf<SelfEvent<'broker-session-ended'>['end']>({
      lost: true,
      unreachable: true,
      refused: true,
      malformed: true,
      unusable: true,
      finished: true,
      stopped: true,
    }),
  },
  'celery_otel.poll.outcome': {
    description: 'Result of the poll; `partial` if some replies are missing.',
    values: membersOf<SelfEvent<'broker-polled'>['outcome']>({ success: true, partial: true, failure: true }),
  },
  'celery_otel.control.command': {
    description: 'Remote control command that was sent to workers.',
    values: membersOf<SelfEvent<'workers-asked'>['command']>({
      ping: true,
      stats: true,
      active_queues: true,
      active: true,
      reserved: true,
      scheduled: true,
      enable_events: true,
    }),
  },
  'celery_otel.control.outcome': {
    description:
      'How it ended; `partial` if a worker that is up did not reply in time, or not as expected, `failure` if the command could not be sent.',
    values: membersOf<SelfEvent<'workers-asked'>['outcome']>({ success: true, partial: true, failure: true }),
  },
  'celery_otel.reply.outcome': {
    description:
      'What happened to the reply: a usable `answer`, an `error` of the worker, `unreadable` (as with pickle), `repeated` by another worker of that name, `late`, or `too_large`.',
    values: membersOf<ReplyOutcome>({
      answer: true,
      error: true,
      unreadable: true,
      repeated: true,
      late: true,
      too_large: true,
    }),
  },
  'celery_otel.table': {
    description: 'The table; `fixed_bounds` are all tables whose bounds cannot be configured.',
    values: BOUNDED_TABLES,
  },
  'celery_otel.sender.host': {
    description: 'Host that sent the tasks; `other` beyond `skew_pairs_max` pairs of hosts.',
  },
  'celery_otel.worker.host': {
    description: 'Host of the worker; `other` beyond `skew_pairs_max` pairs of hosts.',
  },
  'celery_otel.export.outcome': {
    description: 'How the export ended.',
    values: membersOf<SelfEvent<'export-finished'>['outcome']>({
      success: true,
      partial: true,
      failure: true,
    }),
  },
  'celery_otel.signal': {
    description: 'The signal that is sent.',
    values: membersOf<BatchedSignal>({ traces: true, logs: true }),
  },
  'celery_otel.item_drop.reason': {
    description:
      'Why: the queue was full (`queue_full`), the backend refused it permanently (`refused`), the shutdown timeout expired (`stopped`), the receipt of the task was missed (`unknown_root`), too much was held to wait for the end of the trace (`trace_undecided`), or there were too many records of one problem (`repeated`) or in total (`rate_limited`).',
    values: membersOf<ItemDropReason>({
      queue_full: true,
      refused: true,
      stopped: true,
      unknown_root: true,
      trace_undecided: true,
      repeated: true,
      rate_limited: true,
    }),
  },
  'celery_otel.event_loop.statistic': {
    description: 'Mean, 99th percentile or maximum of the samples since the previous collection.',
    values: membersOf<keyof EventLoopDelay>({ mean: true, p99: true, max: true }),
  },
  'cpu.mode': {
    description: 'Whether the CPU was in user mode or in the kernel.',
    values: membersOf<keyof ProcessReading['cpuS']>({ user: true, system: true }),
  },
  'celery_otel.memory.type': {
    description:
      '`rss` is all memory of the process. The others are parts of it: the JavaScript heap, the used part of the heap, and buffers outside the heap.',
    values: membersOf<keyof MemoryReading>({
      rss: true,
      heap_total: true,
      heap_used: true,
      external: true,
    }),
  },
} as const satisfies Record<string, AttributeRow>;

export type AttributeKey = keyof typeof ATTRIBUTES;

/** The id of the task, only on exemplars, and only with the exemplar filter `always_on`. */
export const TASK_ID = 'celery.task.id';

/** The built-in attributes of resources; users add others with `resource_attributes`. */
export const RESOURCE_ATTRIBUTES = {
  'service.instance.id': {
    description:
      'Distinguishes instances of celery-otel. Random at each start, unless configured; only with the metrics about celery-otel itself.',
  },
  'service.name': {
    description: 'Name of the Celery service; `celery-otel` for the metrics about celery-otel itself.',
  },
  'service.version': {
    description: 'Version of celery-otel; only with the metrics about celery-otel itself.',
  },
  'telemetry.sdk.language': { description: 'Language of the SDK.', values: ['nodejs'] },
  'telemetry.sdk.name': { description: 'Name of the SDK.', values: ['opentelemetry'] },
  'telemetry.sdk.version': { description: 'Version of the SDK.' },
} as const satisfies Record<string, AttributeRow>;
