/**
 * From what the cluster observes to the instruments of one Celery service. It decides nothing about tasks and workers,
 * and keeps no series of its own longer than one collection.
 */
import type { BatchObservableResult, Histogram, Meter } from '@opentelemetry/api';
import type { Observation, WorkerReading } from '../cluster/observation.ts';
import { METRICS, type MetricName } from './catalog.ts';
import { attributesOf } from './coalescing-counter.ts';
import { makeCounter, makeGauge, makeHistogram } from './instruments.ts';

export interface Recorder {
  record(observation: Observation): void;
  /** Detaches from the meter; what was recorded and not collected yet is handed over first. */
  close(): void;
}

/** @param readWorkers asked at each collection for the workers as they are then */
export function createRecorder(meter: Meter, readWorkers: () => readonly WorkerReading[]): Recorder {
  const counter = (name: MetricName) => makeCounter(meter, name, METRICS[name]);
  const sent = counter('celery.task.sent');
  const received = counter('celery.task.received');
  const started = counter('celery.task.started');
  const succeeded = counter('celery.task.succeeded');
  const failed = counter('celery.task.failed');
  const retried = counter('celery.task.retried');
  const rejected = counter('celery.task.rejected');
  const revoked = counter('celery.task.revoked');
  const cancelled = counter('celery.task.cancelled');
  const counters = [sent, received, started, succeeded, failed, retried, rejected, revoked, cancelled];
  const runtime = makeHistogram(meter, 'celery.task.runtime', METRICS['celery.task.runtime']);
  const up = makeGauge(meter, 'celery.worker.up', METRICS['celery.worker.up']);
  const active = makeGauge(meter, 'celery.worker.tasks.active', METRICS['celery.worker.tasks.active']);

  // An SDK calls its observable callbacks before it reads the other instruments of the meter (metrics SDK
  // specification, "Collect"), so what is handed over here is part of the same export.
  function collect(result: BatchObservableResult): void {
    for (const each of counters) each.flush();
    for (const reading of readWorkers()) {
      const attributes = attributesOf(METRICS['celery.worker.up'].attributes, [reading.worker]);
      result.observe(up, reading.up ? 1 : 0, attributes);
      if (reading.active !== undefined) result.observe(active, reading.active, attributes);
    }
  }
  meter.addBatchObservableCallback(collect, [up, active]);

  return {
    record(it) {
      switch (it.kind) {
        case 'task-sent':
          return sent.add(1, [it.task, it.queue]);
        case 'task-received':
          return received.add(1, [it.task, it.queue, it.worker]);
        case 'task-started':
          return started.add(1, [it.task, it.queue, it.worker]);
        case 'task-succeeded':
          succeeded.add(1, [it.task, it.queue, it.worker]);
          return recordRuntime(runtime, it);
        case 'task-failed':
          failed.add(1, [it.task, it.queue, it.worker, it.errorType]);
          return recordRuntime(runtime, it);
        case 'task-retried':
          retried.add(1, [it.task, it.queue, it.worker, it.errorType]);
          return recordRuntime(runtime, it);
        case 'task-rejected':
          return rejected.add(1, [it.task, it.queue, it.worker, it.requeue]);
        case 'task-revoked':
          return revoked.add(1, [it.task, it.queue, it.worker, it.revocation]);
        case 'task-cancelled':
          return cancelled.add(1, [it.task, it.queue, it.worker]);
      }
    },
    close() {
      for (const each of counters) each.flush();
      meter.removeBatchObservableCallback(collect, [up, active]);
    },
  };
}

interface Ended {
  readonly task: string;
  readonly queue: string;
  readonly worker: string;
  readonly runtimeS: number | undefined;
  readonly errorType?: string;
}

function recordRuntime(runtime: Histogram, ended: Ended): void {
  if (ended.runtimeS === undefined) return;
  const attributes = attributesOf(METRICS['celery.task.runtime'].attributes, [
    ended.task,
    ended.queue,
    ended.worker,
  ]);
  if (ended.errorType !== undefined) attributes['error.type'] = ended.errorType;
  runtime.record(ended.runtimeS, attributes);
}
