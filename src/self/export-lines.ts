/** The log lines of exports: of metrics, and of batches of spans and log records. Pure. */
import { type LogLine, line, quoted, seconds } from './line.ts';
import type { BatchedSignal, ItemDropReason, SelfEvent } from './self-event.ts';

export function exportFinished(event: SelfEvent<'export-finished'>): LogLine {
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
          ? `export to ${event.backend} failed, no data is lost: ${event.reason}`
          : `export to ${event.backend} failed, and ${event.rejectedPoints} points were rejected permanently: ${event.reason}`,
        rateKey,
      );
  }
}

const ITEMS: Readonly<Record<BatchedSignal, string>> = { traces: 'spans', logs: 'log records' };

/** Why items were dropped, and what to do, by reason. */
const DROPPED_ITEMS: Readonly<Record<ItemDropReason, string>> = {
  queue_full:
    'the queue is full: the backend is unavailable or too slow; raise max_queue_size, or keep fewer',
  refused: 'the backend refused them',
  stopped: 'the shutdown timeout expired',
  unknown_root: 'the task-received events of their tasks were missed, so their traces are unknown',
  trace_undecided: 'too many runs of open traces were held; lower traces_hold',
  repeated: 'too many records of the same problem',
  rate_limited: 'more than 100 per second',
};

export function itemsDropped({ kind, service, signal, reason, count }: SelfEvent<'items-dropped'>): LogLine {
  const level = ['repeated', 'rate_limited', 'unknown_root'].includes(reason) ? 'debug' : 'warn';
  return line(
    level,
    `${count} ${ITEMS[signal]} of ${service} dropped: ${DROPPED_ITEMS[reason]}`,
    `${kind} ${service} ${signal} ${reason}`,
  );
}

export function batchFinished(event: SelfEvent<'batch-finished'>): LogLine {
  const { kind, signal, backend, outcome, items, rejectedItems, durationMs } = event;
  const what = ITEMS[signal];
  const reason = event.reason === '' ? 'no reason given' : quoted(event.reason);
  const rateKey = `${kind} ${signal} ${outcome}`;
  switch (outcome) {
    case 'success':
      return line('debug', `exported ${items} ${what} in ${Math.round(durationMs)} ms`);
    case 'partial':
      return line(
        'warn',
        rejectedItems === 0
          ? `the backend accepted all ${items} ${what} with a warning: ${reason}`
          : `the backend rejected ${rejectedItems} of ${items} ${what} permanently: ${reason}`,
        rateKey,
      );
    case 'failure':
      return line('warn', `export of ${what} to ${backend} failed: ${event.reason}`, rateKey);
  }
}

/** A backend may also accept everything and still send a warning (OTLP specification, "Partial Success"). */
function partialText({ points, rejectedPoints, reason }: SelfEvent<'export-finished'>): string {
  return rejectedPoints === 0
    ? `the backend accepted all ${points} points with a warning: ${quoted(reason)}`
    : `the backend rejected ${rejectedPoints} of ${points} points permanently: ${reason === '' ? 'no reason given' : quoted(reason)}`;
}

export function recovered(event: SelfEvent<'exports-recovered'>): LogLine {
  const { kind, service, backend, afterMs } = event;
  const failures = event.failures === 1 ? '1 failure' : `${event.failures} failures`;
  const text = `exports of ${service} to ${backend} are succeeding again after ${failures} in ${seconds(afterMs)}`;
  return line('info', text, `${kind} ${service}`);
}

export function exportLate({ kind, service, ...event }: SelfEvent<'export-late'>): LogLine {
  const { durationMs, waitedMs, intervalMs } = event;
  const what = `an export of ${service} took ${seconds(durationMs)}, longer than the interval of ${seconds(intervalMs)}; no data is lost`;
  const why =
    waitedMs > durationMs / 2
      ? 'the backend is slow: speed it up, or raise metric_export_interval'
      : 'this process is overloaded: raise metric_export_interval, or have fewer series or services';
  return line('warn', `${what}, but ${why}`, `${kind} ${service}`);
}
