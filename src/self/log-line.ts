/**
 * Turns a self event into a log line: its level, its text, and the key that rate-limits repetitions. Pure; it writes
 * nothing.
 */
import type { DefectPlace, SelfEvent } from './self-event.ts';

export type LineLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LogLine {
  readonly level: LineLevel;
  readonly text: string;
  /** Lines with the same key share one rate limit; undefined: always logged. */
  readonly rateKey: string | undefined;
  /** How many lines with this key are logged per minute; undefined: one. */
  readonly perMinute?: number;
  /** Names the owner of a state that may flap: a line without a key is dropped if the owner’s last line had the same text. */
  readonly stateOf?: string;
}

type Table = Extract<SelfEvent, { readonly kind: 'table-evicted' }>['table'];

/** What happened because a table was full, and the remedy. */
const TABLES: Readonly<Record<Table, readonly [what: string, remedy: string]>> = {
  tasks: [
    'unfinished tasks were forgotten',
    'raise tasks_max, or start the workers with -E if tasks are sent and never received',
  ],
  workers: ['workers were forgotten', 'raise workers_max'],
  reordering_window: ['events were applied before earlier ones could arrive', 'raise reordering_events_max'],
  clock_skews: [
    'clock differences were counted without host names',
    'synchronize the clocks, or raise skew_pairs_max',
  ],
  fixed_bounds: [
    'implausibly many runs or events of one task, or heartbeats of one worker',
    'check what sends them',
  ],
};

const STOPPED: Readonly<Record<Extract<SelfEvent, { kind: 'service-stopped' }>['metrics'], string>> = {
  flushed: 'everything counted was exported',
  empty: 'there was nothing to export',
  rejected: 'the backend rejected points of its last export for good',
  unsent: 'its last export did not arrive in time',
  'never-exported': 'none of its exports ever arrived',
  'handed-over': 'its metrics remain with the MeterProvider it is attached to',
};

/** Each loss is logged, unless they keep coming. */
const LOSSES_PER_MINUTE = 5;

const DEFECTS: Readonly<Record<DefectPlace, string>> = {
  transport: 'internal error in the broker connection',
  deliver: 'internal error while processing a message, which is not counted',
  between: 'internal error between two broker sessions',
  look: 'internal error in a periodic check',
  export: 'internal error in an export, which will be retried',
  attached_provider: 'the attached MeterProvider failed, and measurements are missing from it',
  stop: 'internal error while stopping',
};

export function logLine(event: SelfEvent): LogLine {
  switch (event.kind) {
    case 'service-started':
      return line('info', `starting ${event.service}: connecting to ${event.brokers.join(', ')}`);
    case 'service-stopping':
      return line('info', `stopping ${event.service}`);
    case 'service-stopped':
      return line(
        ['rejected', 'unsent', 'never-exported'].includes(event.metrics) ? 'warn' : 'info',
        `stopped ${event.service}; ${STOPPED[event.metrics]}`,
      );
    case 'broker-connected':
      return { ...line('info', connected(event)), stateOf: event.service };
    case 'exchange-made':
      return line(
        'warn',
        `created the exchange ${quoted(event.exchange)} at ${event.broker}, which did not exist: either no worker has connected yet, or the workers use another event_exchange or virtual host`,
        `${event.kind} ${event.service} ${event.broker}`,
      );
    case 'publish-blocked':
    case 'publish-refused':
      return publishFailed(event);
    case 'broker-session-ended':
      return sessionEnded(event);
    case 'input-dropped':
    case 'field-implausible':
    case 'table-evicted':
      return droppedLine(event);
    case 'series-overflowed':
      // The first of each metric is always logged; later ones share a rate limit.
      return line('warn', overflowed(event), event.isFirst ? undefined : `${event.kind} ${event.service}`);
    case 'clock-skewed':
    case 'loss-refuted':
      return line('warn', mismeasured(event), `${event.kind} ${event.service}`);
    case 'events-missing':
    case 'events-resumed':
    case 'task-events-missing':
    case 'task-events-resumed':
      return arrivalLine(event);
    case 'clock-stepped':
      return clockStepped(event);
    case 'export-finished':
      return exportFinished(event);
    case 'exports-recovered':
      return line('info', recoveredText(event), `${event.kind} ${event.service}`);
    case 'export-late':
      return line('warn', lateText(event), `${event.kind} ${event.service}`);
    case 'starter-gone':
      return line('warn', 'stopping: the npm script that started this process is gone');
    case 'defect':
      return line('error', `${DEFECTS[event.where]}: ${event.reason}`, `${event.kind} ${event.where}`);
  }
}

function connected({ broker, service, exchange }: Extract<SelfEvent, { kind: 'broker-connected' }>): string {
  const listening = `connected to ${broker}; listening for ${service}`;
  return exchange === undefined ? listening : `${listening} on the exchange ${quoted(exchange)}`;
}

function publishFailed(event: Extract<SelfEvent, { kind: 'publish-blocked' | 'publish-refused' }>): LogLine {
  const { kind, service, broker, reason } = event;
  const key = `${kind} ${service}`;
  return kind === 'publish-blocked'
    ? line('warn', `${broker} blocks publishers: ${reason}; silence does not count meanwhile`, key)
    : line('info', `silence will count even while ${broker} blocks publishers: ${reason}`, key);
}

type DropEvent = Extract<SelfEvent, { kind: 'input-dropped' | 'field-implausible' | 'table-evicted' }>;

function droppedLine(event: DropEvent): LogLine {
  switch (event.kind) {
    case 'input-dropped':
      return line(
        event.intentional ? 'debug' : 'warn',
        `not counted: ${event.reason} (${event.detail})`,
        `${event.kind} ${event.service} ${event.reason}`,
      );
    case 'field-implausible':
      return line(
        'warn',
        `ignored the field ${event.field} of an event: it is ${event.detail}`,
        `${event.kind} ${event.service} ${event.field}`,
      );
    case 'table-evicted':
      return line(
        'warn',
        `${TABLES[event.table][0]}: ${event.count}; ${TABLES[event.table][1]}`,
        `${event.kind} ${event.service} ${event.table}`,
      );
  }
}

function overflowed({ service, metric, limit }: Extract<SelfEvent, { kind: 'series-overflowed' }>): string {
  return `${metric} of ${service} has reached its cardinality limit of ${limit} points; further attribute sets share one of them (otel.metric.overflow): in the configuration file, raise cardinality_limits, or add a view with a higher aggregation_cardinality_limit or fewer attributes (attribute_keys)`;
}

function mismeasured(event: Extract<SelfEvent, { kind: 'clock-skewed' | 'loss-refuted' }>): string {
  switch (event.kind) {
    case 'clock-skewed':
      return `the clocks of ${quoted(event.senderHost)} (sender) and ${quoted(event.workerHost)} (worker) differ: a negative waiting time was counted as 0`;
    case 'loss-refuted':
      return `${quoted(event.task)} was counted as lost but ended after all: ${quoted(event.worker)} was silent, not dead; raise lost_timeout`;
  }
}

type ArrivalEvent = Extract<
  SelfEvent,
  { kind: 'events-missing' | 'events-resumed' | 'task-events-missing' | 'task-events-resumed' }
>;

/** Not rate-limited: a minute passes before one of them can occur again. */
function arrivalLine(event: ArrivalEvent): LogLine {
  switch (event.kind) {
    case 'events-missing':
      return line(
        'warn',
        `connected, but no event has arrived for ${seconds(event.forMs)}${whyNothing(event)}`,
      );
    case 'events-resumed':
      return line('info', `events arrive again after ${seconds(event.afterMs)} without any`);
    case 'task-events-missing':
      return line(
        'warn',
        `${workersOf(event)} run tasks but send no task events, so their tasks are not counted: start them with "celery worker -E" or worker_send_task_events = True; "celery control enable_events" enables them until the workers restart`,
      );
    case 'task-events-resumed':
      return line('info', 'no worker runs tasks without sending task events any more');
  }
}

function whyNothing({ exchange, unread }: Extract<SelfEvent, { kind: 'events-missing' }>): string {
  return unread === 0
    ? `: either no worker is running, or the workers use another broker, virtual host or event_exchange (here ${quoted(exchange)}), or they run with --without-heartbeat and without -E`
    : ` that could be read: ${unread} messages arrived, and celery_otel.input.dropped says why they were dropped`;
}

function workersOf({ workers, more }: Extract<SelfEvent, { kind: 'task-events-missing' }>): string {
  const names = workers.map(quoted).join(', ');
  return more === 0 ? `the workers ${names}` : `the workers ${names} and ${more} more`;
}

function clockStepped({ kind, byMs }: Extract<SelfEvent, { kind: 'clock-stepped' }>): LogLine {
  const by = seconds(Math.abs(byMs));
  const what =
    byMs < 0
      ? `the clock was set back by ${by}`
      : `the clock was set forward by ${by}, or the machine was suspended`;
  const means = 'ages, lags and waiting times between hosts whose clocks now differ are off by as much';
  // One key per direction, so that a step that is soon undone is logged too.
  return line('warn', `${what}: ${means}; counts are not affected`, `${kind} ${byMs < 0}`);
}

function sessionEnded(event: Extract<SelfEvent, { kind: 'broker-session-ended' }>): LogLine {
  const next =
    event.retryInMs === undefined
      ? 'giving up'
      : event.retryInMs === 0
        ? 'trying the next address'
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
      return { ...line('warn', text, rateKey), perMinute: LOSSES_PER_MINUTE, stateOf };
    case 'unreachable':
    case 'refused':
      return { ...line('warn', text, rateKey), stateOf };
    case 'unusable':
      return line('error', text);
  }
}

type ExportFinished = Extract<SelfEvent, { readonly kind: 'export-finished' }>;

function exportFinished(event: ExportFinished): LogLine {
  const rateKey = `${event.kind} ${event.service} ${event.outcome}`;
  switch (event.outcome) {
    case 'success':
      return line('debug', `exported ${event.points} points in ${Math.round(event.durationMs)} ms`);
    case 'partial':
      return line('warn', partialText(event), rateKey);
    case 'failure':
      return line(
        'warn',
        event.rejectedPoints === 0
          ? `export to ${event.backend} failed, nothing is lost: ${event.reason}`
          : `export to ${event.backend} failed, and ${event.rejectedPoints} points were rejected for good: ${event.reason}`,
        rateKey,
      );
  }
}

/** A backend may also accept everything and still send a warning (OTLP specification, "Partial Success"). */
function partialText({ points, rejectedPoints, reason }: ExportFinished): string {
  return rejectedPoints === 0
    ? `the backend accepted all ${points} points with a warning: ${quoted(reason)}`
    : `the backend rejected ${rejectedPoints} of ${points} points for good: ${reason === '' ? 'no reason given' : quoted(reason)}`;
}

function recoveredText(event: Extract<SelfEvent, { readonly kind: 'exports-recovered' }>): string {
  const failures = event.failures === 1 ? '1 failure' : `${event.failures} failures`;
  return `exports of ${event.service} to ${event.backend} succeed again after ${failures} in ${seconds(event.afterMs)}`;
}

function lateText({
  service,
  durationMs,
  waitedMs,
  intervalMs,
}: Extract<SelfEvent, { readonly kind: 'export-late' }>): string {
  const what = `an export of ${service} took ${seconds(durationMs)}, longer than the interval of ${seconds(intervalMs)}; nothing is lost`;
  return waitedMs > durationMs / 2
    ? `${what}, but the backend is slow: speed it up, or raise metric_export_interval`
    : `${what}, but this process is overloaded: raise metric_export_interval, or have fewer series or services`;
}

/** Quotes text from outside, so that it cannot pass for our own words. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

/** Ten seconds and more are rounded to whole seconds. */
function seconds(ms: number): string {
  return `${ms < 10_000 ? Math.round(ms / 100) / 10 : Math.round(ms / 1000)} s`;
}

function line(level: LineLevel, text: string, rateKey?: string): LogLine {
  return { level, text, rateKey };
}
