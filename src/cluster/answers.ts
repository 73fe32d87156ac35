/**
 * Takes facts that answer a question, by remote control, instead of arriving as events. Each is stored with its worker;
 * facts about unknown workers are dropped.
 */
import type { WorkerTable } from './worker-table.ts';

export interface Answers {
  /** A worker consumes exactly these queues; if there is one, its tasks whose `task-sent` is unknown came from that queue. */
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
