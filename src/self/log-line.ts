/**
 * Turns a self event into a log line: its level, its text, and the key that rate-limits repetitions. Pure; it writes
 * nothing.
 */
import {
  commandSkipped,
  instancesChanged,
  nameLeftBehind,
  workerDeaf,
  workerRecovered,
  workersAsked,
} from './control-lines.ts';
import { batchFinished, exportFinished, exportLate, itemsDropped, recovered } from './export-lines.ts';
import { type LineLevel, type LogLine, line, quoted, seconds } from './line.ts';
import type { DefectPlace, SelfEvent, SelfEventKind } from './self-event.ts';

export type { LineLevel, LogLine };

type Table = SelfEvent<'table-evicted'>['table'];

/** What happened because a table was full, and what to do. */
const TABLES: Readonly<Record<Table, readonly [what: string, remedy: string]>> = {
  tasks: [
    'unfinished tasks were evicted',
    'raise tasks_max, or, if no task-received events arrive, start the workers with -E',
  ],
  workers: ['workers were evicted', 'raise workers_max'],
  reordering_window: ['events were applied before earlier ones could arrive', 'raise reordering_events_max'],
  clock_skews: [
    'clock differences were counted without host names',
    'synchronize the clocks, or raise skew_pairs_max',
  ],
  fixed_bounds: [
    'implausibly many runs or events of one task, or heartbeats of one worker',
    'find out what sends them',
  ],
};

const STOPPED: Readonly<Record<SelfEvent<'service-stopped'>['metrics'], string>> = {
  flushed: 'everything counted was exported',
  empty: 'there was nothing to export',
  rejected: 'the backend rejected points of its last export permanently',
  unsent: 'its last export did not arrive',
  'never-exported': 'none of its exports ever arrived',
  'handed-over': 'its metrics remain with the MeterProvider it is attached to',
};

const POLLED = {
  partial: 'the broker did not report everything about the queues of',
  failure: 'the broker reported nothing about the queues of',
} as const;

/** How many lost broker connections are logged per minute. */
const LOSSES_PER_MINUTE = 5;

const DEFECTS: Readonly<Record<DefectPlace, string>> = {
  process: 'unexpected error; the process exits after a last export',
  transport: 'internal error in the broker connection',
  deliver: 'internal error while processing a message; the message is not counted',
  between: 'internal error between two broker sessions',
  look: 'internal error in a periodic check',
  report: 'internal error while making spans or log records; they are missing',
  export: 'internal error in an export, which will be retried',
  attached_provider: 'an attached provider or processor failed; telemetry is missing there',
  stop: 'internal error while stopping',
};

/** How each kind of self event becomes a log line. */
const LINES: { readonly [K in SelfEventKind]: (event: SelfEvent<K>) => LogLine } = {
  'service-started': ({ service, brokers }) =>
    line('info', `starting ${service}: connecting to ${brokers.join(', ')}`),
  'workers-endangered': ({ service, commands }) =>
    line(
      'warn',
      `control_commands of ${service} contains ${commands.join(' and ')}: with Celery up to 5.6 on Redis, a worker that cannot encode the arguments of a task in its reply consumes no more tasks until it is restarted; leave them out unless all arguments are JSON`,
    ),
  'service-stopping': ({ service }) => line('info', `stopping ${service}`),
  'service-stopped': ({ service, metrics }) =>
    line(
      ['rejected', 'unsent', 'never-exported'].includes(metrics) ? 'warn' : 'info',
      `stopped ${service}; ${STOPPED[metrics]}`,
    ),
  'broker-connected': (event) => ({ ...line('info', connected(event)), stateOf: event.service }),
  'exchange-made': ({ kind, service, broker, exchange }) =>
    line(
      'warn',
      `created the exchange ${quoted(exchange)} at ${broker}, which did not exist: either no worker has connected yet, or the workers use another event_exchange or virtual host`,
      `${kind} ${service} ${broker}`,
    ),
  'publish-blocked': ({ kind, service, broker, reason }) =>
    line(
      'warn',
      `${broker} blocks publishers: ${reason}; heartbeat timeouts are paused`,
      `${kind} ${service}`,
    ),
  'publish-unblocked': ({ kind, service, broker }) =>
    line('info', `${broker} no longer blocks publishers`, `${kind} ${service}`),
  'publish-refused': ({ kind, service, broker, reason }) =>
    line(
      'info',
      `cannot see whether ${broker} blocks publishers, so busy workers may be reported lost: ${reason}`,
      `${kind} ${service}`,
    ),
  'broker-session-ended': sessionEnded,
  'input-dropped': ({ kind, service, reason, intentional, detail }) =>
    line(
      intentional ? 'debug' : 'warn',
      `not counted: ${reason} (${detail})`,
      `${kind} ${service} ${reason}`,
    ),
  'field-implausible': ({ kind, service, field, detail }) =>
    line('warn', `ignored the field ${field} of an event: it is ${detail}`, `${kind} ${service} ${field}`),
  'table-evicted': ({ kind, service, table, count }) =>
    line('warn', `${TABLES[table][0]}: ${count}; ${TABLES[table][1]}`, `${kind} ${service} ${table}`),
  // The first overflow of each metric is always logged; later ones share a rate limit.
  'series-overflowed': ({ kind, service, metric, limit, isFirst }) =>
    line(
      'warn',
      `${metric} of ${service} has reached its cardinality limit of ${limit} points; further attribute sets share one of them (otel.metric.overflow): in the configuration file, raise cardinality_limits, or add a view with a higher aggregation_cardinality_limit or fewer attributes (attribute_keys)`,
      isFirst ? undefined : `${kind} ${service}`,
    ),
  'broker-polled': ({ kind, service, outcome, reason }) =>
    outcome === 'success'
      ? line('debug', `polled the broker of ${service}`)
      : line('warn', `${POLLED[outcome]} ${service}: ${reason}`, `${kind} ${service} ${outcome}`),
  'workers-asked': workersAsked,
  'command-skipped': commandSkipped,
  'name-left-behind': nameLeftBehind,
  'worker-deaf': workerDeaf,
  'worker-recovered': workerRecovered,
  'instances-changed': instancesChanged,
  'clock-skewed': ({ kind, service, senderHost, workerHost }) =>
    line(
      'warn',
      `the clocks of ${quoted(senderHost)} (sender) and ${quoted(workerHost)} (worker) differ: a negative waiting time was counted as 0`,
      `${kind} ${service}`,
    ),
  'loss-refuted': ({ kind, service, task, worker }) =>
    line(
      'warn',
      `${quoted(task)} was counted as lost but ended after all: ${quoted(worker)} was silent, not dead; raise lost_timeout`,
      `${kind} ${service}`,
    ),
  // The next four need no rate limit: each takes at least a minute to occur again.
  'events-missing': (event) =>
    line('warn', `connected, but no event has arrived for ${seconds(event.forMs)}${whyNothing(event)}`),
  'events-resumed': ({ afterMs }) => line('info', `events are arriving again after ${seconds(afterMs)}`),
  'task-events-missing': (event) =>
    line(
      'warn',
      `${workersOf(event)} run tasks but send no task events, so their tasks are not counted: start them with "celery worker -E" or worker_send_task_events = True; "celery control enable_events" enables them until the workers restart`,
    ),
  'task-events-resumed': () => line('info', 'all workers that run tasks send task events again'),
  'clock-stepped': clockStepped,
  'export-finished': exportFinished,
  'batch-finished': batchFinished,
  'items-dropped': itemsDropped,
  'exports-recovered': recovered,
  'export-late': exportLate,
  'setting-unused': ({ reason }) => line('warn', reason),
  'process-warned': ({ kind, reason }) => line('warn', `Node.js warning: ${reason}`, `${kind} ${reason}`),
  'status-served': ({ url, isOpen }) =>
    line(
      'info',
      `status at ${url}/status.json, probes at /livez and /readyz${isOpen ? '; anyone who can reach that address can read it; require a token with status_token_file' : ''}`,
    ),
  'starter-gone': () => line('warn', 'stopping: the npm script that started this process has ended'),
  defect: ({ kind, where, reason }) => line('error', `${DEFECTS[where]}: ${reason}`, `${kind} ${where}`),
};

export function logLine<K extends SelfEventKind>(event: SelfEvent<K>): LogLine {
  return LINES[event.kind](event);
}

function connected({ broker, service, exchange }: SelfEvent<'broker-connected'>): string {
  const listening = `connected to ${broker}; listening for ${service}`;
  return exchange === undefined ? listening : `${listening} on the exchange ${quoted(exchange)}`;
}

function whyNothing({ exchange, unread }: SelfEvent<'events-missing'>): string {
  return unread === 0
    ? `: either no worker is running, or the workers use another broker, virtual host or event_exchange (here ${quoted(exchange)}), or they run with --without-heartbeat and without -E`
    : ` that could be read: ${unread} messages arrived; celery_otel.input.dropped shows why they were dropped`;
}

function workersOf({ workers, more }: SelfEvent<'task-events-missing'>): string {
  const names = workers.map(quoted).join(', ');
  return more === 0 ? `the workers ${names}` : `the workers ${names} and ${more} more`;
}

function clockStepped({ kind, byMs }: SelfEvent<'clock-stepped'>): LogLine {
  const by = seconds(Math.abs(byMs));
  const what =
    byMs < 0
      ? `the clock was set back by ${by}`
      : `the clock was set forward by ${by}, or the machine was suspended`;
  const means = 'ages, lags and waiting times between hosts whose clocks differ are wrong by that much';
  // One key per direction, so that a step that is soon undone is logged too.
  return line('warn', `${what}: ${means}; counts are not affected`, `${kind} ${byMs < 0}`);
}

function sessionEnded(event: SelfEvent<'broker-session-ended'>): LogLine {
  const next =
    event.retryInMs === undefined
      ? 'giving up'
      : event.retryInMs === 0
        ? event.isElsewhere === true
          ? 'trying the next address'
          : 'reconnecting'
        : `retrying within ${seconds(event.retryInMs)}`;
  const text = `${event.broker}: ${event.reason}; ${next}`;
  const rateKey = `${event.kind} ${event.service} ${event.broker} ${event.end}`;
  const stateOf = event.service;
  switch (event.end) {
    case 'stopped':
      return line('debug', `${event.broker}: stopped`);
    case 'finished':
      return line('info', `${event.broker}: no more messages`);
    case 'lost':
    case 'malformed':
      return { ...line('warn', text, rateKey), perMinute: LOSSES_PER_MINUTE, stateOf };
    case 'unreachable':
    case 'refused':
      return { ...line('warn', text, rateKey), stateOf };
    case 'unusable':
      return line('error', text);
  }
}
