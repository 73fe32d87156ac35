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
  /** Upper bounds of a histogram's buckets, in its unit; a view may replace them. */
  readonly buckets?: readonly number[];
}

/** A metric about Celery, which users switch on and off. */
export interface MetricRow extends InstrumentRow {
  /** Whether it is exported unless an option says otherwise. */
  readonly enabled: boolean;
}

const TASK = ['celery.task.name', 'celery.queue.name'] as const;
const TASK_ON_WORKER = [...TASK, 'celery.worker.name'] as const;
const WORKER = ['celery.worker.name'] as const;

/** Fine below ten seconds, where most tasks end, and up to an hour for the long ones. */
const RUNTIME_BUCKETS_S = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 15, 20, 25, 30, 35, 40, 50, 60,
  70, 80, 90, 100, 150, 300, 600, 900, 1800, 3600,
] as const;

/** What is exported under each Celery service's own resource. */
export const METRICS = {
  'celery.task.sent': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    enabled: true,
    stability: 'development',
    attributes: TASK,
    description: 'Tasks sent, by clients that send the event (task_send_sent_event).',
  },
  'celery.task.received': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    enabled: true,
    stability: 'development',
    attributes: TASK_ON_WORKER,
    description: 'Tasks that a worker took from its queue.',
  },
  'celery.task.started': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    enabled: true,
    stability: 'development',
    attributes: TASK_ON_WORKER,
    description: 'Tasks that a worker began to run.',
  },
  'celery.task.succeeded': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    enabled: true,
    stability: 'development',
    attributes: TASK_ON_WORKER,
    description: 'Tasks that returned.',
  },
  'celery.task.failed': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    enabled: true,
    stability: 'development',
    attributes: [...TASK_ON_WORKER, 'error.type'],
    description: 'Tasks that raised an exception, exceeded a time limit or lost their process.',
  },
  'celery.task.retried': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    enabled: true,
    stability: 'development',
    attributes: [...TASK_ON_WORKER, 'error.type'],
    description: 'Runs that ended in a retry.',
  },
  'celery.task.rejected': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    enabled: true,
    stability: 'development',
    attributes: [...TASK_ON_WORKER, 'celery.task.requeue'],
    description: 'Tasks that were rejected, by the task itself or for the loss of its process.',
  },
  'celery.task.revoked': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    enabled: true,
    stability: 'development',
    attributes: [...TASK_ON_WORKER, 'celery.task.revocation'],
    description: 'Tasks that were revoked, terminated or had expired, once each.',
  },
  'celery.task.cancelled': {
    instrument: 'counter',
    unit: '{task}',
    valueType: 'int',
    enabled: true,
    stability: 'development',
    attributes: TASK_ON_WORKER,
    description: 'Tasks that a worker cancelled when it lost its broker.',
  },
  'celery.task.runtime': {
    instrument: 'histogram',
    unit: 's',
    valueType: 'double',
    enabled: true,
    stability: 'development',
    attributes: TASK_ON_WORKER,
    optionalAttributes: ['error.type'],
    buckets: RUNTIME_BUCKETS_S,
    description:
      'Time in the task itself. Of failures and retries by the worker’s timestamps, with their error.type.',
  },
  'celery.worker.up': {
    instrument: 'gauge',
    unit: '{worker}',
    valueType: 'int',
    enabled: true,
    stability: 'development',
    attributes: WORKER,
    description:
      '1 while a worker gives signs of life, 0 after its goodbye or when it has been silent too long.',
  },
  'celery.worker.tasks.active': {
    instrument: 'gauge',
    unit: '{task}',
    valueType: 'int',
    enabled: true,
    stability: 'development',
    attributes: WORKER,
    description: 'Tasks a worker is running, as its last heartbeat told; 0 when it is not up.',
  },
} as const satisfies Record<string, MetricRow>;

export type MetricName = keyof typeof METRICS;

export function isMetricName(name: string): name is MetricName {
  return Object.hasOwn(METRICS, name);
}

export const METRIC_NAMES: readonly MetricName[] = Object.keys(METRICS).filter(isMetricName);

/** What is exported under the bridge's own resource, `service.name=celery-otel`. */
export const SELF_METRICS = {
  'celery_otel.up': {
    instrument: 'gauge',
    unit: '{process}',
    valueType: 'int',
    stability: 'development',
    attributes: [],
    description: '1 while the bridge runs.',
  },
  'celery_otel.events': {
    instrument: 'counter',
    unit: '{event}',
    valueType: 'int',
    stability: 'development',
    attributes: ['celery_otel.service', 'celery_otel.event.type'],
    description: 'Celery events that were read and applied.',
  },
  'celery_otel.input.dropped': {
    instrument: 'counter',
    unit: '{item}',
    valueType: 'int',
    stability: 'development',
    attributes: ['celery_otel.service', 'celery_otel.drop.reason', 'celery_otel.drop.intentional'],
    description: 'Messages, or events in them, that were not counted.',
  },
  'celery_otel.broker.sessions': {
    instrument: 'counter',
    unit: '{session}',
    valueType: 'int',
    stability: 'development',
    attributes: ['celery_otel.service', 'celery_otel.session.end'],
    description: 'Sessions with a broker that ended, or attempts that came to none.',
  },
  'celery_otel.table.evictions': {
    instrument: 'counter',
    unit: '{entry}',
    valueType: 'int',
    stability: 'development',
    attributes: ['celery_otel.service', 'celery_otel.table'],
    description: 'Unfinished tasks and workers that were forgotten because a table was full.',
  },
  'celery_otel.exports': {
    instrument: 'counter',
    unit: '{export}',
    valueType: 'int',
    stability: 'development',
    attributes: ['celery_otel.service', 'celery_otel.export.outcome'],
    description: 'Exports that ended.',
  },
} as const satisfies Record<string, InstrumentRow>;
