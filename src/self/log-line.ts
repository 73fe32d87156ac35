/**
 * What a self event looks like as a log line: its level, its text, and the key under which repetitions of it are held
 * back. Pure; where the line goes is decided elsewhere.
 */
import type { DefectPlace, SelfEvent } from './self-event.ts';

export type LineLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LogLine {
  readonly level: LineLevel;
  readonly text: string;
  /** Lines of one key are rate-bounded together; undefined: always logged. */
  readonly rateKey: string | undefined;
  /** How many of one key are logged; undefined: one. */
  readonly perMinute?: number;
  /** Of a state that may come and go often, whose it is: a line without a key is not logged where the last said the same. */
  readonly stateOf?: string;
}

type Table = Extract<SelfEvent, { readonly kind: 'table-evicted' }>['table'];

/** What happens when a table is full, and what can be done about it. */
const TABLES: Readonly<Record<Table, readonly [what: string, remedy: string]>> = {
  tasks: [
    'unfinished tasks were forgotten',
    'raise tasks_max, or start the workers with -E if tasks are sent and never received',
  ],
  workers: ['workers were forgotten', 'raise workers_max'],
  reordering_window: ['events were counted before earlier ones could come', 'raise reordering_events_max'],
  clock_skews: [
    'differences of clocks were counted without the names of the hosts',
    'set the clocks, or raise skew_pairs_max',
  ],
  fixed_bounds: [
    'more runs or events of one task, or heartbeats of one worker, than make sense',
    'look who sends them',
  ],
};

const STOPPED: Readonly<Record<Extract<SelfEvent, { kind: 'service-stopped' }>['metrics'], string>> = {
  flushed: 'everything counted was exported',
  empty: 'there was nothing to export',
  rejected: 'the backend rejected points of its last export for good',
  unsent: 'its last export did not arrive in time',
  unheard: 'none of its exports ever arrived',
  'handed-over': 'its metrics are left to the provider it was attached to',
};

/** Each is news, unless it goes on and on. */
const LOSSES_PER_MINUTE = 5;

const DEFECTS: Readonly<Record<DefectPlace, string>> = {
  transport: 'internal error in the connection to the broker',
  deliver: 'internal error in what is done with a message, which is not counted',
  between: 'internal error in what is done between two connections',
  look: 'internal error in what is looked for every few seconds',
  export: 'internal error in an export, which is tried again',
  attached_provider: 'the provider that metrics are attached to failed, and what was measured is not in it',
  stop: 'internal error in stopping',
};

export function logLine(event: SelfEvent): LogLine {
  switch (event.kind) {
    case 'service-started':
      return line('info', `starting ${event.service}: connecting to ${event.brokers.join(', ')}`);
    case 'service-stopping':
      return line('info', `stopping ${event.service}`);
    case 'service-stopped':
      return line(
        ['rejected', 'unsent', 'unheard'].includes(event.metrics) ? 'warn' : 'info',
        `stopped ${event.service}; ${STOPPED[event.metrics]}`,
      );
    case 'broker-connected':
      return { ...line('info', connected(event)), stateOf: event.service };
    case 'exchange-made':
      return line(
        'warn',
        `made the exchange ${quoted(event.exchange)} at ${event.broker}, which was not there: either no worker has been there yet, or event_exchange or the virtual host is not that of the workers`,
        `${event.kind} ${event.service} ${event.broker}`,
      );
    case 'broker-session-ended':
      return sessionEnded(event);
    case 'input-dropped':
    case 'field-implausible':
    case 'table-evicted':
      return passedOver(event);
    case 'series-overflowed':
      // The first of each metric is news; after that one of them stands for all.
      return line('warn', overflowed(event), event.isFirst ? undefined : `${event.kind} ${event.service}`);
    case 'clock-skewed':
    case 'loss-refuted':
      return line('warn', mismeasured(event), `${event.kind} ${event.service}`);
    case 'nothing-heard':
    case 'heard-again':
    case 'task-events-missing':
    case 'task-events-again':
      return heard(event);
    case 'clock-stepped':
      return clockStepped(event);
    case 'export-finished':
      return exportFinished(event);
    case 'exports-recovered':
      return line('info', recoveredText(event), `${event.kind} ${event.service}`);
    case 'export-late':
      return line('warn', lateText(event), `${event.kind} ${event.service}`);
    case 'starter-gone':
      return line('warn', 'stopping, since the script of npm that started this is gone');
    case 'defect':
      return line('error', `${DEFECTS[event.where]}: ${event.reason}`, `${event.kind} ${event.where}`);
  }
}

function connected({ broker, service, exchange }: Extract<SelfEvent, { kind: 'broker-connected' }>): string {
  const listening = `connected to ${broker}; listening for ${service}`;
  return exchange === undefined ? listening : `${listening} on the exchange ${quoted(exchange)}`;
}

type PassedOver = Extract<SelfEvent, { kind: 'input-dropped' | 'field-implausible' | 'table-evicted' }>;

/** What of the input was left out. */
function passedOver(event: PassedOver): LogLine {
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
        `${event.field} of an event is taken as not told: it is ${event.detail}`,
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
  return `${metric} of ${service} has the ${limit} points that its limit allows, and what finds no place is counted in one of them (otel.metric.overflow): in the configuration file, raise cardinality_limits, or give it a view with a higher aggregation_cardinality_limit or fewer attributes (attribute_keys)`;
}

function mismeasured(event: Extract<SelfEvent, { kind: 'clock-skewed' | 'loss-refuted' }>): string {
  switch (event.kind) {
    case 'clock-skewed':
      return `the clocks of ${quoted(event.senderHost)} (sender) and ${quoted(event.workerHost)} (worker) differ: a negative wait was taken as 0`;
    case 'loss-refuted':
      return `${quoted(event.task)} was counted as lost and has ended after all: ${quoted(event.worker)} was silent, not dead; raise lost_timeout`;
  }
}

type Heard = Extract<
  SelfEvent,
  { kind: 'nothing-heard' | 'heard-again' | 'task-events-missing' | 'task-events-again' }
>;

/** Neither is held back: it takes a minute until one of them can be told again. */
function heard(event: Heard): LogLine {
  switch (event.kind) {
    case 'nothing-heard':
      return line('warn', `connected, but no event has come for ${seconds(event.forMs)}${whyNothing(event)}`);
    case 'heard-again':
      return line('info', `events arrive again, after ${seconds(event.afterMs)} without`);
    case 'task-events-missing':
      return line(
        'warn',
        `${workersOf(event)} run tasks and send no task events, so their tasks are not counted: start them with "celery worker -E" or worker_send_task_events = True; "celery control enable_events" does it until they restart`,
      );
    case 'task-events-again':
      return line('info', 'no worker is heard of any more that runs tasks and sends no task events');
  }
}

function whyNothing({ exchange, unread }: Extract<SelfEvent, { kind: 'nothing-heard' }>): string {
  return unread === 0
    ? `: either no worker runs, or the workers have another broker, virtual host or event_exchange (here ${quoted(exchange)}), or they were started with --without-heartbeat and without -E`
    : ` that could be read: ${unread} messages came, and celery_otel.input.dropped tells what is wrong with them`;
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
  const means = 'ages, lags and waits between hosts whose clocks now differ are wrong by as much';
  // Apart, so that one that is taken back soon is told, too.
  return line('warn', `${what}: ${means}; counts are not`, `${kind} ${byMs < 0}`);
}

function sessionEnded(event: Extract<SelfEvent, { kind: 'broker-session-ended' }>): LogLine {
  const next =
    event.retryInMs === undefined
      ? 'giving up'
      : event.retryInMs === 0
        ? 'trying the next address'
        : `trying again within ${seconds(event.retryInMs)}`;
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
          ? `export to ${event.backend} failed, nothing is lost by it: ${event.reason}`
          : `export to ${event.backend} failed, and ${event.rejectedPoints} points were rejected for good: ${event.reason}`,
        rateKey,
      );
  }
}

/** A backend may also take everything and have something to say of it (OTLP specification, "Partial Success"). */
function partialText({ points, rejectedPoints, reason }: ExportFinished): string {
  return rejectedPoints === 0
    ? `the backend took all ${points} points and warns: ${quoted(reason)}`
    : `the backend rejected ${rejectedPoints} of ${points} points for good: ${reason === '' ? 'it does not say why' : quoted(reason)}`;
}

function recoveredText(event: Extract<SelfEvent, { readonly kind: 'exports-recovered' }>): string {
  const failures = event.failures === 1 ? '1 failure' : `${event.failures} failures`;
  return `exports of ${event.service} to ${event.backend} succeed again after ${failures} in ${seconds(event.afterMs)}`;
}

/** Either the backend is slow, or there is too much to do here. */
function lateText({
  service,
  durationMs,
  waitedMs,
  intervalMs,
}: Extract<SelfEvent, { readonly kind: 'export-late' }>): string {
  const what = `an export of ${service} took ${seconds(durationMs)}, longer than the interval of ${seconds(intervalMs)}; nothing is lost`;
  return waitedMs > durationMs / 2
    ? `${what}, but the backend is slow: relieve it, or raise metric_export_interval`
    : `${what}, but there is too much to do: raise metric_export_interval, or have fewer series or services`;
}

/** What others wrote: anybody can write what he likes into a name, also words that seem to be ours. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

/** Ten and more are whole. */
function seconds(ms: number): string {
  return `${ms < 10_000 ? Math.round(ms / 100) / 10 : Math.round(ms / 1000)} s`;
}

function line(level: LineLevel, text: string, rateKey?: string): LogLine {
  return { level, text, rateKey };
}
