/**
 * What a self event looks like as a log line: its level, its text, and the key under which repetitions of it are held
 * back. Pure; where the line goes is decided elsewhere.
 */
import type { SelfEvent } from './self-event.ts';

export type LineLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LogLine {
  readonly level: LineLevel;
  readonly text: string;
  /** Lines of one key are rate-bounded together; undefined: always logged. */
  readonly rateKey: string | undefined;
}

type Table = Extract<SelfEvent, { readonly kind: 'table-evicted' }>['table'];

/** What happens when a table is full, and what can be done about it. */
const TABLES: Readonly<Record<Table, readonly [what: string, remedy: string]>> = {
  tasks: ['unfinished tasks were forgotten', 'raise tasks_max'],
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
  unsent: 'its last export did not arrive in time',
  unheard: 'none of its exports ever arrived',
  'handed-over': 'its metrics are left to the provider it was attached to',
};

export function logLine(event: SelfEvent): LogLine {
  switch (event.kind) {
    case 'service-started':
      return line('info', `listening for ${event.service} on ${event.brokers.join(', ')}`);
    case 'service-stopping':
      return line('info', `stopping ${event.service}`);
    case 'service-stopped':
      return line(
        event.metrics === 'unsent' || event.metrics === 'unheard' ? 'warn' : 'info',
        `stopped ${event.service}; ${STOPPED[event.metrics]}`,
      );
    case 'broker-connected':
      return line('info', `connected to ${event.broker}`);
    case 'broker-session-ended':
      return sessionEnded(event);
    case 'input-dropped':
      return line(
        event.intentional ? 'debug' : 'warn',
        `not counted: ${event.reason} (${event.detail})`,
        `${event.kind} ${event.service} ${event.reason}`,
      );
    case 'table-evicted':
      return line(
        'warn',
        `${TABLES[event.table][0]}: ${event.count}; ${TABLES[event.table][1]}`,
        `${event.kind} ${event.service} ${event.table}`,
      );
    case 'clock-skewed':
      return line(
        'warn',
        `the clocks of ${event.senderHost} (sender) and ${event.workerHost} (worker) differ: a negative wait was taken as 0`,
        `${event.kind} ${event.service}`,
      );
    case 'export-finished':
      return exportFinished(event);
    case 'exports-recovered':
      return line(
        'info',
        `exports of ${event.service} to ${event.backend} succeed again after ${event.failures} ${event.failures === 1 ? 'failure' : 'failures'} in ${seconds(event.afterMs)}`,
        `${event.kind} ${event.service}`,
      );
    case 'export-late':
      return line('warn', lateText(event), `${event.kind} ${event.service}`);
    case 'defect':
      return line(
        'error',
        `a defect of ours in ${event.where}: ${event.reason}`,
        `${event.kind} ${event.where}`,
      );
  }
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
  switch (event.end) {
    case 'stopped':
      return line('debug', `${event.broker}: stopped`);
    case 'finished':
      return line('info', `${event.broker}: no more messages`);
    case 'lost':
      return line('warn', text);
    case 'unreachable':
    case 'refused':
      return line('warn', text, rateKey);
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
    ? `the backend took all ${points} points and warns: ${reason}`
    : `the backend rejected ${rejectedPoints} of ${points} points for good: ${reason || 'it does not say why'}`;
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

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function line(level: LineLevel, text: string, rateKey?: string): LogLine {
  return { level, text, rateKey };
}
