/**
 * Formats received points as tables for a terminal: tasks, workers and errors of one Celery service. Pure.
 */
import { printable } from '../../src/printable.ts';
import { type Point, total } from './otlp-points.ts';

const COUNTERS = [
  'sent',
  'received',
  'started',
  'succeeded',
  'failed',
  'retried',
  'rejected',
  'revoked',
] as const;

type TaskRow = Readonly<Record<(typeof COUNTERS)[number], number>> & {
  readonly task: string;
  /** Seconds; NaN before the first end. */
  readonly meanRuntimeS: number;
};

function taskRows(points: readonly Point[]): readonly TaskRow[] {
  const tasks = Map.groupBy(points, (point) => point.attributes['celery.task.name']);
  return [...tasks.keys()]
    .filter((task) => task !== undefined)
    .sort()
    .map((task) => taskRow(task, tasks.get(task) ?? []));
}

function taskRow(task: string, points: readonly Point[]): TaskRow {
  const count = (counter: string): number => total(points, `celery.task.${counter}`);
  const runtimes = points.filter((point) => point.metric === 'celery.task.runtime');
  return {
    task,
    sent: count('sent'),
    received: count('received'),
    started: count('started'),
    succeeded: count('succeeded'),
    failed: count('failed'),
    retried: count('retried'),
    rejected: count('rejected'),
    revoked: count('revoked'),
    // The value of a histogram point is the number of its measurements.
    meanRuntimeS: add(runtimes.map((point) => point.sum)) / count('runtime'),
  };
}

/** All tables as text. */
export function draw(points: readonly Point[]): string {
  const rows = taskRows(points);
  const cells = rows.map((row) => [
    row.task,
    ...COUNTERS.map((counter) => (row[counter] === 0 ? '·' : String(row[counter]))),
    Number.isNaN(row.meanRuntimeS) ? '·' : row.meanRuntimeS.toFixed(3),
  ]);
  const totals = ['all', ...COUNTERS.map((counter) => String(add(rows.map((row) => row[counter])))), ''];
  return [
    ...grid([['task', ...COUNTERS, 'mean s'], ...cells, totals]),
    '',
    ...grid([['worker', 'up', 'active'], ...workerCells(points)]),
    '',
    ...grid([['error.type', 'failed', 'retried'], ...errorCells(points)]),
  ].join('\n');
}

function workerCells(points: readonly Point[]): readonly (readonly string[])[] {
  return points
    .filter((point) => point.metric === 'celery.worker.up')
    .map((point) => {
      const worker = point.attributes['celery.worker.name'] ?? '';
      const active = points.find(
        (other) =>
          other.metric === 'celery.worker.tasks.active' && other.attributes['celery.worker.name'] === worker,
      );
      return [worker, point.value === 1 ? 'up' : 'DOWN', String(active?.value ?? '·')];
    })
    .sort(byFirst);
}

function errorCells(points: readonly Point[]): readonly (readonly string[])[] {
  const ended = points.filter((point) =>
    ['celery.task.failed', 'celery.task.retried'].includes(point.metric),
  );
  const classes = Map.groupBy(ended, (point) => point.attributes['error.type'] ?? '');
  const count = (of: readonly Point[], metric: string): string => String(total(of, metric) || '·');
  return [...classes]
    .map(([errorType, of]) => [errorType, count(of, 'celery.task.failed'), count(of, 'celery.task.retried')])
    .sort(byFirst);
}

/** Aligns the first column left and numbers right; names are untrusted, so they are escaped. */
function grid(table: readonly (readonly string[])[]): readonly string[] {
  const lines = table.map((cells) => cells.map(printable));
  const width = (column: number): number => Math.max(...lines.map((line) => (line[column] ?? '').length));
  return lines.map((line) =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(width(0)) : cell.padStart(width(column))))
      .join('  '),
  );
}

function byFirst(one: readonly string[], other: readonly string[]): number {
  return (one[0] ?? '').localeCompare(other[0] ?? '');
}

function add(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
