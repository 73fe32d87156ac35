/** Reports the gauges of one Celery service: which part of a view is the value of which gauge. It stores nothing. */
import type { BrokerView, ClusterView, QueueReading, WorkerReading } from '../cluster/observation.ts';
import type { Pace } from '../timing/cooperative.ts';
import type { METRICS } from './catalog.ts';
import type { ObserveGauge } from './instruments.ts';

/** @param byPriority whether queue lengths have one point per priority */
export async function observeView(
  observe: ObserveGauge<typeof METRICS>,
  { workers, queues, ends, reported, broker }: ClusterView,
  byPriority: boolean,
  pace: Pace,
): Promise<void> {
  for (const reading of workers) {
    observeWorker(observe, reading);
    observeReported(observe, reading);
    await pace();
  }
  for (const reading of queues) {
    observeQueue(observe, reading);
    await pace();
  }
  for (const { task, end, ageS } of ends) {
    observe('celery.task.last_end.age', ageS, [task, end]);
    await pace();
  }
  for (const { queue, ...it } of reported?.consumers ?? []) {
    observe('celery.queue.workers', it.workers, [queue], reported?.ageMs);
    observe('celery.queue.processes', it.processes, [queue], reported?.ageMs);
    observe('celery.queue.utilization', it.utilization, [queue]);
    await pace();
  }
  if (broker !== undefined) await observeBroker(observe, broker, byPriority, pace);
}

function observeWorker(observe: ObserveGauge<typeof METRICS>, it: WorkerReading): void {
  const of = [it.worker] as const;
  observe('celery.worker.up', it.up ? 1 : 0, of);
  if (it.deaf) observe('celery.worker.deaf', 1, of);
  observe('celery.worker.tasks.active', it.active, of);
  observe('celery.worker.tasks.prefetched', it.prefetched, of);
  observe('celery.worker.tasks.scheduled', it.scheduled, of);
  observe('celery.worker.heartbeat.age', it.heartbeatAgeS, of);
  if (it.load !== undefined) {
    const [ofOne, ofFive, ofFifteen] = it.load;
    observe('celery.worker.load', ofOne, [it.worker, '1m']);
    observe('celery.worker.load', ofFive, [it.worker, '5m']);
    observe('celery.worker.load', ofFifteen, [it.worker, '15m']);
  }
  for (const [index, { version, system }] of it.versions.entries()) {
    const isPresent = it.up && index === 0;
    const os = system.toLowerCase() || 'unknown';
    observe('celery.worker.info', isPresent ? 1 : 0, [it.worker, version, os]);
  }
}

function observeReported(observe: ObserveGauge<typeof METRICS>, { worker, reported }: WorkerReading): void {
  if (reported === undefined) return;
  const { stats, ageMs, utilization } = reported;
  const of = [worker] as const;
  const ofPool = [worker, stats.pool ?? 'other'] as const;
  observe('celery.worker.pool.processes', stats.processes, ofPool, ageMs);
  observe('celery.worker.pool.limit', stats.limit, ofPool, ageMs);
  // Without an age, because the running tasks in it are the current ones.
  observe('celery.worker.pool.utilization', utilization, ofPool);
  for (const [index, count] of stats.writes.entries())
    observe('celery.worker.pool.writes', count, [worker, String(index)], ageMs);
  observe('celery.worker.autoscaler.min', stats.autoscaler?.min, of, ageMs);
  observe('celery.worker.autoscaler.max', stats.autoscaler?.max, of, ageMs);
  observe('celery.worker.prefetch.limit', stats.prefetchLimit, of, ageMs);
  observe('celery.worker.uptime', stats.uptimeS, of, ageMs);
  observe('celery.worker.memory.max', stats.memoryMaxBytes, of, ageMs);
}

function observeQueue(observe: ObserveGauge<typeof METRICS>, it: QueueReading): void {
  observe('celery.task.oldest_age', it.waitingAgeS, [it.queue, 'waiting']);
  observe('celery.task.oldest_age', it.runningAgeS, [it.queue, 'running']);
}

/** @param byPriority as in `observeView` */
async function observeBroker(
  observe: ObserveGauge<typeof METRICS>,
  { queues, delayed, unacked, ageMs }: BrokerView,
  byPriority: boolean,
  pace: Pace,
): Promise<void> {
  for (const { queue, length, consumers, ...depth } of queues) {
    const lengths = (byPriority ? depth.byPriority : undefined) ?? [[undefined, length] as const];
    for (const [priority, messages] of lengths) {
      observe('celery.queue.length', messages, [queue, priority?.toString()], ageMs);
    }
    observe('celery.queue.consumers', consumers, [queue], ageMs);
    await pace();
  }
  observe('celery.queue.delayed', delayed, [], ageMs);
  for (const [queue, count] of unacked?.byQueue ?? []) {
    observe('celery.queue.unacked', count, [queue], ageMs);
    await pace();
  }
  observe('celery.broker.unacked', unacked?.count, [], ageMs);
  observe('celery.broker.unacked.oldest_age', unacked?.oldestAgeS, [], ageMs);
  observe('celery.broker.unacked.expiring', unacked?.expiring, [], ageMs);
  observe('celery.broker.unacked.visibility_timeout', unacked?.visibilityTimeoutS, [], ageMs);
}
