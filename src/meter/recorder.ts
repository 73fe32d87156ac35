/**
 * From what the cluster observes to the instruments of one Celery service: here is what each fact adds to which metric.
 * It decides nothing about tasks and workers, and keeps no series of its own longer than one collection.
 */
import type { Meter } from '@opentelemetry/api';
import type { Observation, WorkerReading } from '../cluster/observation.ts';
import { METRICS, type MetricName } from './catalog.ts';
import { createInstruments, type Instruments, type Observe } from './instruments.ts';

export interface Recorder {
  record(observation: Observation): void;
  /** Detaches from the meter; what was recorded and not collected yet is handed over first. */
  close(): void;
}

/**
 * @param readWorkers asked at each collection for the workers as they are then, whatever is enabled
 * @param enabled the metrics that are recorded; of all others there are no instruments
 */
export function createRecorder(
  meter: Meter,
  readWorkers: () => readonly WorkerReading[],
  enabled: ReadonlySet<MetricName>,
): Recorder {
  const instruments = createInstruments(
    meter,
    METRICS,
    (name) => enabled.has(name),
    (observe) => {
      for (const reading of readWorkers()) observeWorker(observe, reading);
    },
  );
  return {
    record: (observation) => recordObservation(instruments, observation),
    close: instruments.close,
  };
}

function observeWorker(observe: Observe<typeof METRICS>, it: WorkerReading): void {
  observe('celery.worker.up', it.up ? 1 : 0, [it.worker]);
  observe('celery.worker.tasks.active', it.active, [it.worker]);
}

function recordObservation({ add, record }: Instruments<typeof METRICS>, it: Observation): void {
  switch (it.kind) {
    case 'task-sent':
      add('celery.task.sent', [it.task, it.queue]);
      break;
    case 'task-received':
      add('celery.task.received', [it.task, it.queue, it.worker]);
      break;
    case 'task-started':
      add('celery.task.started', [it.task, it.queue, it.worker]);
      break;
    case 'task-succeeded':
      add('celery.task.succeeded', [it.task, it.queue, it.worker]);
      record('celery.task.runtime', it.runtimeS, [it.task, it.queue, it.worker, undefined]);
      break;
    case 'task-failed':
      add('celery.task.failed', [it.task, it.queue, it.worker, it.errorType]);
      record('celery.task.runtime', it.runtimeS, [it.task, it.queue, it.worker, it.errorType]);
      break;
    case 'task-retried':
      add('celery.task.retried', [it.task, it.queue, it.worker, it.errorType]);
      record('celery.task.runtime', it.runtimeS, [it.task, it.queue, it.worker, it.errorType]);
      break;
    case 'task-rejected':
      add('celery.task.rejected', [it.task, it.queue, it.worker, it.requeue]);
      break;
    case 'task-revoked':
      add('celery.task.revoked', [it.task, it.queue, it.worker, it.revocation]);
      break;
    case 'task-cancelled':
      add('celery.task.cancelled', [it.task, it.queue, it.worker]);
      break;
    default:
      it satisfies never;
  }
}
