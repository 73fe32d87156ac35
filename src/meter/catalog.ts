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
    description: 'Tasks sent, by clients that send the event (task_send_sent_event).',
  },
  'celery.task.received': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: TASK_ON_WORKER,
    description: 'Tasks that a worker took from its queue.',
  },
  'celery.task.started': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: TASK_ON_WORKER,
    description: 'Tasks that a worker began to run.',
  },
  'celery.task.succeeded': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: TASK_ON_WORKER,
    description: 'Tasks that returned.',
  },
  'celery.task.failed': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: [...TASK_ON_WORKER, 'error.type'],
    description: 'Tasks that raised an exception, exceeded a time limit or lost their process.',
  },
  'celery.task.retried': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: [...TASK_ON_WORKER, 'error.type'],
    description: 'Runs that ended in a retry.',
  },
  'celery.task.rejected': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: [...TASK_ON_WORKER, 'celery.task.requeue'],
    description: 'Tasks that were rejected, by the task itself or for the loss of its process.',
  },
  'celery.task.revoked': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: [...TASK_ON_WORKER, 'celery.task.revocation'],
    description: 'Tasks that were revoked, terminated or had expired, once each.',
  },
  'celery.task.cancelled': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: TASK_ON_WORKER,
    description: 'Tasks that a worker cancelled when it lost its broker.',
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
      'Time in the task itself. Of failures and retries by the worker’s timestamps, with their error.type.',
  },
  'celery.task.wait_time': {
    instrument: 'histogram',
    unit: 's',
    valueType: 'double',
    ...ON,
    attributes: TASK,
    buckets: WAIT_BUCKETS_S,
    description:
      'Time from the sending of a task, or its ETA if that is later, to its start: what a user waits.',
  },
  'celery.task.queue_time': {
    instrument: 'histogram',
    unit: 's',
    valueType: 'double',
    ...ON,
    attributes: TASK,
    buckets: WAIT_BUCKETS_S,
    description:
      'Time from the sending of a task to its receipt by a worker: what it waits in the broker, but for what native delayed delivery holds it back.',
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
      'Time from the receipt of a task, or its ETA if that is later, to its start: what it waits in the worker.',
  },
  'celery.task.lost': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: TASK_ON_WORKER,
    description:
      'Tasks that were running when their worker died and that were not delivered again; once each. Counted at once when the worker’s successor proves it, else after `lost_timeout`.',
  },
  'celery.task.oldest_age': {
    instrument: 'gauge',
    combined: 'max',
    unit: 's',
    valueType: 'double',
    ...ON,
    attributes: ['celery.queue.name', 'celery.task.state'],
    description:
      'Age of the oldest task that is due and waits, since it was sent, and of the oldest that runs; 0 where there is none. A task that no worker reports within a day no longer counts as waiting.',
  },
  'celery.worker.up': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{worker}',
    valueType: 'int',
    ...ON,
    attributes: WORKER,
    description:
      '1 while a worker gives signs of life, 0 after its goodbye or when it has been silent too long.',
  },
  'celery.worker.exits': {
    instrument: 'counter',
    unit: '{exit}',
    valueType: 'int',
    ...ON,
    attributes: [...WORKER, 'celery.worker.exit.reason'],
    description:
      'Processes of a worker that left, by how that is known: a deploy is a goodbye, a crash is not.',
  },
  'celery.worker.tasks.active': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: WORKER,
    description: 'Tasks a worker is running, as its last heartbeat told; 0 when it is not up.',
  },
  'celery.worker.tasks.prefetched': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: WORKER,
    description: 'Tasks a worker has received that are due and have not started; 0 when it is not up.',
  },
  'celery.worker.tasks.scheduled': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: WORKER,
    description: 'Tasks a worker has received whose ETA is to come; 0 when it is not up.',
  },
  'celery.worker.tasks.processed': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    ...ON,
    attributes: WORKER,
    description: 'Tasks a worker has begun since it was first heard of, as its heartbeats tell.',
  },
  'celery.worker.events.lost': {
    instrument: 'counter',
    unit: '{event}',
    valueType: 'int',
    ...ON,
    attributes: WORKER,
    description: 'Starts of tasks that a worker’s heartbeats account for, and of which no event came.',
  },
  'celery.worker.heartbeat.age': {
    instrument: 'gauge',
    combined: 'max',
    unit: 's',
    valueType: 'double',
    ...ON,
    attributes: WORKER,
    description:
      'Time since a worker’s last sign of life, of whatever kind, while the broker could be heard.',
  },
  'celery.worker.load': {
    instrument: 'gauge',
    combined: 'max',
    unit: '{run}',
    valueType: 'double',
    ...OFF,
    attributes: [...WORKER, 'celery.worker.load.period'],
    description: 'Load averages of a worker’s host, as its last heartbeat told; 0 when it is not up.',
  },
  'celery.worker.info': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{worker}',
    valueType: 'int',
    ...ON,
    attributes: [...WORKER, 'celery.version', 'os.type'],
    description:
      '1 for the version that a worker has told while it is up; 0 when it is not, and for its former versions.',
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
    description: '1 while the bridge runs.',
  },
  'celery_otel.uptime': {
    instrument: 'gauge',
    combined: 'max',
    unit: 's',
    valueType: 'double',
    ...SELF,
    attributes: [],
    description: 'Time since the bridge was started.',
  },
  'celery_otel.events': {
    instrument: 'counter',
    unit: '{event}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.event.type'],
    description: 'Celery events that were read and applied.',
  },
  'celery_otel.event.lag': {
    instrument: 'histogram',
    unit: 's',
    valueType: 'double',
    ...SELF,
    attributes: SERVICE,
    buckets: LAG_BUCKETS_S,
    description:
      'Time from an event, by the clock of its sender, to its arrival here; 0 where that is negative.',
  },
  'celery_otel.input.dropped': {
    instrument: 'counter',
    unit: '{item}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.drop.reason', 'celery_otel.drop.intentional'],
    description: 'Messages, or events in them, that were not counted.',
  },
  'celery_otel.defects': {
    instrument: 'counter',
    unit: '{defect}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.defect.where'],
    description: 'Internal errors, and failures of attached providers, that were caught and logged.',
  },
  'celery_otel.fields.implausible': {
    instrument: 'counter',
    unit: '{field}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.event.field'],
    description: 'Fields that held what they cannot, and were taken as not told; their events were counted.',
  },
  'celery_otel.broker.connected': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{connection}',
    valueType: 'int',
    ...SELF,
    attributes: SERVICE,
    description: '1 while events can arrive from a broker, 0 while they cannot.',
  },
  'celery_otel.broker.connections': {
    instrument: 'counter',
    unit: '{connection}',
    valueType: 'int',
    ...SELF,
    attributes: SERVICE,
    description: 'Connections to a broker that came about; each but the first is a reconnection.',
  },
  'celery_otel.broker.sessions': {
    instrument: 'counter',
    unit: '{session}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.session.end'],
    description: 'Sessions with a broker that ended, or attempts that came to none.',
  },
  'celery_otel.table.entries': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{entry}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.table'],
    description:
      'Entries in a bounded table of what is known of a cluster. Tasks that are over stay until there is no room, so their table is full sooner or later.',
  },
  'celery_otel.table.limit': {
    instrument: 'gauge',
    combined: 'sum',
    unit: '{entry}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.table'],
    description: 'Entries that a bounded table has room for.',
  },
  'celery_otel.table.size': {
    instrument: 'gauge',
    combined: 'sum',
    unit: 'By',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.table'],
    description:
      'Memory that the entries of a bounded table take, estimated from what they hold; rather too much than too little.',
  },
  'celery_otel.table.size_limit': {
    instrument: 'gauge',
    combined: 'sum',
    unit: 'By',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.table'],
    description:
      'Memory that the entries of a bounded table may take, which follows from its limit on entries. Only names much longer than usual reach it first.',
  },
  'celery_otel.table.evictions': {
    instrument: 'counter',
    unit: '{entry}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.table'],
    description: 'Entries of a full table that gave way to others while they were needed.',
  },
  'celery_otel.clock.skews': {
    instrument: 'counter',
    unit: '{measurement}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.sender.host', 'celery_otel.worker.host'],
    description: 'Waits that were clearly negative and taken as 0: the clocks of the two hosts differ.',
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
    description:
      'Points in the last collection of what is exported under a resource, of all its metrics together.',
  },
  'celery_otel.series.retired': {
    instrument: 'counter',
    unit: '{series}',
    valueType: 'int',
    ...SELF,
    attributes: SERVICE,
    description:
      'Series that ended: their worker is forgotten, or they were idle for long and gave their place to others.',
  },
  'celery_otel.series.overflowed': {
    instrument: 'counter',
    unit: '{measurement}',
    valueType: 'int',
    ...SELF,
    attributes: SERVICE,
    description:
      'Measurements of series beyond the limit, which are exported together under `otel.metric.overflow`.',
  },
  'celery_otel.measurements.refused': {
    instrument: 'counter',
    unit: '{measurement}',
    valueType: 'int',
    ...SELF,
    attributes: SERVICE,
    description:
      'Measurements that are in no point: negative or not finite, or too much for the sum of their series.',
  },
  'celery_otel.exports': {
    instrument: 'counter',
    unit: '{export}',
    valueType: 'int',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.export.outcome'],
    description: 'Exports that ended.',
  },
  'celery_otel.export.duration': {
    instrument: 'histogram',
    unit: 's',
    valueType: 'double',
    ...SELF,
    attributes: [...SERVICE, 'celery_otel.export.outcome'],
    buckets: EXPORT_BUCKETS_S,
    description: 'Time that an export took, with all its requests.',
  },
  'celery_otel.export.points': {
    instrument: 'counter',
    unit: '{point}',
    valueType: 'int',
    ...SELF,
    attributes: SERVICE,
    description: 'Points that arrived at the backend, those that it rejected included.',
  },
  'celery_otel.export.points.rejected': {
    instrument: 'counter',
    unit: '{point}',
    valueType: 'int',
    ...SELF,
    attributes: SERVICE,
    description: 'Points that arrived at the backend and that it will never take.',
  },
  'celery_otel.event_loop.delay': {
    instrument: 'gauge',
    combined: 'max',
    unit: 's',
    valueType: 'double',
    ...SELF,
    attributes: ['celery_otel.event_loop.statistic'],
    description:
      'How much later than they were due timers of the bridge fired since the collection before: what everything else waits, too.',
  },
  'celery_otel.cpu.time': {
    instrument: 'counter',
    unit: 's',
    valueType: 'double',
    ...SELF,
    attributes: ['cpu.mode'],
    description: 'CPU time of the process since the bridge was started.',
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
