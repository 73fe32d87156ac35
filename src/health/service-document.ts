/**
 * The document of `/services/N.json`, version 1, as in `schema/service-status.schema.json`: the workers, queues and
 * tasks of one service. It is made in steps, each a short text, since it may have thousands of rows. Pure: the time is
 * an argument.
 */

import type { WorkerReading } from '../cluster/observation.ts';
import type { ServiceActivity } from '../service/activity/activity.ts';
import type { TaskReading } from '../service/activity/task-activity.ts';
import { printable } from '../text/printable.ts';
import { safeKey } from '../text/safe-key.ts';
import { type QueueRow, queueRows } from './queue-rows.ts';

/** Rows per list; the rest is only counted. */
const ROWS_MAX = { workers: 1000, queues: 1000, tasks: 5000 } as const;
const ROWS_PER_STEP = 100;
const HISTORY_STEP_S = 10;

export interface ActivityRead extends ServiceActivity {
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
  readonly activity: ActivityRead;
}

export type WorkerRow = ReturnType<typeof workerRow>;
export type TaskRow = ReturnType<typeof taskRow>;

interface Listed<Row> {
  readonly total: number;
  readonly rows: readonly Row[];
}

/** The content of the document. */
export type ServiceDocument = ReturnType<typeof headOf> & {
  readonly workers: Listed<WorkerRow>;
  readonly queues: Listed<QueueRow>;
  readonly tasks: Listed<TaskRow>;
};

/** @returns the text in steps; other work may run between two steps */
export function* serviceDocument(options: ServiceDocumentOptions): Generator<undefined, string, undefined> {
  const { activity } = options;
  const { view } = activity;
  const parts = [JSON.stringify(headOf(options)).slice(0, -1)];
  const workers = view.workers.toSorted(byInterest);
  yield;
  yield* list(parts, 'workers', workers.length, mapped(workers, workerRow));
  const queues = queueRows(view, activity.waitP95S);
  yield* list(parts, 'queues', queues.length, queues);
  yield* list(parts, 'tasks', activity.taskNames, taskRows(activity));
  return `${parts.join('')}}\n`;
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
            ...{ live: series.live, overflowed: series.overflowed },
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

function* taskRows({ tasks, nowMs, view }: ServiceActivity) {
  const { running } = view;
  for (const [name, reading] of tasks())
    yield taskRow(printable(name), reading, running ? (running.get(safeKey(name)) ?? 0) : null, nowMs);
}

/** Adds `,"key":{"total":…,"rows":[…]}`. */
function* list(
  parts: string[],
  key: keyof typeof ROWS_MAX,
  total: number,
  rows: Iterable<object>,
): Generator<undefined> {
  parts.push(`,"${key}":{"total":${total},"rows":[`);
  let count = 0;
  for (const row of rows) {
    if (count >= ROWS_MAX[key]) break;
    parts.push(count === 0 ? '' : ',', JSON.stringify(row));
    count += 1;
    if (count % ROWS_PER_STEP === 0) yield;
  }
  parts.push(']}');
}

/** Workers that need attention come first, then those that run, then those that left most recently. */
function byInterest(one: WorkerReading, other: WorkerReading): number {
  return (
    Number(other.deaf) - Number(one.deaf) ||
    Number(other.up) - Number(one.up) ||
    one.heartbeatAgeS - other.heartbeatAgeS
  );
}

function workerRow(it: WorkerReading) {
  return {
    name: printable(it.worker),
    up: it.up,
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

function taskRow(name: string, it: TaskReading, running: number | null, nowMs: number) {
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

function seconds(ms: number): number {
  return Math.round(ms) / 1000;
}

function rounded(value: number | undefined): number | null {
  return value === undefined ? null : Number(value.toPrecision(3));
}
