/**
 * Where facts come in that were asked for, by remote control, and not told by events. Each is noted of the worker that it is
 * about; of workers that are not known nothing is kept.
 */
import type { WorkerTable } from './worker-table.ts';

export interface Answers {
  /** A worker was found to consume just these queues; where it is one, tasks whose sending is unknown come from it. */
  consumes(nodename: string, queues: readonly string[]): void;
}

export function answersAbout(workers: Pick<WorkerTable, 'peek'>): Answers {
  return {
    consumes(nodename, queues) {
      const worker = workers.peek(nodename);
      if (worker !== undefined) worker.onlyQueue = queues.length === 1 ? (queues[0] ?? '') : '';
    },
  };
}
