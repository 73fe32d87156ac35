/**
 * The document of `/services/N.json`, version 1, as in `schema/service-status.schema.json`: the workers, queues and
 * tasks of one service. It may have thousands of rows, so it is made in short steps. Pure: the time is an argument.
 */

import type { WorkerReading } from '../cluster/observation.ts';
import type { ServiceActivity } from '../service/activity/activity.ts';
import type { TaskReading } from '../service/activity/task-activity.ts';
import { printable } from '../text/printable.ts';
import { safeKey } from '../text/safe-key.ts';
import { rounded, seconds } from './document-values.ts';
import { type QueueRow, queueRows } from './queue-rows.ts';

/** How many rows each list has; all are counted. */
const ROWS_MAX = { workers: 1000, queues: 1000, tasks: 5000 } as const;
const ROWS_PER_STEP = 100;
const HISTORY_STEP_S = 10;

export interface ActivityWithSeries extends ServiceActivity {
  readonly series:
    | {
        readonly live: number;
        readonly overflowed: number;
        readonly fullest:
          | { readonly metric: string; readonly live: number; readonly limit: number }
          | undefined;
      }
    | undefined;
}

export interface ServiceDocumentOptions {
  readonly name: string;
  readonly time: Date;
  readonly activity: ActivityWithSeries;
}

export interface WorkerRow {
  readonly name: string;
  readonly up: boolean;
  /** Whether it sent `worker-offline`, and nothing since. */
  readonly left: boolean;
  readonly deaf: boolean;
  /** Null if the worker has not reported it; the same holds for the other values that can be null. */
  readonly pool: string | null;
  readonly running: number | null;
  readonly slots: number | null;
  readonly prefetched: number;
  readonly scheduled: number;
  /** Seconds since the last sign of life. */
  readonly seen_s: number;
  readonly celery: string | null;
}

export interface TaskRow {
  readonly name: string;
  readonly running: number | null;
  /** Counts of the last `recent_s` seconds. */
  readonly recent: TaskReading['recent'];
  readonly total: TaskReading['total'];
  readonly open: number;
  readonly failure_ratio: number | null;
  readonly runtime_p50_s: number | null;
  readonly runtime_p95_s: number | null;
  readonly errors: readonly { readonly type: string; readonly count: number }[];
  /** Seconds since the last event. */
  readonly seen_s: number;
}

export interface Listed<Row> {
  /** May be higher than the number of rows. */
  readonly total: number;
  readonly rows: readonly Row[];
}

export type ServiceDocument = ReturnType<typeof headOf> & {
  readonly workers: Listed<WorkerRow>;
  readonly queues: Listed<QueueRow>;
  readonly tasks: Listed<TaskRow>;
};

/** @returns the document; other work may run at each `yield` */
export function* serviceDocument(
  options: ServiceDocumentOptions,
): Generator<undefined, ServiceDocument, undefined> {
  const { activity } = options;
  const { view } = activity;
  const workers = view.workers.toSorted(byInterest);
  yield;
  return {
    ...headOf(options),
    workers: yield* listed('workers', workers.length, mapped(workers, workerRow)),
    queues: yield* listed('queues', ...queuesOf(activity)),
    tasks: yield* listed('tasks', activity.taskNames, taskRows(activity)),
  };
}

/** @returns the document as JSON; other work may run at each `yield` */
export function* serviceText({
  workers,
  queues,
  tasks,
  ...head
}: ServiceDocument): Generator<undefined, string, undefined> {
  const parts = [JSON.stringify(head).slice(0, -1)];
  for (const [key, { total, rows }] of Object.entries({ workers, queues, tasks })) {
    parts.push(`,"${key}":{"total":${total},"rows":[`);
    for (let from = 0; from < rows.length; from += ROWS_PER_STEP) {
      const some = JSON.stringify(rows.slice(from, from + ROWS_PER_STEP));
      parts.push(from === 0 ? '' : ',', some.slice(1, -1));
      yield;
    }
    parts.push(']}');
  }
  return `${parts.join('')}}\n`;
}

function queuesOf({ view, waitP95S }: ServiceActivity): readonly [total: number, rows: readonly QueueRow[]] {
  const rows = queueRows(view, waitP95S);
  return [rows.length, rows];
}

function headOf({ name, time, activity }: ServiceDocumentOptions) {
  const { history, spanMs, otherTasks, nowMs, series } = activity;
  return {
    version: 1,
    time: time.toISOString(),
    name: printable(name),
    recent_s: seconds(spanMs),
    events: { step_s: HISTORY_STEP_S, counts: history },
    series:
      series === undefined
        ? null
        : {
            live: series.live,
            overflowed: series.overflowed,
            fullest:
              series.fullest === undefined
                ? null
                : { ...series.fullest, metric: printable(series.fullest.metric) },
          },
    other_tasks: otherTasks === undefined ? null : taskRow('', otherTasks, null, nowMs),
  };
}

function* mapped<From, To>(items: Iterable<From>, map: (item: From) => To): Generator<To> {
  for (const item of items) yield map(item);
}

function* taskRows({ tasks, nowMs, view }: ServiceActivity): Generator<TaskRow> {
  const { running } = view;
  for (const [name, reading] of tasks())
    yield taskRow(printable(name), reading, running ? (running.get(safeKey(name)) ?? 0) : null, nowMs);
}

/** Collects at most as many rows as this list may have. */
function* listed<Row>(
  key: keyof typeof ROWS_MAX,
  total: number,
  rows: Iterable<Row>,
): Generator<undefined, Listed<Row>> {
  const some: Row[] = [];
  for (const row of rows) {
    if (some.length >= ROWS_MAX[key]) break;
    some.push(row);
    if (some.length % ROWS_PER_STEP === 0) yield;
  }
  return { total, rows: some };
}

/** Deaf and silent workers come first, then those that are up, then those that left most recently. */
function byInterest(one: WorkerReading, other: WorkerReading): number {
  const isSilent = ({ up, hasLeft }: WorkerReading) => Number(!up && !hasLeft);
  return (
    Number(other.deaf) - Number(one.deaf) ||
    isSilent(other) - isSilent(one) ||
    Number(other.up) - Number(one.up) ||
    one.heartbeatAgeS - other.heartbeatAgeS
  );
}

function workerRow(it: WorkerReading): WorkerRow {
  return {
    name: printable(it.worker),
    up: it.up,
    left: it.hasLeft,
    deaf: it.deaf,
    pool: it.reported?.stats.pool ?? it.pool ?? null,
    running: it.active ?? null,
    slots: it.reported?.stats.processes ?? null,
    prefetched: it.prefetched,
    scheduled: it.scheduled,
    seen_s: seconds(it.heartbeatAgeS * 1000),
    celery: it.versions[0] === undefined ? null : printable(it.versions[0].version),
  };
}

function taskRow(name: string, it: TaskReading, running: number | null, nowMs: number): TaskRow {
  return {
    name,
    running,
    recent: it.recent,
    total: it.total,
    open: it.open,
    failure_ratio: rounded(it.failureRatio),
    runtime_p50_s: rounded(it.runtimeP50S),
    runtime_p95_s: rounded(it.runtimeP95S),
    errors: it.errors.map(([type, count]) => ({ type: printable(type), count })),
    seen_s: seconds(Math.max(0, nowMs - it.seenMs)),
  };
}
