/**
 * The table of metrics: one row each. Instruments, documentation and the checks of both derive from it; a metric that
 * has no row does not exist. It names what is measured and never measures.
 */
import type { AttributeKey } from './attributes.ts';

/** What every instrument has, also those of the bridge's own metrics. */
export interface InstrumentRow {
  /** A counter only ever grows: it is what is exported as a monotonic sum. */
  readonly instrument: 'counter' | 'histogram' | 'gauge';
  readonly unit: string;
  /** What is on the wire; `int` where fractions make no sense. */
  readonly valueType: 'int' | 'double';
  /** How far its name and its attributes can be relied on, as the Collector's components say it. */
  readonly stability: 'development' | 'alpha' | 'beta' | 'stable';
  /** Present on every point. */
  readonly attributes: readonly AttributeKey[];
  /** Present on some points only. */
  readonly optionalAttributes?: readonly AttributeKey[];
  /** Present only where the user asks for them. */
  readonly optInAttributes?: readonly AttributeKey[];
  readonly description: string;
  /**
   * How one value of a gauge is made of several, where a view leaves out the attribute that tells them apart, or where they
   * are beyond the limit. Every gauge has it, and nothing else.
   */
  readonly combined?: 'sum' | 'max';
  /** Upper bounds of a histogram's buckets, in its unit; a view may replace them. */
  readonly buckets?: readonly number[];
}

/** A metric about Celery, which users switch on and off. */
export interface MetricRow extends InstrumentRow {
  /** Whether it is exported unless an option says otherwise. */
  readonly enabled: boolean;
}

/** The instrumentation scope of all that is in these tables, under whatever resource it is exported. */
export const METER_NAME = 'celery-otel';

const ON = { enabled: true, stability: 'development' } as const;
const OFF = { ...ON, enabled: false } as const;

const TASK = ['celery.task.name', 'celery.queue.name'] as const;
const TASK_ON_WORKER = [...TASK, 'celery.worker.name'] as const;
const WORKER = ['celery.worker.name'] as const;

const SELF = { stability: 'development' } as const;
const SERVICE = ['celery_otel.service'] as const;

/** Fine below ten seconds, where most tasks end, and up to an hour for the long ones. */
const RUNTIME_BUCKETS_S = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 15, 20, 25, 30, 35, 40, 50, 60,
  70, 80, 90, 100, 150, 300, 600, 900, 1800, 3600,
] as const;

/** From what nobody notices to half an hour. */
const WAIT_BUCKETS_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800] as const;

/** Fine around the second for which workers gather events into lists; beyond it somebody holds them up. */
const LAG_BUCKETS_S = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 30, 60, 120, 300, 600,
] as const;

/** From a backend next door to the longest time-outs that are usual. */
const EXPORT_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;

/** What is exported under each Celery service's own resource. */
export const METRICS = {
  'celery.task.sent': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: TASK,
    description: 'Tasks sent, by clients that send task-sent events (task_send_sent_event).',
  },
  'celery.task.received': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: TASK_ON_WORKER,
    description: 'Tasks received by a worker from its queue.',
  },
  'celery.task.started': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: TASK_ON_WORKER,
    description: 'Runs of tasks started by a worker.',
  },
  'celery.task.succeeded': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: TASK_ON_WORKER,
    description: 'Runs of tasks that succeeded.',
  },
  'celery.task.failed': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: [...TASK_ON_WORKER, 'error.type'],
    description:
      'Runs of tasks that failed: they raised an exception, exceeded a time limit or lost their pool process.',
  },
  'celery.task.retried': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: [...TASK_ON_WORKER, 'error.type'],
    description: 'Runs of tasks that ended in a retry.',
  },
  'celery.task.rejected': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: [...TASK_ON_WORKER, 'celery.task.requeue'],
    description: 'Runs of tasks that were rejected, by the task itself or because its pool process was lost.',
  },
  'celery.task.revoked': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: [...TASK_ON_WORKER, 'celery.task.revocation'],
    description: 'Tasks that were revoked, were terminated or expired; each is counted once.',
  },
  'celery.task.cancelled': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: TASK_ON_WORKER,
    description: 'Runs of tasks that a worker cancelled when it lost the connection to its broker.',
  },
  'celery.task.runtime': {
    instrument: 'histogram',
    unit: 's',
    valueType: 'double',
    ...ON,
    attributes: TASK_ON_WORKER,
    optionalAttributes: ['error.type'],
    buckets: RUNTIME_BUCKETS_S,
    description:
      'Runtime of tasks. For failures and retries it is computed from the worker’s timestamps, and has their error.type.',
  },
  'celery.task.wait_time': {
    instrument: 'histogram',
    unit: 's',
    valueType: 'double',
    ...ON,
    attributes: TASK,
    buckets: WAIT_BUCKETS_S,
    description:
      'Time from the sending of a task (or its ETA, if later) to its start: the whole waiting time.',
  },
  'celery.task.queue_time': {
    instrument: 'histogram',
    unit: 's',
    valueType: 'double',
    ...ON,
    attributes: TASK,
    buckets: WAIT_BUCKETS_S,
    description:
      'Time from the sending of a task to its receipt by a worker: the waiting time in the broker, without the delay of native delayed delivery.',
  },
  'celery.task.prefetch_time': {
    instrument: 'histogram',
    unit: 's',
    valueType: 'double',
    ...ON,
    attributes: TASK,
    optInAttributes: WORKER,
    buckets: WAIT_BUCKETS_S,
    description:
      'Time from the receipt of a task (or its ETA, if later) to its start: the waiting time in the worker.',
  },
  'celery.task.lost': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: TASK_ON_WORKER,
    description:
      'Tasks that were running when their worker died and were not delivered again; each is counted once. Counted soon if a successor of the worker proves the death, else after `lost_timeout`.',
  },
  'celery.task.oldest_age': {
    instrument: 'gauge',
    combined: 'max',
    unit: 's',
    valueType: 'double',
    ...ON,
    attributes: ['celery.queue.name', 'celery.task.state'],
    description:
      'Age of the oldest waiting task that is due, since its sending (or its ETA, if later), and of the oldest running task, since its start; 0 if there is none. A task that no worker reports within a day is no longer considered waiting.',
  },
  'celery.worker.up': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{worker}',
    valueType: 'int',
    ...ON,
    attributes: WORKER,
    description: '1 while a worker is alive; 0 after its goodbye, or after `worker_timeout` of silence.',
  },
  'celery.worker.exits': {
    instrument: 'counter',
    unit: '{exit}',
    valueType: 'int',
    ...ON,
    attributes: [...WORKER, 'celery.worker.exit.reason'],
    description: 'Worker processes that ended, by reason: a deployment is a goodbye, a crash is not.',
  },
  'celery.worker.tasks.active': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: WORKER,
    description: 'Tasks that a worker is running, from its last heartbeat; 0 while it is not up.',
  },
  'celery.worker.tasks.prefetched': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: WORKER,
    description:
      'Tasks that a worker has received, that are due and that have not started; 0 while it is not up.',
  },
  'celery.worker.tasks.scheduled': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: WORKER,
    description: 'Tasks that a worker has received and whose ETA is in the future; 0 while it is not up.',
  },
  'celery.worker.tasks.processed': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: WORKER,
    description: 'Tasks that a worker has begun since it was first seen, from its heartbeats.',
  },
  'celery.worker.events.lost': {
    instrument: 'counter',
    unit: '{event}',
    valueType: 'int',
    ...ON,
    attributes: WORKER,
    description: 'Starts of tasks that a worker’s heartbeats account for, but for which no event arrived.',
  },
  'celery.worker.heartbeat.age': {
    instrument: 'gauge',
    combined: 'max',
    unit: 's',
    valueType: 'double',
    ...ON,
    attributes: WORKER,
    description:
      'Time since the last event from a worker; it does not grow without a connection to the broker.',
  },
  'celery.worker.load': {
    instrument: 'gauge',
    combined: 'max',
    unit: '{run}',
    valueType: 'double',
    ...OFF,
    attributes: [...WORKER, 'celery.worker.load.period'],
    description: 'Load averages of a worker’s host, from its last heartbeat; 0 while the worker is not up.',
  },
  'celery.worker.info': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{worker}',
    valueType: 'int',
    ...ON,
    attributes: [...WORKER, 'celery.version', 'os.type'],
    description:
      '1 for the version of Celery that a worker reports while it is up; 0 while it is not up, and for its former versions.',
  },
} as const satisfies Record<string, MetricRow>;

export type MetricName = keyof typeof METRICS;

export function isMetricName(name: string): name is MetricName {
  return Object.hasOwn(METRICS, name);
}

export const METRIC_NAMES: readonly MetricName[] = Object.keys(METRICS).filter(isMetricName);

/** An opt-in attribute of a metric: `celery.task.prefetch_time/celery.worker.name`. */
export type OptIn = `${MetricName}/${AttributeKey}`;

export function optInOf(name: MetricName, key: AttributeKey): OptIn {
  return `${name}/${key}`;
}

/** All there are. */
export const OPT_INS: readonly OptIn[] = METRIC_NAMES.flatMap((name) => {
  const row: MetricRow = METRICS[name];
  return (row.optInAttributes ?? []).map((key) => optInOf(name, key));
});

/** What is exported under the bridge's own resource, `service.name=celery-otel`. */
export const SELF_METRICS = {
  'celery_otel.up': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{process}',
    valueType: 'int',
    ...SELF,
    attributes: [],
    description: '1 while celery-otel runs.',
  },
  'celery_otel.uptime': {
    instrument: 'gauge',
    combined: 'max',
    unit: 's',
    valueType: 'double',
    ...SELF,
    attributes: [],
    description: 'Time since celery-otel was started.',
  },
  'celery_otel.events': {
    instrument: 'counter',
    unit: '{event}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.event.type'],
    description: 'Celery events that were decoded and applied.',
  },
  'celery_otel.event.lag': {
    instrument: 'histogram',
    unit: 's',
    valueType: 'double',
    ...SELF,
    attributes: SERVICE,
    buckets: LAG_BUCKETS_S,
    description: 'Time from an event, by its sender’s clock, to its arrival; 0 if that is negative.',
  },
  'celery_otel.input.dropped': {
    instrument: 'counter',
    unit: '{item}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.drop.reason', 'celery_otel.drop.intentional'],
    description: 'Messages, or events in them, that were dropped.',
  },
  'celery_otel.defects': {
    instrument: 'counter',
    unit: '{defect}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.defect.where'],
    description: 'Internal errors, and errors of attached providers, that were caught and logged.',
  },
  'celery_otel.fields.implausible': {
    instrument: 'counter',
    unit: '{field}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.event.field'],
    description: 'Fields with implausible values, which were treated as missing; their events were counted.',
  },
  'celery_otel.broker.connected': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{connection}',
    valueType: 'int',
    ...SELF,
    attributes: SERVICE,
    description: '1 while there is a connection over which events can arrive, else 0.',
  },
  'celery_otel.broker.connections': {
    instrument: 'counter',
    unit: '{connection}',
    valueType: 'int',
    ...SELF,
    attributes: SERVICE,
    description: 'Connections to a broker that were established; all but the first are reconnections.',
  },
  'celery_otel.broker.sessions': {
    instrument: 'counter',
    unit: '{session}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.session.end'],
    description: 'Sessions with a broker that ended, and attempts that failed.',
  },
  'celery_otel.table.entries': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{entry}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.table'],
    description:
      'Entries of a bounded table. Tasks that are over stay until their place is needed, so their table is full sooner or later.',
  },
  'celery_otel.table.limit': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{entry}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.table'],
    description: 'Maximum number of entries of a bounded table.',
  },
  'celery_otel.table.size': {
    instrument: 'gauge',
    combined: 'sum',
    unit: 'By',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.table'],
    description: 'Estimated memory of the entries of a bounded table, rather too high than too low.',
  },
  'celery_otel.table.size_limit': {
    instrument: 'gauge',
    combined: 'sum',
    unit: 'By',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.table'],
    description:
      'Maximum memory of the entries of a bounded table, derived from its limit on entries. Only names much longer than usual reach it first.',
  },
  'celery_otel.table.evictions': {
    instrument: 'counter',
    unit: '{entry}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.table'],
    description: 'Entries that were removed from a full table while they were still needed.',
  },
  'celery_otel.clock.skews': {
    instrument: 'counter',
    unit: '{measurement}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.sender.host', 'celery_otel.worker.host'],
    description:
      'Waiting times that came out negative and were taken as 0, because the clocks of two hosts differ.',
  },
  'celery_otel.lost.refuted': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...SELF,
    attributes: SERVICE,
    description:
      'Tasks that were counted as `celery.task.lost` and ended after all; their ends are counted too.',
  },
  'celery_otel.series': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{series}',
    valueType: 'int',
    ...SELF,
    attributes: SERVICE,
    description: 'Points in the last collection of a resource, of all its metrics together.',
  },
  'celery_otel.series.retired': {
    instrument: 'counter',
    unit: '{series}',
    valueType: 'int',
    ...SELF,
    attributes: SERVICE,
    description:
      'Series that ended, because their worker was forgotten or because others needed their places while they were idle.',
  },
  'celery_otel.series.overflowed': {
    instrument: 'counter',
    unit: '{measurement}',
    valueType: 'int',
    ...SELF,
    attributes: SERVICE,
    description:
      'Measurements of series beyond the cardinality limit, which are exported together under `otel.metric.overflow`.',
  },
  'celery_otel.measurements.refused': {
    instrument: 'counter',
    unit: '{measurement}',
    valueType: 'int',
    ...SELF,
    attributes: SERVICE,
    description:
      'Measurements that are in no point, because they are negative, not finite, or too large for the sum of their series.',
  },
  'celery_otel.exports': {
    instrument: 'counter',
    unit: '{export}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.export.outcome'],
    description: 'Exports that ended, by outcome.',
  },
  'celery_otel.export.duration': {
    instrument: 'histogram',
    unit: 's',
    valueType: 'double',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.export.outcome'],
    buckets: EXPORT_BUCKETS_S,
    description: 'Duration of exports, with all their requests.',
  },
  'celery_otel.export.points': {
    instrument: 'counter',
    unit: '{point}',
    valueType: 'int',
    ...SELF,
    attributes: SERVICE,
    description: 'Points that arrived at the backend, including those that it rejected.',
  },
  'celery_otel.export.points.rejected': {
    instrument: 'counter',
    unit: '{point}',
    valueType: 'int',
    ...SELF,
    attributes: SERVICE,
    description: 'Points that arrived at the backend and were rejected for good.',
  },
  'celery_otel.event_loop.delay': {
    instrument: 'gauge',
    combined: 'max',
    unit: 's',
    valueType: 'double',
    ...SELF,
    attributes: ['celery_otel.event_loop.statistic'],
    description:
      'Delay of timers since the previous collection, which everything else on the event loop suffers too.',
  },
  'celery_otel.cpu.time': {
    instrument: 'counter',
    unit: 's',
    valueType: 'double',
    ...SELF,
    attributes: ['cpu.mode'],
    description: 'CPU time of the process since celery-otel was started.',
  },
  'celery_otel.memory.usage': {
    instrument: 'gauge',
    combined: 'max',
    unit: 'By',
    valueType: 'int',
    ...SELF,
    attributes: ['celery_otel.memory.type'],
    description: 'Memory of the process.',
  },
} as const satisfies Record<string, InstrumentRow>;

/** How the values of a gauge are combined, whosever it is: of one that is not ours, the last that was observed is taken. */
export function combinationOf(instrument: string): 'sum' | 'max' | 'last' {
  const tables: Readonly<Record<string, InstrumentRow>> = { ...METRICS, ...SELF_METRICS };
  return (Object.hasOwn(tables, instrument) ? tables[instrument]?.combined : undefined) ?? 'last';
}
