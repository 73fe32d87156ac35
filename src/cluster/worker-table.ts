/**
 * The workers that are known, by nodename: when each gave its last sign of life and what it told of itself. Bounded, and
 * without a clock: a worker's state is worked out for the moment it is asked for.
 */
import type { WorkerSignal } from '../celery/event.ts';
import type { WorkerReading } from './observation.ts';
import { createRecencyMap } from './recency-map.ts';

export interface WorkerSettings {
  /** Workers remembered at most; beyond it the one that was heard of longest ago is forgotten. */
  readonly workersMax: number;
  /** Without a sign of life for longer than this a worker is not up. */
  readonly workerTimeoutMs: number;
  /** A worker that is not up for longer than this is forgotten, and its gauges with it. */
  readonly seriesRetentionMs: number;
}

interface Worker {
  lastSeenMs: number;
  /** It said goodbye, and has not said since that it is there. */
  offline: boolean;
  active: number | undefined;
}

export interface WorkerTable {
  /** Takes what a worker says of itself. */
  signal(event: WorkerSignal, nowMs: number): void;
  /**
   * Any event of a worker is a sign of life. It does not undo a goodbye: a worker that shuts down in an orderly way
   * says it first, and tells the ends of its last tasks after it.
   */
  alive(nodename: string, nowMs: number): void;
  readings(nowMs: number): readonly WorkerReading[];
  size(): number;
  /** Workers forgotten for lack of room. */
  evicted(): number;
}

/** Celery names clients `gen<pid>@<host>` (kombu and celery: utils/nodenames.py); they are no workers. */
const CLIENT = /^gen\d+@/u;

export function createWorkerTable(settings: WorkerSettings): WorkerTable {
  const workers = createRecencyMap<Worker>();
  let evicted = 0;

  /** The worker of that name, heard of just now; undefined if it is a client. */
  function touch(nodename: string, nowMs: number): Worker | undefined {
    const known = workers.use(nodename);
    if (known !== undefined) {
      known.lastSeenMs = nowMs;
      return known;
    }
    if (CLIENT.test(nodename)) return undefined;
    if (workers.size() >= settings.workersMax) {
      workers.takeOldest();
      evicted += 1;
    }
    const worker: Worker = { lastSeenMs: nowMs, offline: false, active: undefined };
    workers.add(nodename, worker);
    return worker;
  }

  /** Since when it is not up, epoch ms; in the future while it is. */
  function goneAtMs(worker: Worker): number {
    return worker.offline ? worker.lastSeenMs : worker.lastSeenMs + settings.workerTimeoutMs;
  }

  function forgetGone(nowMs: number): void {
    for (const [nodename, worker] of workers.entries()) {
      if (nowMs - goneAtMs(worker) > settings.seriesRetentionMs) workers.delete(nodename);
    }
  }

  return {
    signal(event, nowMs) {
      const worker = touch(event.hostname, nowMs);
      if (worker === undefined) return;
      worker.offline = event.type === 'worker-offline';
      worker.active = event.active ?? worker.active;
    },
    alive(nodename, nowMs) {
      touch(nodename, nowMs);
    },
    readings(nowMs) {
      forgetGone(nowMs);
      return Array.from(workers.entries(), ([nodename, worker]) => {
        const up = !worker.offline && nowMs <= goneAtMs(worker);
        return { worker: nodename, up, active: up ? worker.active : 0 };
      });
    },
    size: () => workers.size(),
    evicted: () => evicted,
  };
}
