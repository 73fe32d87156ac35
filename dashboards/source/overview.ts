/** The table of the dashboard Celery / Overview: is all well, and if not, where? Details of one task or worker are on others. */
import type { DashboardTable, PanelGroup } from './panel-table.ts';
import { ENDS, failureRatio, inRange, quantile, quantileInRange, rate, SERVICE, sumBy } from './promql.ts';
import { COUNT, PER_SECOND, RATIO, SECONDS } from './units.ts';

const TASK = 'job, celery_task_name';
const TASK_LEGEND = '{{celery_task_name}} ({{job}})';
const QUEUE = 'job, celery_queue_name';
const QUEUE_LEGEND = '{{celery_queue_name}} ({{job}})';
const RED_FROM_ONE = [{ color: 'green' }, { from: 1, color: 'red' }] as const;
const FAILURES = [{ color: 'green' }, { from: 0.05, color: 'yellow' }, { from: 0.2, color: 'red' }] as const;
const WAITS = [{ color: 'green' }, { from: 60, color: 'yellow' }, { from: 600, color: 'red' }] as const;

const GLANCE: PanelGroup = {
  title: 'At a glance',
  panels: [
    {
      ...{ kind: 'stat', title: 'Workers up', unit: COUNT, width: 3, leadsTo: 'celery-workers-and-queues' },
      description: 'Workers that are alive. At 0 nothing is done: start a worker, or look at the broker.',
      queries: [{ expr: `sum(celery_worker_up{${SERVICE}})`, legend: 'up' }],
      steps: [{ color: 'red' }, { from: 1, color: 'green' }],
    },
    {
      ...{ kind: 'stat', title: 'Pools busy', unit: RATIO, width: 3, leadsTo: 'celery-workers-and-queues' },
      description:
        'Running tasks by those that the pools can run at once. Near 100 % tasks begin to wait: add processes.',
      queries: [
        {
          expr: `sum(celery_worker_tasks_active{${SERVICE}}) / sum(celery_worker_pool_processes{${SERVICE}})`,
          legend: 'busy',
        },
      ],
      steps: [{ color: 'green' }, { from: 0.8, color: 'yellow' }, { from: 0.95, color: 'red' }],
    },
    {
      ...{ kind: 'stat', title: 'Tasks started', unit: PER_SECOND, width: 3, leadsTo: 'celery-task' },
      description: 'Runs that workers start, a second.',
      queries: [{ expr: sumBy('', rate('celery_task_started_total', SERVICE)), legend: 'started' }],
    },
    {
      ...{ kind: 'stat', title: 'Failure ratio', unit: RATIO, width: 3, leadsTo: 'celery-task' },
      description:
        'Runs that failed in the time range, by those that failed or succeeded. Retries are no failures. The table of exceptions says which.',
      queries: [{ expr: failureRatio('', SERVICE, inRange), legend: 'failed' }],
      steps: FAILURES,
    },
    {
      ...{ kind: 'stat', title: 'Wait p95', unit: SECONDS, width: 3, leadsTo: 'celery-workers-and-queues' },
      description:
        'All but 5 % of the tasks waited less than this before they started. Empty without task-sent events.',
      queries: [{ expr: quantile(0.95, '', 'celery_task_wait_time_seconds', SERVICE), legend: 'p95' }],
      steps: WAITS,
    },
    {
      ...{ kind: 'stat', title: 'Oldest waiting task', unit: SECONDS, width: 3 },
      ...{ leadsTo: 'celery-workers-and-queues' },
      description:
        'How long the oldest task that is due has waited. If it grows without end, nobody consumes its queue.',
      queries: [
        {
          expr: `max(celery_task_oldest_age_seconds{${SERVICE}, celery_task_state="waiting"})`,
          legend: 'oldest',
        },
      ],
      steps: WAITS,
    },
    {
      ...{ kind: 'stat', title: 'Tasks lost', unit: COUNT, width: 3, leadsTo: 'celery-workers-and-queues' },
      description:
        'Tasks that died with their worker in the time range. Find out which worker was killed, and why.',
      queries: [{ expr: sumBy('', inRange('celery_task_lost_total', SERVICE)), legend: 'lost' }],
      steps: RED_FROM_ONE,
    },
    {
      ...{ kind: 'stat', title: 'Events lost', unit: COUNT, width: 3, leadsTo: 'celery-otel-bridge' },
      description:
        'Task starts in the time range of which no event arrived. Counts are too low by as many; look at the bridge.',
      queries: [{ expr: sumBy('', inRange('celery_worker_events_lost_total', SERVICE)), legend: 'lost' }],
      steps: RED_FROM_ONE,
    },
  ],
};

const QUEUES: PanelGroup = {
  title: 'Queues',
  panels: [
    {
      ...{ kind: 'series', title: 'Oldest waiting task', unit: SECONDS, width: 8 },
      ...{ leadsTo: 'celery-workers-and-queues' },
      description:
        'Age of the oldest task in each queue that is due. A line that only rises needs a consumer.',
      queries: [
        {
          expr: `max by (${QUEUE}) (celery_task_oldest_age_seconds{${SERVICE}, celery_task_state="waiting"})`,
          legend: QUEUE_LEGEND,
        },
      ],
      steps: WAITS,
    },
    {
      ...{ kind: 'series', title: 'Messages that wait', unit: COUNT, width: 8 },
      ...{ leadsTo: 'celery-workers-and-queues' },
      description: 'Messages in each queue that a worker could take now, as the broker tells.',
      queries: [{ expr: `sum by (${QUEUE}) (celery_queue_length{${SERVICE}})`, legend: QUEUE_LEGEND }],
    },
    {
      ...{ kind: 'series', title: 'Wait p95', unit: SECONDS, width: 8, exemplars: true },
      ...{ leadsTo: 'celery-workers-and-queues' },
      description:
        'Of each queue, from the sending of a task to its start. Compare with the oldest task: a quantile knows only those that have started.',
      queries: [
        { expr: quantile(0.95, QUEUE, 'celery_task_wait_time_seconds', SERVICE), legend: QUEUE_LEGEND },
      ],
      steps: WAITS,
    },
  ],
};

const TASKS: PanelGroup = {
  title: 'Tasks',
  panels: [
    {
      ...{ kind: 'stacked', title: 'Ends of runs', unit: PER_SECOND, width: 12, leadsTo: 'celery-task' },
      description:
        'How runs end, a second. Whatever is not succeeded has a panel of its own on Celery / Task.',
      queries: ENDS.map((end) => ({
        expr: sumBy('', rate(`celery_task_${end}_total`, SERVICE)),
        legend: end,
      })),
    },
    {
      ...{ kind: 'series', title: 'Failure ratio by task', unit: RATIO, width: 12, leadsTo: 'celery-task' },
      description: 'The ten tasks that fail most, by the runs that failed or succeeded.',
      queries: [{ expr: `topk(10, ${failureRatio(TASK, SERVICE, rate)})`, legend: TASK_LEGEND }],
      ...{ max: 1, steps: FAILURES },
    },
    {
      ...{ kind: 'series', title: 'Runtime', unit: SECONDS, width: 12, leadsTo: 'celery-task' },
      description: 'Of all tasks that succeeded. The points are exemplars; they lead to traces.',
      exemplars: true,
      queries: [0.5, 0.95, 0.99].map((part) => ({
        expr: quantile(part, '', 'celery_task_runtime_seconds', `${SERVICE}, error_type=""`),
        legend: `p${100 * part}`,
      })),
    },
    {
      ...{ kind: 'stacked', title: 'Workers kept busy', unit: COUNT, width: 12, leadsTo: 'celery-task' },
      description:
        'Runtime that a task takes each second: how many processes it occupies. The first one is where to save time.',
      queries: [
        {
          expr: `topk(10, ${sumBy(TASK, rate('celery_task_runtime_seconds_sum', SERVICE))})`,
          legend: TASK_LEGEND,
        },
      ],
    },
  ],
};

const TABLES: PanelGroup = {
  title: 'In the time range',
  panels: [
    {
      ...{ kind: 'table', title: 'Tasks', unit: COUNT, width: 14, leadsTo: 'celery-task' },
      description: 'Each task in the time range. A name leads to its own dashboard.',
      queries: [
        { expr: sumBy(TASK, inRange('celery_task_started_total', SERVICE)), legend: 'started' },
        { expr: failureRatio(TASK, SERVICE, inRange), legend: 'failure ratio', unit: RATIO },
        { expr: sumBy(TASK, inRange('celery_task_retried_total', SERVICE)), legend: 'retried' },
        {
          expr: quantileInRange(0.95, TASK, 'celery_task_runtime_seconds', SERVICE),
          ...{ legend: 'runtime p95', unit: SECONDS },
        },
        {
          expr: quantileInRange(0.95, TASK, 'celery_task_wait_time_seconds', SERVICE),
          ...{ legend: 'wait p95', unit: SECONDS },
        },
      ],
    },
    {
      ...{ kind: 'table', title: 'Exceptions', unit: COUNT, width: 10, leadsTo: 'celery-task' },
      description: 'Failures in the time range by task and exception, the most frequent twenty.',
      queries: [
        {
          expr: `topk(20, ${sumBy(`${TASK}, error_type`, inRange('celery_task_failed_total', SERVICE))} > 0)`,
          legend: 'failed',
        },
      ],
    },
  ],
};

const WORKERS: PanelGroup = {
  title: 'Workers',
  panels: [
    {
      ...{ kind: 'up', title: 'Workers that are up', unit: COUNT, width: 12 },
      ...{ leadsTo: 'celery-workers-and-queues' },
      description: 'By worker. Red without a successor of another name is a worker that died.',
      queries: [
        {
          expr: `max by (job, celery_worker_name) (celery_worker_up{${SERVICE}})`,
          legend: '{{celery_worker_name}} ({{job}})',
        },
      ],
      steps: [{ color: 'red' }, { from: 1, color: 'green' }],
    },
    {
      ...{ kind: 'series', title: 'Busy part of the pools', unit: RATIO, width: 12, max: 1 },
      ...{ leadsTo: 'celery-workers-and-queues' },
      description:
        'Of each worker. Where all are near 100 %, tasks wait for a free process. Workers that are not asked are missing, as by default those on Redis with Celery up to 5.6 (control_commands).',
      queries: [
        {
          expr: `max by (job, celery_worker_name) (celery_worker_pool_utilization{${SERVICE}})`,
          legend: '{{celery_worker_name}} ({{job}})',
        },
      ],
      steps: [{ color: 'green' }, { from: 0.8, color: 'yellow' }, { from: 0.95, color: 'red' }],
    },
  ],
};

export const OVERVIEW: DashboardTable = {
  uid: 'celery-overview',
  title: 'Celery / Overview',
  description:
    'Is all well with the chosen Celery services? Each panel leads to the dashboard with the details.',
  variables: ['service'],
  groups: [GLANCE, QUEUES, TASKS, TABLES, WORKERS],
};
