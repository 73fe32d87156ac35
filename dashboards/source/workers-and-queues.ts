/** The table of the dashboard Celery / Workers and queues: who works, on what, and what waits. It knows no task by name. */
import type { DashboardTable, PanelGroup } from './panel-table.ts';
import { inRange, quantile, rate, SERVICE, sumBy } from './promql.ts';
import { BYTES, COUNT, PER_SECOND, RATIO, SECONDS } from './units.ts';

const QUEUED = `${SERVICE}, celery_queue_name=~"$queue"`;
const BY_QUEUE = 'job, celery_queue_name';
const QUEUE = '{{celery_queue_name}} ({{job}})';
const BY_WORKER = 'job, celery_worker_name';
const WORKER = '{{celery_worker_name}} ({{job}})';
const BUSY = [{ color: 'green' }, { from: 0.8, color: 'yellow' }, { from: 0.95, color: 'red' }] as const;
const AGES = [{ color: 'green' }, { from: 60, color: 'yellow' }, { from: 600, color: 'red' }] as const;

const QUEUES: PanelGroup = {
  title: 'Queues',
  panels: [
    {
      ...{ kind: 'series', title: 'Messages that wait', unit: COUNT, width: 8 },
      description:
        'That a worker could take now. What grows for long needs more processes, or less prefetching.',
      queries: [{ expr: `sum by (${BY_QUEUE}) (celery_queue_length{${QUEUED}})`, legend: QUEUE }],
    },
    {
      ...{ kind: 'series', title: 'Oldest task', unit: SECONDS, width: 8 },
      description: 'Age of the oldest task that waits, and of the oldest one that runs.',
      queries: [
        {
          expr: `max by (${BY_QUEUE}, celery_task_state) (celery_task_oldest_age_seconds{${QUEUED}})`,
          legend: '{{celery_task_state}}: {{celery_queue_name}} ({{job}})',
        },
      ],
      steps: AGES,
    },
    {
      ...{ kind: 'series', title: 'Wait p95', unit: SECONDS, width: 8, exemplars: true },
      description: 'From the sending of a task, or its ETA, to its start. Empty without task-sent events.',
      queries: [{ expr: quantile(0.95, BY_QUEUE, 'celery_task_wait_time_seconds', QUEUED), legend: QUEUE }],
      steps: AGES,
    },
    {
      ...{ kind: 'series', title: 'Sent, received, started and ended', unit: PER_SECOND, width: 8 },
      description: 'If more is sent than is received for long, the queue grows. Sent needs task-sent events.',
      queries: [
        ...['sent', 'received', 'started'].map((step) => ({
          expr: sumBy(BY_QUEUE, rate(`celery_task_${step}_total`, QUEUED)),
          legend: `${step}: ${QUEUE}`,
        })),
        {
          expr: sumBy(BY_QUEUE, rate('celery_task_runtime_seconds_count', QUEUED)),
          legend: `ended: ${QUEUE}`,
        },
      ],
    },
    {
      ...{ kind: 'series', title: 'Workers, processes and consumers', unit: COUNT, width: 8 },
      description:
        'At 0 nobody takes what waits: start a worker with -Q and the name of the queue. Consumers on RabbitMQ only. Workers that are not asked are not in it: by default those on Redis with Celery up to 5.6 (control_commands).',
      queries: [
        { expr: `sum by (${BY_QUEUE}) (celery_queue_workers{${QUEUED}})`, legend: `workers: ${QUEUE}` },
        { expr: `sum by (${BY_QUEUE}) (celery_queue_processes{${QUEUED}})`, legend: `processes: ${QUEUE}` },
        { expr: `sum by (${BY_QUEUE}) (celery_queue_consumers{${QUEUED}})`, legend: `consumers: ${QUEUE}` },
      ],
    },
    {
      ...{ kind: 'series', title: 'Busy part of a queue’s pools', unit: RATIO, width: 8, max: 1 },
      description:
        'Near 100 % tasks wait for a free process: add some. Empty if workers are not asked, as by default those on Redis with Celery up to 5.6 (control_commands).',
      queries: [{ expr: `max by (${BY_QUEUE}) (celery_queue_utilization{${QUEUED}})`, legend: QUEUE }],
      steps: BUSY,
    },
  ],
};

const BROKER: PanelGroup = {
  title: 'What the broker still has',
  panels: [
    {
      ...{ kind: 'series', title: 'Taken and not acknowledged', unit: COUNT, width: 8 },
      description:
        'On Redis. Those that are expiring will soon be delivered a second time: raise visibility_timeout.',
      queries: [
        { expr: `sum by (job) (celery_broker_unacked{${SERVICE}})`, legend: 'unacked ({{job}})' },
        { expr: `sum by (job) (celery_broker_unacked_expiring{${SERVICE}})`, legend: 'expiring ({{job}})' },
      ],
    },
    {
      ...{ kind: 'series', title: 'Held for, by the visibility timeout', unit: RATIO, width: 8 },
      description:
        'On Redis: the oldest message that a worker holds. At 100 % it is delivered a second time.',
      queries: [
        {
          expr: `max by (job) (celery_broker_unacked_oldest_age_seconds{${SERVICE}}) / max by (job) (celery_broker_unacked_visibility_timeout_seconds{${SERVICE}})`,
          legend: '{{job}}',
        },
      ],
      steps: [{ color: 'green' }, { from: 0.8, color: 'red' }],
    },
    {
      ...{ kind: 'series', title: 'Delayed', unit: COUNT, width: 8 },
      description: 'On RabbitMQ: messages whose ETA the broker waits for.',
      queries: [{ expr: `sum by (job) (celery_queue_delayed{${SERVICE}})`, legend: '{{job}}' }],
    },
  ],
};

const WORKERS: PanelGroup = {
  title: 'Workers',
  panels: [
    {
      ...{ kind: 'up', title: 'Up', unit: COUNT, width: 16 },
      description:
        '1 while a worker is alive. Red without a successor of another name is a worker that died.',
      queries: [{ expr: `max by (${BY_WORKER}) (celery_worker_up{${SERVICE}})`, legend: WORKER }],
      steps: [{ color: 'red' }, { from: 1, color: 'green' }],
    },
    {
      ...{ kind: 'series', title: 'Ends of workers', unit: COUNT, width: 8 },
      description:
        'In the time range, by reason. A goodbye is a deployment; look for the others in the logs of workers.',
      queries: [
        {
          expr: sumBy(
            'job, celery_worker_exit_reason',
            `increase(celery_worker_exits_total{${SERVICE}}[$__rate_interval])`,
          ),
          legend: '{{celery_worker_exit_reason}} ({{job}})',
        },
      ],
    },
    {
      ...{ kind: 'series', title: 'Running tasks', unit: COUNT, width: 8 },
      description: 'Of each worker, from its heartbeats.',
      queries: [{ expr: `sum by (${BY_WORKER}) (celery_worker_tasks_active{${SERVICE}})`, legend: WORKER }],
    },
    {
      ...{ kind: 'series', title: 'Held tasks', unit: COUNT, width: 8 },
      description:
        'Prefetched ones are due and wait for a process of this worker: others cannot run them. Scheduled ones wait for their ETA.',
      queries: ['prefetched', 'scheduled'].map((kind) => ({
        expr: `sum by (${BY_WORKER}) (celery_worker_tasks_${kind}{${SERVICE}})`,
        legend: `${kind}: ${WORKER}`,
      })),
    },
    {
      ...{ kind: 'series', title: 'Busy part of the pool', unit: RATIO, width: 8, max: 1 },
      description:
        'Running tasks by those that the worker can run at once. An idle one beside full ones has other queues. Workers that are not asked are missing, as by default those on Redis with Celery up to 5.6 (control_commands).',
      queries: [
        { expr: `max by (${BY_WORKER}) (celery_worker_pool_utilization{${SERVICE}})`, legend: WORKER },
      ],
      steps: BUSY,
    },
    {
      ...{ kind: 'series', title: 'Size of the pool', unit: COUNT, width: 8 },
      description:
        'Tasks that a worker can run at once now, and at most. Below the limit an autoscaler can still add some. Workers that are not asked are missing, as by default those on Redis with Celery up to 5.6.',
      queries: [
        {
          expr: `sum by (${BY_WORKER}) (celery_worker_pool_processes{${SERVICE}})`,
          legend: `now: ${WORKER}`,
        },
        {
          expr: `sum by (${BY_WORKER}) (celery_worker_pool_limit{${SERVICE}})`,
          legend: `at most: ${WORKER}`,
        },
      ],
    },
    {
      ...{ kind: 'series', title: 'Prefetch limit', unit: COUNT, width: 8 },
      description:
        'Unacknowledged tasks that a worker may hold. It grows with each task that waits for its ETA. Workers that are not asked are missing, as by default those on Redis with Celery up to 5.6.',
      queries: [{ expr: `sum by (${BY_WORKER}) (celery_worker_prefetch_limit{${SERVICE}})`, legend: WORKER }],
    },
    {
      ...{ kind: 'series', title: 'Last sign of life', unit: SECONDS, width: 8 },
      description:
        'Of each worker. A pool solo is silent while it runs a task; others should stay at some seconds.',
      queries: [
        { expr: `max by (${BY_WORKER}) (celery_worker_heartbeat_age_seconds{${SERVICE}})`, legend: WORKER },
      ],
      steps: [{ color: 'green' }, { from: 30, color: 'red' }],
    },
    {
      ...{ kind: 'series', title: 'Memory of the main process', unit: BYTES, width: 8 },
      description: 'The most that it has had; not that of pool processes.',
      queries: [
        { expr: `max by (${BY_WORKER}) (celery_worker_memory_max_bytes{${SERVICE}})`, legend: WORKER },
      ],
    },
    {
      ...{ kind: 'series', title: 'CPU of the main process', unit: RATIO, width: 8 },
      description: 'In cores; not that of pool processes. A busy main process holds up its pool.',
      queries: [
        { expr: sumBy(BY_WORKER, rate('celery_worker_cpu_time_seconds_total', SERVICE)), legend: WORKER },
      ],
    },
    {
      ...{ kind: 'series', title: 'Autoscalers', unit: COUNT, width: 8 },
      description: 'The bounds of each autoscaler. Empty without one.',
      queries: ['min', 'max'].map((bound) => ({
        expr: `sum by (${BY_WORKER}) (celery_worker_autoscaler_${bound}{${SERVICE}})`,
        legend: `${bound}: ${WORKER}`,
      })),
    },
    {
      ...{ kind: 'table', title: 'Workers', unit: COUNT, width: 16 },
      description:
        'Their versions and sizes, now. Two versions of Celery at once are a deployment that has stopped half-way.',
      queries: [
        {
          expr: `sum by (${BY_WORKER}, celery_version, os_type) (celery_worker_info{${SERVICE}} == 1)`,
          legend: 'up',
        },
        {
          expr: `sum by (${BY_WORKER}, celery_worker_pool) (celery_worker_pool_processes{${SERVICE}})`,
          legend: 'processes',
        },
        {
          expr: `max by (${BY_WORKER}) (celery_worker_uptime_seconds{${SERVICE}})`,
          ...{ legend: 'uptime', unit: SECONDS },
        },
      ],
    },
    {
      ...{ kind: 'table', title: 'What is wrong', unit: COUNT, width: 8 },
      description: 'Deaf workers must be restarted. Of lost events, the counts of the bridge lack as many.',
      queries: [
        { expr: `max by (${BY_WORKER}) (celery_worker_deaf{${SERVICE}})`, legend: 'deaf' },
        {
          expr: sumBy(BY_WORKER, inRange('celery_worker_events_lost_total', SERVICE)),
          legend: 'events lost',
        },
      ],
    },
  ],
};

export const WORKERS_AND_QUEUES: DashboardTable = {
  uid: 'celery-workers-and-queues',
  title: 'Celery / Workers and queues',
  description: 'Who works, on what, how busy they are, and what waits for them.',
  variables: ['service', 'queue'],
  groups: [QUEUES, BROKER, WORKERS],
};
