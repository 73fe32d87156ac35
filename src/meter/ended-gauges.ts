/**
 * Decides which gauge series of a Celery service have ended: a series without a value in a view has ended, unless the view shows
 * that the value is only unknown at the moment. It is the counterpart of `view-gauges.ts`, and stores nothing.
 */
import type { Attributes } from '@opentelemetry/api';
import type { ClusterView, QueueConsumers, WorkerReading } from '../cluster/observation.ts';
import { safeKey } from '../text/safe-key.ts';
import { type InstrumentRow, METRICS, type MetricName } from './catalog.ts';

/**
 * Whether a series that has no value in this view has ended. A series that was merged from several, by a metric view of the
 * user or by overflow, has ended only if all of them have.
 */
export function endedIn(view: ClusterView): (name: MetricName, attributes: Attributes) => boolean {
  const { workers, reported, broker } = view;
  const up = mapBy(
    workers.filter((worker) => worker.up),
    ({ worker }) => worker,
  );
  const consumers = mapBy(reported?.consumers ?? [], ({ queue }) => queue);
  const unsure = new Set(reported?.unsure?.map(safeKey));

  function hasEndedForWorkers(name: MetricName, worker: unknown): boolean {
    return of(up, worker).every((reading) => isKnown(name, reading));
  }

  function hasEndedForQueues(name: MetricName, queue: unknown): boolean {
    if (reported === undefined) return false;
    const isUnsure = typeof queue === 'string' ? unsure.has(safeKey(queue)) : unsure.size > 0;
    return !isUnsure && of(consumers, queue).every((reading) => isKnownOfQueue(name, reading));
  }

  return (name, attributes) => {
    const row: InstrumentRow = METRICS[name];
    if (row.attributes.includes('celery.worker.name'))
      return hasEndedForWorkers(name, attributes['celery.worker.name']);
    if (row.asked === 'workers') return hasEndedForQueues(name, attributes['celery.queue.name']);
    // If the broker’s reading is incomplete, the value may be missing only because of that.
    return row.asked === undefined || broker?.incomplete.length === 0;
  };
}

/** Whether a worker that is up has reported what this gauge is computed from. */
function isKnown(name: MetricName, { active, load, reported }: WorkerReading): boolean {
  switch (name) {
    case 'celery.worker.deaf':
      return true;
    case 'celery.worker.tasks.active':
      return active !== undefined;
    case 'celery.worker.load':
      return load !== undefined;
    case 'celery.worker.pool.utilization':
      return reported !== undefined && isPartKnown(reported.utilization, reported.stats.processes);
    default: {
      const row: InstrumentRow = METRICS[name];
      return row.asked === undefined || reported !== undefined;
    }
  }
}

function isKnownOfQueue(name: MetricName, { processes, utilization }: QueueConsumers): boolean {
  switch (name) {
    case 'celery.queue.processes':
      return processes !== undefined;
    case 'celery.queue.utilization':
      return isPartKnown(utilization, processes);
    default:
      return true;
  }
}

/** Without processes there is no utilization to report. */
function isPartKnown(utilization: number | undefined, processes: number | undefined): boolean {
  return utilization !== undefined || processes === 0;
}

function mapBy<Reading>(
  readings: readonly Reading[],
  nameOf: (reading: Reading) => string,
): ReadonlyMap<string, Reading> {
  return new Map(readings.map((reading) => [safeKey(nameOf(reading)), reading]));
}

/** The reading of that name, or all readings if the series has no name. */
function of<Reading>(readings: ReadonlyMap<string, Reading>, name: unknown): readonly Reading[] {
  if (typeof name !== 'string') return [...readings.values()];
  const reading = readings.get(safeKey(name));
  return reading === undefined ? [] : [reading];
}
