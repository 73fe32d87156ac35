/** The received metrics, in the form of the expected counts in `real/shop-report.ts`. */
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import type { Counts, EventCounts } from '../real/shop-report.ts';

/** Task name → its counters, summed over all other attributes. */
export function countedTasks(points: readonly Point[]): Readonly<Record<string, EventCounts>> {
  const tasks = new Set(points.flatMap((point) => point.attributes['celery.task.name'] ?? []));
  return Object.fromEntries([...tasks].map((task) => [task, countedTask(points, task)]));
}

function countedTask(points: readonly Point[], task: string): EventCounts {
  const own = points.filter((point) => point.attributes['celery.task.name'] === task);
  const all = (counter: string): number => total(own, `celery.task.${counter}`);
  return {
    sent: all('sent'),
    received: all('received'),
    started: all('started'),
    succeeded: all('succeeded'),
    failed: by('error.type', own, 'celery.task.failed'),
    retried: by('error.type', own, 'celery.task.retried'),
    revoked: all('revoked'),
    rejected: all('rejected'),
  };
}

/** Worker → task name → runs begun, as `inspect stats` has it. */
export function startedByWorker(points: readonly Point[]): Readonly<Record<string, Counts>> {
  const started = points.filter((point) => point.metric === 'celery.task.started');
  const workers = Map.groupBy(started, (point) => point.attributes['celery.worker.name'] ?? '');
  return Object.fromEntries(
    [...workers].map(([worker, own]) => [worker, by('celery.task.name', own, 'celery.task.started')]),
  );
}

function by(key: string, points: readonly Point[], metric: string): Counts {
  const values = new Set(
    points.filter((point) => point.metric === metric).map((point) => point.attributes[key] ?? ''),
  );
  return Object.fromEntries([...values].map((value) => [value, total(points, metric, { [key]: value })]));
}

const ENDS = ['succeeded', 'failed', 'retried', 'revoked', 'rejected', 'cancelled', 'lost'].map(
  (end) => `celery.task.${end}`,
);

/** How many runs have ended by task and outcome, in the words of spans. */
export function endedByOutcome(points: readonly Point[]): Readonly<Record<string, number>> {
  const ends = points.filter(({ metric, value }) => ENDS.includes(metric) && value > 0);
  const named = Map.groupBy(ends, (point) => `${point.attributes['celery.task.name']} ${outcomeOf(point)}`);
  return Object.fromEntries(
    [...named].map(([end, own]) => [end, own.reduce((sum, { value }) => sum + value, 0)]),
  );
}

function outcomeOf({ metric, attributes }: Point): string {
  if (metric === 'celery.task.rejected') {
    return attributes['celery.task.requeue'] === 'true' ? 'requeued' : 'rejected';
  }
  return attributes['celery.task.revocation'] ?? metric.slice('celery.task.'.length);
}
