/**
 * One Celery cluster as its events tell of it: applies each event to the tasks and workers known and says what follows
 * from it. Pure and bounded: no I/O, no clock of its own; time comes in with each call.
 */
import type { CeleryEvent } from '../celery/event.ts';
import type { Observation, WorkerReading } from './observation.ts';
import { observeTask } from './task-life.ts';
import { createTaskTable } from './task-table.ts';
import { createWorkerTable, type WorkerSettings } from './worker-table.ts';

export interface ClusterSettings extends WorkerSettings {
  /** Tasks remembered at most; beyond it the one that was heard of longest ago is forgotten. */
  readonly tasksMax: number;
}

/** How full the tables are, and how often they had to forget something for lack of room. */
export interface ClusterSizes {
  readonly tasks: number;
  readonly workers: number;
  /** Only what had not ended: to forget a task that is over loses nothing. */
  readonly tasksEvicted: number;
  readonly workersEvicted: number;
}

export interface Cluster {
  /** Takes one event that reached us at `nowMs` (epoch ms) and says what is to be measured of it. */
  apply(event: CeleryEvent, nowMs: number): readonly Observation[];
  /** The workers as they are at `nowMs`. */
  workers(nowMs: number): readonly WorkerReading[];
  sizes(): ClusterSizes;
}

const NOTHING: readonly Observation[] = [];

export function createCluster(settings: ClusterSettings): Cluster {
  const tasks = createTaskTable(settings.tasksMax);
  const workers = createWorkerTable(settings);
  return {
    apply(event, nowMs) {
      switch (event.type) {
        case 'worker-online':
        case 'worker-heartbeat':
        case 'worker-offline':
          workers.signal(event, nowMs);
          return NOTHING;
        case 'task-sent':
          // Sent by clients, which are no workers; a worker that sends says nothing of itself by it either.
          break;
        default:
          workers.alive(event.hostname, nowMs);
      }
      return observeTask(tasks, event);
    },
    workers: (nowMs) => workers.readings(nowMs),
    sizes: () => ({
      tasks: tasks.size(),
      workers: workers.size(),
      tasksEvicted: tasks.evicted(),
      workersEvicted: workers.evicted(),
    }),
  };
}
