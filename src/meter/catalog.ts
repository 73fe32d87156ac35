/**
 * The table of metrics, one row each. Instruments, documents and tests derive from it; there are no other metrics. It
 * measures nothing.
 */
import type { AttributeKey } from './attributes.ts';

/** The columns of every instrument, including those of self telemetry. */
export interface InstrumentRow {
  /** A counter is exported as a monotonic sum. */
  readonly instrument: 'counter' | 'histogram' | 'gauge';
  readonly unit: string;
  /** The type of the exported values. */
  readonly valueType: 'int' | 'double';
  /** The stability level of the name and the attributes, as defined by the Collector. */
  readonly stability: 'development' | 'alpha' | 'beta' | 'stable';
  /** Present on every point. */
  readonly attributes: readonly AttributeKey[];
  /** Present on some points only. */
  readonly optionalAttributes?: readonly AttributeKey[];
  /** Present only if the user enables them. */
  readonly optInAttributes?: readonly AttributeKey[];
  readonly description: string;
  /**
   * How several values of a gauge are combined if a view removes the attribute that distinguishes them, or beyond the
   * cardinality limit. Gauges must have it, other instruments must not.
   */
  readonly combined?: 'sum' | 'min' | 'max' | 'max in order';
  /** Upper bounds of a histogram's buckets, in the unit of the metric; a view may replace them. */
  readonly buckets?: readonly number[];
  /** Whether the metric is exported by default. */
  readonly enabled: boolean;
  /** Whom celery-otel asks for the values; undefined: they are derived from events. */
  readonly asked?: 'broker' | 'workers';
}

/** The instrumentation scope of all metrics in these tables. */
export const METER_NAME = 'celery-otel';

const TASK = ['celery.task.name', 'celery.queue.name'] as const;
const TASK_ON_WORKER = [...TASK, 'celery.worker.name'] as const;
const WORKER = ['celery.worker.name'] as const;
const QUEUE = ['celery.queue.name'] as const;

const SERVICE = ['celery_otel.service'] as const;

/** Fine-grained below ten seconds, where most tasks end, and up to an hour. */
const RUNTIME_BUCKETS_S = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 15, 20, 25, 30, 35, 40, 50, 60,
  70, 80, 90, 100, 150, 300, 600, 900, 1800, 3600,
] as const;

const WAIT_BUCKETS_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800] as const;

/** Fine-grained around one second, because workers collect events for that long before they send them. */
const LAG_BUCKETS_S = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 30, 60, 120, 300, 600,
] as const;

/** From a local backend to the longest usual timeouts. */
const EXPORT_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;

/** Values that most rows have in common. */
const USUAL = { stability: 'development', enabled: true } as const;
const COUNTER = { instrument: 'counter', valueType: 'int', ...USUAL } as const;
const DURATION = { instrument: 'histogram', unit: 's', valueType: 'double', ...USUAL } as const;
const SUM_GAUGE = { instrument: 'gauge', combined: 'sum', valueType: 'int', ...USUAL } as const;
const MAX_GAUGE = { instrument: 'gauge', combined: 'max', valueType: 'double', ...USUAL } as const;

const TASK_COUNTER = { ...COUNTER, unit: '{task}' } as const;
const WORKER_TASKS = { ...SUM_GAUGE, unit: '{task}', attributes: WORKER } as const;
const SERVICE_COUNTER = { ...COUNTER, attributes: SERVICE } as const;
const MESSAGES = { ...SUM_GAUGE, unit: '{message}', asked: 'broker' } as const;
const REPORTED_GAUGE = { ...SUM_GAUGE, asked: 'workers', attributes: WORKER } as const;
const POOL_GAUGE = {
  ...REPORTED_GAUGE,
  unit: '{process}',
  attributes: [...WORKER, 'celery.worker.pool'],
} as const;
const BUSY_PART = { ...MAX_GAUGE, asked: 'workers', unit: '{utilization}' } as const;
const TABLE_GAUGE = { ...SUM_GAUGE, attributes: [...SERVICE, 'celery_otel.table'] } as const;

/** Metrics of each Celery service, under its own resource. */
export const METRICS = {
  'celery.task.sent': {
    ...TASK_COUNTER,
    attributes: TASK,
    description: 'Tasks sent, by clients that send task-sent events (task_send_sent_event).',
  },
  'celery.task.received': {
    ...TASK_COUNTER,
    attributes: TASK_ON_WORKER,
    description: 'Tasks received by a worker from its queue.',
  },
  'celery.task.started': {
    ...TASK_COUNTER,
    attributes: TASK_ON_WORKER,
    description: 'Task runs started by a worker.',
  },
  'celery.task.succeeded': {
    ...TASK_COUNTER,
    attributes: TASK_ON_WORKER,
    description: 'Task runs that succeeded.',
  },
  'celery.task.failed': {
    ...TASK_COUNTER,
    attributes: [...TASK_ON_WORKER, 'error.type'],
    description:
      'Task runs that failed: they raised an exception, exceeded a time limit or lost their pool process.',
  },
  'celery.task.retried': {
    ...TASK_COUNTER,
    attributes: [...TASK_ON_WORKER, 'error.type'],
    description: 'Task runs that ended in a retry.',
  },
  'celery.task.rejected': {
    ...TASK_COUNTER,
    attributes: [...TASK_ON_WORKER, 'celery.task.requeue'],
    description: 'Task runs that were rejected, by the task itself or because its pool process was lost.',
  },
  'celery.task.revoked': {
    ...TASK_COUNTER,
    attributes: [...TASK_ON_WORKER, 'celery.task.revocation'],
    description: 'Tasks that were revoked, were terminated or expired; each is counted once.',
  },
  'celery.task.cancelled': {
    ...TASK_COUNTER,
    attributes: TASK_ON_WORKER,
    description: 'Task runs that a worker cancelled when it lost the connection to its broker.',
  },
  'celery.task.runtime': {
    ...DURATION,
    attributes: TASK_ON_WORKER,
    optionalAttributes: ['error.type'],
    buckets: RUNTIME_BUCKETS_S,
    description:
      'Runtime of tasks. For failures and retries it is computed from the worker’s timestamps, and has their error.type.',
  },
  'celery.task.wait_time': {
    ...DURATION,
    attributes: TASK,
    buckets: WAIT_BUCKETS_S,
    description:
      'Time from the sending of a task (or its ETA, if later) to its start: the whole waiting time.',
  },
  'celery.task.queue_time': {
    ...DURATION,
    attributes: TASK,
    buckets: WAIT_BUCKETS_S,
    description:
      'Time from the sending of a task to its receipt by a worker: the waiting time in the broker, without the delay of native delayed delivery.',
  },
  'celery.task.prefetch_time': {
    ...DURATION,
    attributes: TASK,
    optInAttributes: WORKER,
    buckets: WAIT_BUCKETS_S,
    description:
      'Time from the receipt of a task (or its ETA, if later) to its start: the waiting time in the worker.',
  },
  'celery.task.lost': {
    ...TASK_COUNTER,
    attributes: TASK_ON_WORKER,
    description:
      'Tasks that were running when their worker died and were not delivered again; each is counted once. Counted soon if a successor of the worker proves the death, else after `lost_timeout`.',
  },
  'celery.task.oldest_age': {
    ...MAX_GAUGE,
    // Any client can name queues; these must not take the places of queues that workers consume.
    combined: 'max in order',
    unit: 's',
    attributes: ['celery.queue.name', 'celery.task.state'],
    description:
      'Age of the oldest waiting task that is due, since its sending (or its ETA, if later), and of the oldest running task, since its start; 0 if there is none. A task is no longer considered waiting once its queue holds fewer messages than were sent after it, its worker has moved past it, or no worker reports it within a day. Too low for a RabbitMQ queue that refuses messages (`x-overflow: reject-publish`), or in which tasks of low priority starve.',
  },
  'celery.task.last_end.age': {
    ...MAX_GAUGE,
    // If outcomes are combined, the last end is the most recent one.
    combined: 'min',
    unit: 's',
    attributes: ['celery.task.name', 'celery.task.outcome'],
    description:
      'Time since a run of the task last ended with this outcome. After a restart of celery-otel it is absent until a run does.',
  },
  'celery.queue.length': {
    ...MESSAGES,
    attributes: QUEUE,
    optInAttributes: ['celery.queue.priority'],
    description:
      'Messages in a queue that a worker could take now, on Redis of all priorities, when the broker was last polled. A queue that RabbitMQ does not have is absent.',
  },
  'celery.queue.consumers': {
    ...SUM_GAUGE,
    asked: 'broker',
    unit: '{consumer}',
    attributes: QUEUE,
    description: 'Consumers of a queue, when the broker was last polled; RabbitMQ only.',
  },
  'celery.queue.workers': {
    ...SUM_GAUGE,
    asked: 'workers',
    unit: '{worker}',
    attributes: QUEUE,
    description: 'Workers that are up and consume a queue; 0 for `series_retention` after the last one.',
  },
  'celery.queue.processes': {
    ...SUM_GAUGE,
    asked: 'workers',
    unit: '{process}',
    attributes: QUEUE,
    description:
      'Tasks that the workers of a queue can run at once now. A worker of several queues counts for each of them.',
  },
  'celery.queue.utilization': {
    ...BUSY_PART,
    attributes: QUEUE,
    description:
      'Busy part of the processes in `celery.queue.processes`, from 0 to 1, whichever queue they work for.',
  },
  'celery.queue.delayed': {
    ...MESSAGES,
    attributes: [],
    description: 'Messages whose ETA the broker waits for (native delayed delivery); RabbitMQ only.',
  },
  'celery.queue.unacked': {
    ...MESSAGES,
    enabled: false,
    attributes: QUEUE,
    description:
      'Messages of a queue that workers have taken and not acknowledged, as long as there are at most 10,000; Redis only. To count them, a poll reads all of each message.',
  },
  'celery.broker.unacked': {
    ...MESSAGES,
    attributes: [],
    description:
      'Messages that workers have taken and not acknowledged, of all queues: prefetched tasks, tasks with an ETA, and running tasks with acks_late; Redis only.',
  },
  'celery.broker.unacked.oldest_age': {
    ...MAX_GAUGE,
    asked: 'broker',
    unit: 's',
    attributes: [],
    description:
      'How long the oldest message in `celery.broker.unacked` has been held, 0 if there is none; Redis only.',
  },
  'celery.broker.unacked.expiring': {
    ...MESSAGES,
    attributes: [],
    description:
      'Messages in `celery.broker.unacked` that have been held for 80 % of the visibility timeout, so that they will soon be delivered a second time; at most 1,000 are counted. Redis only.',
  },
  'celery.broker.unacked.visibility_timeout': {
    ...MAX_GAUGE,
    asked: 'broker',
    unit: 's',
    attributes: [],
    description:
      'Time after which a message that a worker holds is delivered again, as configured; Redis only.',
  },
  'celery.worker.up': {
    ...SUM_GAUGE,
    unit: '{worker}',
    attributes: WORKER,
    description: '1 while a worker is alive; 0 after its goodbye, or after `worker_timeout` of silence.',
  },
  'celery.worker.deaf': {
    ...SUM_GAUGE,
    asked: 'workers',
    unit: '{worker}',
    attributes: WORKER,
    description:
      '1 while a worker is up but has stopped listening: it consumes no task until it is restarted. Absent for all others.',
  },
  'celery.worker.exits': {
    ...COUNTER,
    unit: '{exit}',
    attributes: [...WORKER, 'celery.worker.exit.reason'],
    description: 'Worker processes that ended, by reason: a deployment is a goodbye, a crash is not.',
  },
  'celery.worker.tasks.active': {
    ...WORKER_TASKS,
    description: 'Tasks that a worker is running, from its last heartbeat; 0 while it is not up.',
  },
  'celery.worker.tasks.prefetched': {
    ...WORKER_TASKS,
    description:
      'Tasks that a worker has received, that are due and that have not started; 0 while it is not up. A task that was due a day ago no longer counts.',
  },
  'celery.worker.tasks.scheduled': {
    ...WORKER_TASKS,
    description: 'Tasks that a worker has received and whose ETA is in the future; 0 while it is not up.',
  },
  'celery.worker.tasks.processed': {
    ...TASK_COUNTER,
    attributes: WORKER,
    description: 'Tasks that a worker has started since it was first seen, from its heartbeats.',
  },
  'celery.worker.events.lost': {
    ...COUNTER,
    unit: '{event}',
    attributes: WORKER,
    description: 'Task starts that a worker’s heartbeats count, but for which no event arrived.',
  },
  'celery.worker.heartbeat.age': {
    ...MAX_GAUGE,
    unit: 's',
    attributes: WORKER,
    description:
      'Time since the last sign of life of a worker, an event or a reply; it does not grow without a connection to the broker.',
  },
  'celery.worker.load': {
    ...MAX_GAUGE,
    enabled: false,
    unit: '{run}',
    attributes: [...WORKER, 'celery.worker.load.period'],
    description: 'Load averages of a worker’s host, from its last heartbeat; 0 while the worker is not up.',
  },
  'celery.worker.info': {
    ...SUM_GAUGE,
    unit: '{worker}',
    attributes: [...WORKER, 'celery.version', 'os.type'],
    description:
      '1 for the version of Celery that a worker reports while it is up; 0 while it is not up, and for its former versions.',
  },
  'celery.worker.pool.processes': {
    ...POOL_GAUGE,
    description:
      'Tasks that a worker can currently run at the same time: its pool processes, or the size of a pool without processes. Absent while it is not up, like all metrics from remote control.',
  },
  'celery.worker.pool.limit': {
    ...POOL_GAUGE,
    description: 'Tasks that a worker can run at once at most; with an autoscaler, after it has scaled up.',
  },
  'celery.worker.pool.utilization': {
    ...BUSY_PART,
    attributes: [...WORKER, 'celery.worker.pool'],
    description:
      'Busy part of a worker’s pool, from 0 to 1: its running tasks by those that it can run at once now.',
  },
  'celery.worker.pool.writes': {
    ...REPORTED_GAUGE,
    enabled: false,
    unit: '{write}',
    attributes: [...WORKER, 'celery.worker.process'],
    description:
      'Tasks that a worker with a prefork pool has given to each of its processes, which shows how evenly it distributes them.',
  },
  'celery.worker.autoscaler.min': {
    ...REPORTED_GAUGE,
    unit: '{process}',
    description:
      'Smallest size that the autoscaler of a worker gives its pool; absent without an autoscaler.',
  },
  'celery.worker.autoscaler.max': {
    ...REPORTED_GAUGE,
    unit: '{process}',
    description: 'Largest size that the autoscaler of a worker gives its pool; absent without an autoscaler.',
  },
  'celery.worker.prefetch.limit': {
    ...REPORTED_GAUGE,
    unit: '{task}',
    description:
      'Unacknowledged tasks that a worker may hold, which grows with each task that waits for its ETA; 0 for no limit.',
  },
  'celery.worker.uptime': {
    ...MAX_GAUGE,
    asked: 'workers',
    unit: 's',
    attributes: WORKER,
    description: 'Time since a worker was started.',
  },
  'celery.worker.cpu.time': {
    ...COUNTER,
    asked: 'workers',
    unit: 's',
    valueType: 'double',
    attributes: [...WORKER, 'cpu.mode'],
    description:
      'CPU time of the main process of a worker since its first reply; not that of its pool processes.',
  },
  'celery.worker.memory.max': {
    ...MAX_GAUGE,
    asked: 'workers',
    unit: 'By',
    valueType: 'int',
    attributes: WORKER,
    description: 'Most memory that the main process of a worker has had; not that of its pool processes.',
  },
} as const satisfies Record<string, InstrumentRow>;

export type MetricName = keyof typeof METRICS;

export function isMetricName(name: string): name is MetricName {
  return Object.hasOwn(METRICS, name);
}

export const METRIC_NAMES: readonly MetricName[] = Object.keys(METRICS).filter(isMetricName);

/** The metrics whose values come from polls of the broker, or from workers by remote control. */
export function metricsAsked(of: NonNullable<InstrumentRow['asked']>): readonly MetricName[] {
  return METRIC_NAMES.filter((name) => {
    const row: InstrumentRow = METRICS[name];
    return row.asked === of;
  });
}

/** An opt-in attribute of a metric: `celery.task.prefetch_time/celery.worker.name`. */
export type OptIn = `${MetricName}/${AttributeKey}`;

export function optInOf(name: MetricName, key: AttributeKey): OptIn {
  return `${name}/${key}`;
}

/** The opt-in attributes of a metric. */
export function optInAttributesOf(name: MetricName): readonly AttributeKey[] {
  const row: InstrumentRow = METRICS[name];
  return row.optInAttributes ?? [];
}

/** All opt-in attributes. */
export const OPT_INS: readonly OptIn[] = METRIC_NAMES.flatMap((name) =>
  optInAttributesOf(name).map((key) => optInOf(name, key)),
);

/** Self telemetry, under the resource `service.name=celery-otel`. */
export const SELF_METRICS = {
  'celery_otel.up': {
    ...SUM_GAUGE,
    unit: '{process}',
    attributes: [],
    description: '1 while celery-otel runs.',
  },
  'celery_otel.uptime': {
    ...MAX_GAUGE,
    unit: 's',
    attributes: [],
    description: 'Time since celery-otel was started.',
  },
  'celery_otel.events': {
    ...COUNTER,
    unit: '{event}',
    attributes: [...SERVICE, 'celery_otel.event.type'],
    description: 'Celery events that were decoded and applied.',
  },
  'celery_otel.event.lag': {
    ...DURATION,
    attributes: SERVICE,
    buckets: LAG_BUCKETS_S,
    description: 'Time from an event, by its sender’s clock, to its arrival; 0 if that is negative.',
  },
  'celery_otel.input.dropped': {
    ...COUNTER,
    unit: '{item}',
    attributes: [...SERVICE, 'celery_otel.drop.reason', 'celery_otel.drop.intentional'],
    description: 'Messages, or events in them, that were dropped.',
  },
  'celery_otel.defects': {
    ...COUNTER,
    unit: '{defect}',
    attributes: [...SERVICE, 'celery_otel.defect.where'],
    description: 'Internal errors, and errors of attached providers, that were caught and logged.',
  },
  'celery_otel.fields.implausible': {
    ...COUNTER,
    unit: '{field}',
    attributes: [...SERVICE, 'celery_otel.event.field'],
    description: 'Fields with implausible values, which were treated as missing; their events were counted.',
  },
  'celery_otel.broker.connected': {
    ...SUM_GAUGE,
    unit: '{connection}',
    attributes: SERVICE,
    description: '1 while there is a connection over which events can arrive, else 0.',
  },
  'celery_otel.instances': {
    ...MAX_GAUGE,
    unit: '{instance}',
    attributes: SERVICE,
    description:
      'Instances of celery-otel that export the same service; each event is counted by all of them. Absent if the broker does not report it.',
  },
  'celery_otel.broker.connections': {
    ...SERVICE_COUNTER,
    unit: '{connection}',
    description: 'Connections to a broker that were established; all but the first are reconnections.',
  },
  'celery_otel.broker.sessions': {
    ...COUNTER,
    unit: '{session}',
    attributes: [...SERVICE, 'celery_otel.session.end'],
    description: 'Sessions with a broker that ended, and attempts that failed.',
  },
  'celery_otel.broker.polls': {
    ...COUNTER,
    unit: '{poll}',
    attributes: [...SERVICE, 'celery_otel.poll.outcome'],
    description: 'Polls of a broker for its queues, by outcome.',
  },
  'celery_otel.control.requests': {
    ...COUNTER,
    unit: '{request}',
    attributes: [...SERVICE, 'celery_otel.control.command', 'celery_otel.control.outcome'],
    description: 'Requests to all workers of a service by remote control, by outcome.',
  },
  'celery_otel.control.replies': {
    ...COUNTER,
    unit: '{reply}',
    attributes: [...SERVICE, 'celery_otel.control.command', 'celery_otel.reply.outcome'],
    description: 'Replies of workers to remote control.',
  },
  'celery_otel.control.age': {
    ...MAX_GAUGE,
    unit: 's',
    attributes: SERVICE,
    description:
      'Time since the last remote control command; the metrics from replies are as old. Absent if it could not be sent.',
  },
  'celery_otel.table.entries': {
    ...TABLE_GAUGE,
    unit: '{entry}',
    description:
      'Entries of a bounded table. Finished tasks are kept until their place is needed, so the table of tasks fills up over time.',
  },
  'celery_otel.table.limit': {
    ...TABLE_GAUGE,
    unit: '{entry}',
    description: 'Maximum number of entries of a bounded table.',
  },
  'celery_otel.table.size': {
    ...TABLE_GAUGE,
    unit: 'By',
    description: 'Estimated memory of the entries of a bounded table; the estimate is conservative.',
  },
  'celery_otel.table.size_limit': {
    ...TABLE_GAUGE,
    unit: 'By',
    description:
      'Maximum memory of the entries of a bounded table, derived from its limit on entries. Only names much longer than usual reach it first.',
  },
  'celery_otel.table.evictions': {
    ...COUNTER,
    unit: '{entry}',
    attributes: [...SERVICE, 'celery_otel.table'],
    description: 'Entries that were removed from a full table while they were still needed.',
  },
  'celery_otel.clock.skews': {
    ...COUNTER,
    unit: '{measurement}',
    attributes: [...SERVICE, 'celery_otel.sender.host', 'celery_otel.worker.host'],
    description: 'Negative waiting times, which were counted as 0, because the clocks of two hosts differ.',
  },
  'celery_otel.lost.refuted': {
    ...SERVICE_COUNTER,
    unit: '{task}',
    description:
      'Tasks that were counted as `celery.task.lost` but ended after all; their ends are counted too.',
  },
  'celery_otel.series': {
    ...SUM_GAUGE,
    unit: '{series}',
    attributes: SERVICE,
    description: 'Points of all metrics of a resource in its last collection.',
  },
  'celery_otel.series.retired': {
    ...SERVICE_COUNTER,
    unit: '{series}',
    description:
      'Series that ended, because their worker was forgotten or because others needed their places while they were idle.',
  },
  'celery_otel.series.unmarked': {
    ...SERVICE_COUNTER,
    unit: '{series}',
    description:
      'Series whose end was not reported, because more than 1,000 of a metric had ended, or because the backend was unreachable for five minutes. The backend shows them until it forgets them.',
  },
  'celery_otel.series.overflowed': {
    ...SERVICE_COUNTER,
    unit: '{measurement}',
    description:
      'Measurements of series beyond the cardinality limit, which are exported together under `otel.metric.overflow`.',
  },
  'celery_otel.measurements.refused': {
    ...SERVICE_COUNTER,
    unit: '{measurement}',
    description:
      'Measurements that were dropped, because they are negative, not finite, or too large for the sum of their series.',
  },
  'celery_otel.exports': {
    ...COUNTER,
    unit: '{export}',
    attributes: [...SERVICE, 'celery_otel.export.outcome'],
    description: 'Exports that ended, by outcome.',
  },
  'celery_otel.export.duration': {
    ...DURATION,
    attributes: [...SERVICE, 'celery_otel.export.outcome'],
    buckets: EXPORT_BUCKETS_S,
    description: 'Duration of exports, with all their requests.',
  },
  'celery_otel.export.points': {
    ...SERVICE_COUNTER,
    unit: '{point}',
    description: 'Points that arrived at the backend, including those that it rejected.',
  },
  'celery_otel.export.points.rejected': {
    ...SERVICE_COUNTER,
    unit: '{point}',
    description: 'Points that arrived at the backend and were rejected permanently.',
  },
  'celery_otel.batches': {
    ...COUNTER,
    unit: '{batch}',
    attributes: ['celery_otel.signal', 'celery_otel.export.outcome'],
    description: 'Batches of spans or log records that celery-otel tried to send, by outcome.',
  },
  'celery_otel.batch.duration': {
    ...DURATION,
    attributes: ['celery_otel.signal', 'celery_otel.export.outcome'],
    buckets: EXPORT_BUCKETS_S,
    description: 'Duration of sending a batch, with all its requests.',
  },
  'celery_otel.batch.items': {
    ...COUNTER,
    unit: '{item}',
    attributes: ['celery_otel.signal'],
    description: 'Spans or log records that arrived at the backend, including those that it rejected.',
  },
  'celery_otel.batch.items.rejected': {
    ...COUNTER,
    unit: '{item}',
    attributes: ['celery_otel.signal'],
    description: 'Spans or log records that arrived at the backend and were rejected permanently.',
  },
  'celery_otel.items.dropped': {
    ...COUNTER,
    unit: '{item}',
    attributes: [...SERVICE, 'celery_otel.signal', 'celery_otel.item_drop.reason'],
    description: 'Spans or log records that are not sent, by reason.',
  },
  'celery_otel.event_loop.delay': {
    ...MAX_GAUGE,
    unit: 's',
    attributes: ['celery_otel.event_loop.statistic'],
    description:
      'Delay of timers since the previous collection, which shows how long the event loop was blocked.',
  },
  'celery_otel.cpu.time': {
    ...COUNTER,
    unit: 's',
    valueType: 'double',
    attributes: ['cpu.mode'],
    description: 'CPU time of the process since celery-otel was started.',
  },
  'celery_otel.memory.usage': {
    ...MAX_GAUGE,
    unit: 'By',
    valueType: 'int',
    attributes: ['celery_otel.memory.type'],
    description: 'Memory of the process.',
  },
} as const satisfies Record<string, InstrumentRow>;

/** How the values of a gauge are combined; for gauges that are not in the catalog, by their maximum. */
export function combinationOf(instrument: string): NonNullable<InstrumentRow['combined']> {
  const tables: Readonly<Record<string, InstrumentRow>> = { ...METRICS, ...SELF_METRICS };
  return (Object.hasOwn(tables, instrument) ? tables[instrument]?.combined : undefined) ?? 'max';
}
