/**
 * From what the cluster observes to the instruments of one Celery service: here is what each fact adds to which metric.
 * It decides nothing about tasks and workers, and keeps no series of its own longer than one collection.
 */
import type { Meter } from '@opentelemetry/api';
import type { Observation, QueueReading, Survey, WorkerReading } from '../cluster/observation.ts';
import { METRICS, type MetricName, type OptIn, optInOf } from './catalog.ts';
import { createInstruments, type Instruments, type Observe } from './instruments.ts';

export interface Recorder {
  record(observation: Observation): void;
  /** Detaches from the meter; what was recorded and not collected yet is handed over first. */
  close(): void;
}

/** What of the catalog is recorded. */
export interface MetricChoice {
  /** Of all others there are no instruments. */
  readonly metrics: ReadonlySet<MetricName>;
  readonly optIns: ReadonlySet<OptIn>;
}

/** @param survey asked at each collection for what is true then, whatever is enabled; may record observations */
export function createRecorder(meter: Meter, survey: () => Survey, choice: MetricChoice): Recorder {
  const instruments = createInstruments({
    meter,
    table: METRICS,
    isOn: (name) => choice.metrics.has(name),
    wants: (name, key) => choice.optIns.has(optInOf(name, key)),
    onCollect: (observe) => {
      const { workers, queues } = survey();
      for (const reading of workers) observeWorker(observe, reading);
      for (const reading of queues) observeQueue(observe, reading);
    },
  });
  return {
    record: (observation) => recordObservation(instruments, observation),
    close: instruments.close,
  };
}

function observeWorker(observe: Observe<typeof METRICS>, it: WorkerReading): void {
  const of = [it.worker] as const;
  observe('celery.worker.up', it.up ? 1 : 0, of);
  observe('celery.worker.tasks.active', it.active, of);
  observe('celery.worker.tasks.prefetched', it.prefetched, of);
  observe('celery.worker.tasks.scheduled', it.scheduled, of);
  observe('celery.worker.heartbeat.age', it.heartbeatAgeS, of);
  for (const [index, period] of (['1m', '5m', '15m'] as const).entries()) {
    observe('celery.worker.load', it.load?.[index], [it.worker, period]);
  }
  if (!it.up || it.version === '') return;
  observe('celery.worker.info', 1, [it.worker, it.version, it.system.toLowerCase() || 'unknown']);
}

function observeQueue(observe: Observe<typeof METRICS>, it: QueueReading): void {
  observe('celery.task.oldest_age', it.waitingAgeS, [it.queue, 'waiting']);
  observe('celery.task.oldest_age', it.runningAgeS, [it.queue, 'running']);
}

function recordObservation({ add, record }: Instruments<typeof METRICS>, it: Observation) {
  switch (it.kind) {
    case 'task-sent':
      return add('celery.task.sent', [it.task, it.queue]);
    case 'task-received':
      add('celery.task.received', [it.task, it.queue, it.worker]);
      return record('celery.task.queue_time', it.queueTimeS, [it.task, it.queue]);
    case 'task-started':
      add('celery.task.started', [it.task, it.queue, it.worker]);
      record('celery.task.wait_time', it.waitTimeS, [it.task, it.queue]);
      return record('celery.task.prefetch_time', it.prefetchTimeS, [it.task, it.queue, it.worker]);
    case 'task-succeeded':
      add('celery.task.succeeded', [it.task, it.queue, it.worker]);
      return record('celery.task.runtime', it.runtimeS, [it.task, it.queue, it.worker, undefined]);
    case 'task-failed':
      add('celery.task.failed', [it.task, it.queue, it.worker, it.errorType]);
      return record('celery.task.runtime', it.runtimeS, [it.task, it.queue, it.worker, it.errorType]);
    case 'task-retried':
      add('celery.task.retried', [it.task, it.queue, it.worker, it.errorType]);
      return record('celery.task.runtime', it.runtimeS, [it.task, it.queue, it.worker, it.errorType]);
    case 'task-rejected':
      return add('celery.task.rejected', [it.task, it.queue, it.worker, it.requeue]);
    case 'task-revoked':
      return add('celery.task.revoked', [it.task, it.queue, it.worker, it.revocation]);
    case 'task-cancelled':
      return add('celery.task.cancelled', [it.task, it.queue, it.worker]);
    case 'task-lost':
      return add('celery.task.lost', [it.task, it.queue, it.worker]);
    case 'worker-progressed':
      // A sum to which nothing is added need not exist; that of lost events must, to show that there are none.
      if (it.processed > 0) add('celery.worker.tasks.processed', [it.worker], it.processed);
      return add('celery.worker.events.lost', [it.worker], it.eventsLost);
    case 'clock-skewed':
      // Is about the measuring, so the bridge tells it of itself.
      return;
    default:
      it satisfies never;
  }
}
