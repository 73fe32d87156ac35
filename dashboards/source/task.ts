/** The table of the dashboard Celery / Task: how one task, or some, end, run and wait. Workers are only where a task fails there. */
import type { DashboardTable, PanelGroup } from './panel-table.ts';
import {
  ENDS,
  failureRatio,
  inRange,
  mean,
  quantile,
  quantileInRange,
  rate,
  sumBy,
  TASK,
  TASK_ANYWHERE,
} from './promql.ts';
import { COUNT, PER_SECOND, RATIO, SECONDS } from './units.ts';

const NAME = '{{celery_task_name}} ({{job}})';
const BY_TASK = 'job, celery_task_name';
const RUNTIME = 'celery_task_runtime_seconds';
const SUCCEEDED = `${TASK}, error_type=""`;

const OUTCOMES: PanelGroup = {
  title: 'Outcomes',
  panels: [
    {
      ...{ kind: 'stacked', title: 'Ends of runs', unit: PER_SECOND, width: 12 },
      description: 'How runs end, a second. A run is one execution: retries are runs of their own.',
      queries: ENDS.map((end) => ({ expr: sumBy('', rate(`celery_task_${end}_total`, TASK)), legend: end })),
    },
    {
      ...{ kind: 'series', title: 'Failure ratio', unit: RATIO, width: 12, max: 1 },
      description:
        'Runs that failed, by those that failed or succeeded. A task that always fails is at 100 %.',
      queries: [{ expr: failureRatio(BY_TASK, TASK, rate), legend: NAME }],
      steps: [{ color: 'green' }, { from: 0.05, color: 'yellow' }, { from: 0.2, color: 'red' }],
    },
    {
      ...{ kind: 'stacked', title: 'Failures by exception', unit: PER_SECOND, width: 12 },
      description:
        'A new colour is a new kind of failure. Look for it in the log records or traces of that time.',
      queries: [
        { expr: sumBy('error_type', rate('celery_task_failed_total', TASK)), legend: '{{error_type}}' },
      ],
    },
    {
      ...{ kind: 'series', title: 'Retries of a run', unit: RATIO, width: 6 },
      description: 'Part of the runs that end in a retry. If it grows, something that the task calls is ill.',
      queries: [
        {
          expr: `${sumBy(BY_TASK, rate('celery_task_retried_total', TASK))} / ${sumBy(BY_TASK, rate('celery_task_started_total', TASK))}`,
          legend: NAME,
        },
      ],
    },
    {
      ...{ kind: 'stacked', title: 'Revoked', unit: PER_SECOND, width: 6 },
      description: 'By reason. Expired ones waited too long: look at the queue.',
      queries: [
        {
          expr: sumBy('celery_task_revocation', rate('celery_task_revoked_total', TASK)),
          legend: '{{celery_task_revocation}}',
        },
      ],
    },
    {
      ...{ kind: 'series', title: 'Time since the last end', unit: SECONDS, width: 24 },
      description:
        'By outcome, of runs anywhere. A periodic task whose last success is older than its period has a problem. Nothing is known of the time before celery-otel started.',
      queries: [
        {
          expr: `min by (celery_task_name, celery_task_outcome, job) (celery_task_last_end_age_seconds{${TASK_ANYWHERE}})`,
          legend: '{{celery_task_outcome}} {{celery_task_name}} ({{job}})',
        },
      ],
    },
  ],
};

const TIMES: PanelGroup = {
  title: 'Times',
  panels: [
    {
      ...{ kind: 'series', title: 'Runtime', unit: SECONDS, width: 12, exemplars: true },
      description: 'Of runs that succeeded. The points are exemplars; they lead to traces.',
      queries: [0.5, 0.95, 0.99].map((part) => ({
        expr: quantile(part, '', RUNTIME, SUCCEEDED),
        legend: `p${100 * part}`,
      })),
    },
    {
      ...{ kind: 'heatmap', title: 'Runtimes', unit: SECONDS, width: 12, exemplars: true },
      description:
        'How often runs took how long. Two bands are two kinds of input; a rising band is a slow-down.',
      queries: [
        {
          expr: sumBy('le', `increase(${RUNTIME}_bucket{${SUCCEEDED}}[$__rate_interval])`),
          legend: '{{le}}',
        },
      ],
    },
    {
      ...{ kind: 'series', title: 'Runtime p95 of failures and successes', unit: SECONDS, width: 8 },
      description:
        'Failures that take as long as a limit are time-outs; those that take no time fail at the start.',
      queries: [
        { expr: quantile(0.95, '', RUNTIME, `${TASK}, error_type!=""`), legend: 'failed or retried' },
        { expr: quantile(0.95, '', RUNTIME, SUCCEEDED), legend: 'succeeded' },
      ],
    },
    {
      ...{ kind: 'stacked', title: 'Where the time goes', unit: SECONDS, width: 8 },
      description:
        'Means of the time in the broker, in the worker, and of the run. Much in the broker: add workers. Much in the worker: prefetch less.',
      queries: [
        { expr: mean('', 'celery_task_queue_time_seconds', TASK), legend: 'in the broker' },
        { expr: mean('', 'celery_task_prefetch_time_seconds', TASK), legend: 'in the worker' },
        { expr: mean('', RUNTIME, TASK), legend: 'running' },
      ],
    },
    {
      ...{ kind: 'series', title: 'Wait p95', unit: SECONDS, width: 8, exemplars: true },
      description: 'From the sending of the task, or its ETA, to its start. Empty without task-sent events.',
      queries: [{ expr: quantile(0.95, BY_TASK, 'celery_task_wait_time_seconds', TASK), legend: NAME }],
      steps: [{ color: 'green' }, { from: 60, color: 'yellow' }, { from: 600, color: 'red' }],
    },
  ],
};

const WORKERS: PanelGroup = {
  title: 'Workers',
  panels: [
    {
      ...{ kind: 'table', title: 'By worker, in the time range', unit: COUNT, width: 18 },
      description:
        'A worker with more failures, or longer runtimes, than the others has another version or machine.',
      queries: [
        { expr: byWorker(inRange('celery_task_started_total', TASK)), legend: 'started' },
        { expr: byWorker(inRange('celery_task_failed_total', TASK)), legend: 'failed' },
        {
          expr: quantileInRange(0.95, 'job, celery_worker_name', RUNTIME, TASK),
          ...{ legend: 'runtime p95', unit: SECONDS },
        },
      ],
    },
    {
      ...{ kind: 'stat', title: 'Lost', unit: COUNT, width: 6, height: 10 },
      description:
        'Runs that died with their worker in the time range. The task was not delivered again: send it anew.',
      queries: [{ expr: sumBy('', inRange('celery_task_lost_total', TASK)), legend: 'lost' }],
      steps: [{ color: 'green' }, { from: 1, color: 'red' }],
    },
  ],
};

function byWorker(vector: string): string {
  return sumBy('job, celery_worker_name', vector);
}

export const TASK_DASHBOARD: DashboardTable = {
  uid: 'celery-task',
  title: 'Celery / Task',
  description: 'How the chosen tasks end, how long they run, and how long they wait.',
  variables: ['service', 'queue', 'task'],
  groups: [OUTCOMES, TIMES, WORKERS],
};
