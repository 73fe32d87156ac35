/** The table of the dashboard celery-otel / Bridge: can the numbers of the others be believed? It tells nothing of Celery. */
import type { DashboardTable, PanelGroup } from './panel-table.ts';
import { inRange, PROCESS, quantile, rate, sumBy, WATCHED } from './promql.ts';
import { BYTES, COUNT, PER_SECOND, RATIO, SECONDS } from './units.ts';

const SERVICE = 'celery_otel_service';
const LEGEND = '{{celery_otel_service}}';
const UNINTENDED = `${WATCHED}, celery_otel_drop_intentional="false"`;
const RED_FROM_ONE = [{ color: 'green' }, { from: 1, color: 'red' }] as const;
const FILL = [{ color: 'green' }, { from: 0.8, color: 'yellow' }, { from: 1, color: 'red' }] as const;
const MEMORY_OF_TABLES = `max by (${SERVICE}, celery_otel_table) (celery_otel_table_size_bytes{${WATCHED}} / celery_otel_table_size_limit_bytes{${WATCHED}})`;
const FILL_OF_TABLES = `max by (${SERVICE}, celery_otel_table) (celery_otel_table_entries{${WATCHED}} / celery_otel_table_limit{${WATCHED}})`;

const GLANCE: PanelGroup = {
  title: 'At a glance',
  panels: [
    {
      ...{ kind: 'stat', title: 'Up', unit: COUNT, width: 3 },
      description: 'Processes of celery-otel. For each Celery service there must be exactly one.',
      queries: [{ expr: `sum(celery_otel_up{${PROCESS}})`, legend: 'up' }],
      steps: [{ color: 'red' }, { from: 1, color: 'green' }],
    },
    {
      ...{ kind: 'stat', title: 'Uptime', unit: SECONDS, width: 3 },
      description: 'Of the process that was started last. After a start, what was sent before is not known.',
      queries: [{ expr: `min(celery_otel_uptime_seconds{${PROCESS}})`, legend: 'uptime' }],
    },
    {
      ...{ kind: 'stat', title: 'Versions', unit: COUNT, width: 3 },
      description: 'Of celery-otel, with the number of processes.',
      queries: [
        {
          expr: 'count by (service_version) (target_info{job="celery-otel"})',
          legend: '{{service_version}}',
        },
      ],
    },
    {
      ...{ kind: 'stat', title: 'Brokers connected', unit: COUNT, width: 3 },
      description: 'By service. At 0 no event arrives: look at the log, which names the likely cause.',
      queries: [{ expr: `max by (${SERVICE}) (celery_otel_broker_connected{${WATCHED}})`, legend: LEGEND }],
      steps: [{ color: 'red' }, { from: 1, color: 'green' }],
    },
    {
      ...{ kind: 'stat', title: 'Instances', unit: COUNT, width: 3 },
      description: 'That export a service. Two count everything twice: stop one.',
      queries: [{ expr: `max by (${SERVICE}) (celery_otel_instances{${WATCHED}})`, legend: LEGEND }],
      steps: [{ color: 'green' }, { from: 2, color: 'red' }],
    },
    {
      ...{ kind: 'stat', title: 'Dropped', unit: COUNT, width: 3 },
      description:
        'Messages or events in the time range that could not be read. What is dropped by design is not in it.',
      queries: [
        { expr: sumBy('', inRange('celery_otel_input_dropped_total', UNINTENDED)), legend: 'dropped' },
      ],
      steps: RED_FROM_ONE,
    },
    {
      ...{ kind: 'stat', title: 'Failed exports', unit: COUNT, width: 3 },
      description: 'In the time range. Totals are not lost by them, but late.',
      queries: [
        {
          expr: sumBy(
            '',
            inRange('celery_otel_exports_total', `${WATCHED}, celery_otel_export_outcome="failure"`),
          ),
          legend: 'failed',
        },
      ],
      steps: RED_FROM_ONE,
    },
    {
      ...{ kind: 'stat', title: 'Fullest table', unit: RATIO, width: 3 },
      description:
        'The table of tasks fills up over time and may stay full. Evictions tell whether that costs something.',
      queries: [{ expr: `max(${FILL_OF_TABLES})`, legend: 'full' }],
      steps: FILL,
    },
  ],
};

const IN: PanelGroup = {
  title: 'In',
  panels: [
    {
      ...{ kind: 'stacked', title: 'Events', unit: PER_SECOND, width: 8 },
      description: 'By type, that were decoded and applied.',
      queries: [
        {
          expr: sumBy('celery_otel_event_type', rate('celery_otel_events_total', WATCHED)),
          legend: '{{celery_otel_event_type}}',
        },
      ],
    },
    {
      ...{ kind: 'series', title: 'Lag', unit: SECONDS, width: 8 },
      description:
        'From an event to its arrival, by the clock of its sender. Up to two seconds is normal: workers batch.',
      queries: [0.5, 0.99].map((part) => ({
        expr: quantile(part, SERVICE, 'celery_otel_event_lag_seconds', WATCHED),
        legend: `p${100 * part} ${LEGEND}`,
      })),
      steps: [{ color: 'green' }, { from: 30, color: 'red' }],
    },
    {
      ...{ kind: 'stacked', title: 'Dropped input', unit: PER_SECOND, width: 8 },
      description:
        'By reason; docs/counting.md explains each. What is not by design is missing in the counts.',
      queries: [
        {
          expr: sumBy(
            'celery_otel_drop_reason, celery_otel_drop_intentional',
            rate('celery_otel_input_dropped_total', WATCHED),
          ),
          legend: '{{celery_otel_drop_reason}}, by design: {{celery_otel_drop_intentional}}',
        },
      ],
    },
    {
      ...{ kind: 'series', title: 'Sessions with brokers', unit: PER_SECOND, width: 8 },
      description:
        'Those that were established, and by how others ended. Between two sessions events are missed.',
      queries: [
        {
          expr: sumBy(
            `${SERVICE}, celery_otel_session_end`,
            rate('celery_otel_broker_sessions_total', WATCHED),
          ),
          legend: `{{celery_otel_session_end}} ${LEGEND}`,
        },
        {
          expr: sumBy(SERVICE, rate('celery_otel_broker_connections_total', WATCHED)),
          legend: `established ${LEGEND}`,
        },
      ],
    },
    {
      ...{ kind: 'series', title: 'Questions to brokers and workers', unit: PER_SECOND, width: 8 },
      description:
        'Polls of queues, and requests by remote control, by outcome. Those that fail leave panels empty.',
      queries: [
        {
          expr: sumBy('celery_otel_poll_outcome', rate('celery_otel_broker_polls_total', WATCHED)),
          legend: 'polls: {{celery_otel_poll_outcome}}',
        },
        {
          expr: sumBy('celery_otel_control_outcome', rate('celery_otel_control_requests_total', WATCHED)),
          legend: 'requests: {{celery_otel_control_outcome}}',
        },
        {
          expr: sumBy('celery_otel_reply_outcome', rate('celery_otel_control_replies_total', WATCHED)),
          legend: 'replies: {{celery_otel_reply_outcome}}',
        },
      ],
    },
    {
      ...{ kind: 'series', title: 'Clock skews', unit: PER_SECOND, width: 8 },
      description: 'Waiting times that came out negative, by pair of hosts. Synchronize the clocks.',
      queries: [
        {
          expr: sumBy(
            'celery_otel_sender_host, celery_otel_worker_host',
            rate('celery_otel_clock_skews_total', WATCHED),
          ),
          legend: '{{celery_otel_sender_host}} to {{celery_otel_worker_host}}',
        },
      ],
    },
  ],
};

const STATE: PanelGroup = {
  title: 'State',
  panels: [
    {
      ...{ kind: 'series', title: 'Age of what workers told', unit: SECONDS, width: 24, height: 6 },
      description:
        'Time since the workers were asked last. Empty if they are not asked; what they told is as old.',
      queries: [
        { expr: `max by (${SERVICE}) (celery_otel_control_age_seconds{${WATCHED}})`, legend: LEGEND },
      ],
    },
    {
      ...{ kind: 'series', title: 'Fill of tables', unit: RATIO, width: 8, max: 1 },
      description: 'Entries, and memory, by their limits. Full is no problem as long as nothing is evicted.',
      queries: [
        { expr: FILL_OF_TABLES, legend: `{{celery_otel_table}} ${LEGEND}` },
        { expr: MEMORY_OF_TABLES, legend: `memory of {{celery_otel_table}} ${LEGEND}` },
      ],
      steps: FILL,
    },
    {
      ...{ kind: 'series', title: 'Evictions', unit: PER_SECOND, width: 8 },
      description: 'Entries that were removed while they were still needed. Raise the limit of the table.',
      queries: [
        {
          expr: sumBy(`${SERVICE}, celery_otel_table`, rate('celery_otel_table_evictions_total', WATCHED)),
          legend: `{{celery_otel_table}} ${LEGEND}`,
        },
      ],
    },
    {
      ...{ kind: 'series', title: 'Series', unit: COUNT, width: 8 },
      description:
        'Points of an export, and measurements beyond the limit a second. The latter are only in sums.',
      queries: [
        { expr: `sum by (${SERVICE}) (celery_otel_series{${WATCHED}})`, legend: LEGEND },
        {
          expr: sumBy(SERVICE, rate('celery_otel_series_overflowed_total', WATCHED)),
          legend: `beyond the limit: ${LEGEND}`,
        },
        {
          expr: sumBy(SERVICE, rate('celery_otel_series_retired_total', WATCHED)),
          legend: `ended: ${LEGEND}`,
        },
        {
          expr: sumBy(SERVICE, rate('celery_otel_series_unmarked_total', WATCHED)),
          legend: `ended unreported: ${LEGEND}`,
        },
      ],
    },
    {
      ...{ kind: 'series', title: 'What cannot be right', unit: PER_SECOND, width: 24, height: 6 },
      description:
        'Implausible fields of events, measurements that no point can hold, losses that were none after all, and internal errors. The log has more on each; report internal errors.',
      queries: [
        {
          expr: sumBy('celery_otel_event_field', rate('celery_otel_fields_implausible_total', WATCHED)),
          legend: 'implausible: {{celery_otel_event_field}}',
        },
        {
          expr: sumBy(SERVICE, rate('celery_otel_measurements_refused_total', WATCHED)),
          legend: `refused measurements: ${LEGEND}`,
        },
        {
          expr: sumBy(SERVICE, rate('celery_otel_lost_refuted_total', WATCHED)),
          legend: `refuted losses: ${LEGEND}`,
        },
        {
          expr: sumBy('celery_otel_defect_where', rate('celery_otel_defects_total', WATCHED)),
          legend: 'internal error: {{celery_otel_defect_where}}',
        },
      ],
    },
  ],
};

const OUT: PanelGroup = {
  title: 'Out',
  panels: [
    {
      ...{ kind: 'stacked', title: 'Exports', unit: PER_SECOND, width: 8 },
      description: 'By outcome. After a failure the log names the likely cause.',
      queries: [
        {
          expr: sumBy('celery_otel_export_outcome', rate('celery_otel_exports_total', WATCHED)),
          legend: '{{celery_otel_export_outcome}}',
        },
        {
          expr: sumBy(
            'celery_otel_signal, celery_otel_export_outcome',
            rate('celery_otel_batches_total', PROCESS),
          ),
          legend: '{{celery_otel_signal}}: {{celery_otel_export_outcome}}',
        },
      ],
    },
    {
      ...{ kind: 'series', title: 'Export duration p95', unit: SECONDS, width: 8 },
      description: 'With all requests. Near the interval of exports, the backend is too slow.',
      queries: [
        { expr: quantile(0.95, SERVICE, 'celery_otel_export_duration_seconds', WATCHED), legend: LEGEND },
        {
          expr: quantile(0.95, 'celery_otel_signal', 'celery_otel_batch_duration_seconds', PROCESS),
          legend: '{{celery_otel_signal}}',
        },
      ],
    },
    {
      ...{ kind: 'series', title: 'Points', unit: PER_SECOND, width: 8 },
      description: 'That arrived at the backend, and those of them that it rejected for good.',
      queries: [
        {
          expr: sumBy(SERVICE, rate('celery_otel_export_points_total', WATCHED)),
          legend: `arrived: ${LEGEND}`,
        },
        {
          expr: sumBy(SERVICE, rate('celery_otel_export_points_rejected_total', WATCHED)),
          legend: `rejected: ${LEGEND}`,
        },
      ],
    },
    {
      ...{ kind: 'series', title: 'Spans and log records', unit: PER_SECOND, width: 12 },
      description:
        'That arrived at the backend, if traces or logs are exported, and those of them that it rejected for good.',
      queries: [
        {
          expr: sumBy('celery_otel_signal', rate('celery_otel_batch_items_total', PROCESS)),
          legend: '{{celery_otel_signal}}',
        },
        {
          expr: sumBy('celery_otel_signal', rate('celery_otel_batch_items_rejected_total', PROCESS)),
          legend: 'rejected: {{celery_otel_signal}}',
        },
      ],
    },
    {
      ...{ kind: 'stacked', title: 'Dropped spans and log records', unit: PER_SECOND, width: 12 },
      description:
        'By reason. A full queue: the backend is away or too slow, or more should be sampled away.',
      queries: [
        {
          expr: sumBy(
            'celery_otel_signal, celery_otel_item_drop_reason',
            rate('celery_otel_items_dropped_total', WATCHED),
          ),
          legend: '{{celery_otel_signal}}: {{celery_otel_item_drop_reason}}',
        },
      ],
    },
  ],
};

const OWN: PanelGroup = {
  title: 'Process',
  panels: [
    {
      ...{ kind: 'series', title: 'Delay of the event loop', unit: SECONDS, width: 8 },
      description:
        'Long delays are too many events for this machine, or another program that takes its processor.',
      queries: [
        {
          expr: `max by (celery_otel_event_loop_statistic) (celery_otel_event_loop_delay_seconds{${PROCESS}})`,
          legend: '{{celery_otel_event_loop_statistic}}',
        },
      ],
    },
    {
      ...{ kind: 'stacked', title: 'CPU', unit: RATIO, width: 8 },
      description: 'In cores, by mode. At 100 % events wait.',
      queries: [
        {
          expr: sumBy('cpu_mode', rate('celery_otel_cpu_time_seconds_total', PROCESS)),
          legend: '{{cpu_mode}}',
        },
      ],
    },
    {
      ...{ kind: 'series', title: 'Memory', unit: BYTES, width: 8 },
      description: 'The resident set, and parts of it. It is bounded; see docs/operating.md.',
      queries: [
        {
          expr: `max by (celery_otel_memory_type) (celery_otel_memory_usage_bytes{${PROCESS}})`,
          legend: '{{celery_otel_memory_type}}',
        },
      ],
    },
  ],
};

export const BRIDGE: DashboardTable = {
  uid: 'celery-otel-bridge',
  title: 'celery-otel / Bridge',
  description: 'Can the other dashboards be believed? What comes in, what is forgotten, and what goes out.',
  variables: ['service'],
  groups: [GLANCE, IN, STATE, OUT, OWN],
};
