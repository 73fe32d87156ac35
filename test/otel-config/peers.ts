/** The tables of celery-exporter’s and Flower’s series: their labels, and which series of celery-otel have the same sums. */
import type { Labels } from '../real/prometheus.ts';

/** The attributes of celery-otel that only some ends have. */
const OF_ENDS = ['error_type', 'celery_task_requeue', 'celery_task_revocation'];
const OUTCOMES = ['succeeded', 'failed', 'rejected', 'revoked', 'retried'] as const;

export interface Peer {
  readonly file: string;
  /** Of the demo’s service. */
  readonly job: string;
  /** Label with the name of the task. */
  readonly task: string;
  /** What its dashboards and alerts, and its documents, ask for → the labels that the peer gives these series. */
  readonly asked: Readonly<Record<string, readonly string[]>>;
  /** Labels that series may have besides, so that none has to be added to another one. */
  readonly beside: readonly string[];
  /** Series of the peer → the series of celery-otel with the same sum. */
  readonly same: readonly (readonly [theirs: Labels, ours: Labels])[];
}

export const named = (name: string, labels: Labels = {}): Labels => ({ __name__: name, ...labels });

/** The runtimes of successes; those of failures are left out by the peers. */
const succeeded = (part: string): Labels => named(`celery_task_runtime_seconds${part}`, { error_type: '' });

const HISTOGRAM = ['name', 'hostname', 'queue_name'];
export const CELERY_EXPORTER: Peer = {
  file: 'celery-exporter-names.yaml',
  job: 'celery/shop',
  task: 'name',
  asked: {
    celery_worker_up: ['hostname'],
    celery_worker_tasks_active: ['hostname'],
    celery_task_sent_total: ['name', 'hostname', 'queue_name'],
    celery_task_received_total: ['name', 'hostname', 'queue_name'],
    celery_task_started_total: ['name', 'hostname', 'queue_name'],
    celery_task_succeeded_total: ['name', 'hostname', 'queue_name'],
    celery_task_failed_total: ['name', 'hostname', 'queue_name', 'exception'],
    celery_task_retried_total: ['name', 'hostname', 'queue_name'],
    celery_task_revoked_total: ['name', 'hostname', 'queue_name'],
    celery_task_rejected_total: ['name', 'hostname', 'queue_name'],
    celery_task_runtime_bucket: [...HISTOGRAM, 'le'],
    celery_task_runtime_sum: HISTOGRAM,
    celery_task_runtime_count: HISTOGRAM,
    celery_task_queue_wait_time_bucket: [...HISTOGRAM, 'le'],
    celery_task_queue_wait_time_sum: HISTOGRAM,
    celery_task_queue_wait_time_count: HISTOGRAM,
  },
  beside: ['celery_worker_name', 'celery_task_name', 'celery_queue_name', ...OF_ENDS],
  same: [
    ...['sent', 'received', 'started', ...OUTCOMES].map(
      (event) => [named(`celery_task_${event}_total`), named(`celery_task_${event}_total`)] as const,
    ),
    ...['_sum', '_count'].map((part) => [named(`celery_task_runtime${part}`), succeeded(part)] as const),
    [named('celery_task_queue_wait_time_count'), named('celery_task_wait_time_seconds_count')],
    [named('celery_task_queue_wait_time_sum'), named('celery_task_wait_time_seconds_sum')],
    [named('celery_worker_tasks_active'), named('celery_worker_tasks_active')],
  ],
};

export const FLOWER: Peer = {
  file: 'flower-names.yaml',
  job: 'shop',
  task: 'task',
  asked: {
    flower_events_total: ['worker', 'task', 'type'],
    flower_task_runtime_seconds_bucket: ['worker', 'task', 'le'],
    flower_task_runtime_seconds_sum: ['worker', 'task'],
    flower_task_runtime_seconds_count: ['worker', 'task'],
    flower_task_prefetch_time_seconds_sum: ['worker', 'task'],
    flower_task_prefetch_time_seconds_count: ['worker', 'task'],
    flower_worker_prefetched_tasks: ['worker'],
    flower_worker_online: ['worker'],
    flower_worker_number_of_currently_executing_tasks: ['worker'],
  },
  beside: ['celery_queue_name', ...OF_ENDS],
  same: [
    ...['sent', 'received', 'started', ...OUTCOMES].map(
      (event) =>
        [
          named('flower_events_total', { type: `task-${event}` }),
          named(`celery_task_${event}_total`),
        ] as const,
    ),
    ...['_sum', '_count'].flatMap(
      (part) =>
        [
          [named(`flower_task_runtime_seconds${part}`), succeeded(part)],
          [
            named(`flower_task_prefetch_time_seconds${part}`),
            named(`celery_task_prefetch_time_seconds${part}`),
          ],
        ] as const,
    ),
    [named('flower_worker_online'), named('celery_worker_up')],
    [named('flower_worker_prefetched_tasks'), named('celery_worker_tasks_prefetched')],
    [named('flower_worker_number_of_currently_executing_tasks'), named('celery_worker_tasks_active')],
  ],
};
