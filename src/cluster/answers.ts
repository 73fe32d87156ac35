/**
 * Takes facts that answer a question, instead of arriving as events: by remote control, and of the broker. Facts about
 * unknown workers are dropped.
 */
import type { BrokerReading } from '../broker/broker-reading.ts';
import { type BrokerView, UNKNOWN } from './observation.ts';
import type { QueueTable } from './queue-table.ts';
import type { WorkerTable } from './worker-table.ts';

export type Answers = ReturnType<typeof createAnswers>;

export function createAnswers(workers: Pick<WorkerTable, 'peek'>, queues: Pick<QueueTable, 'known'>) {
  let known: { readonly reading: BrokerReading; readonly ageMs: () => number } | undefined;
  return {
    /** A worker consumes exactly these queues; if there is one, its tasks whose `task-sent` is unknown came from that queue. */
    consumes(nodename: string, [queue = '', ...others]: readonly string[]): void {
      const worker = workers.peek(nodename);
      if (worker !== undefined) worker.onlyQueue = others.length === 0 ? queue : '';
    },
    /** What the broker knows; undefined: that is not known any more. @param ageMs how old the reading is, whenever it is called */
    brokerKnows(reading: BrokerReading | undefined, ageMs: () => number): void {
      known = reading && { reading, ageMs };
    },
    broker: (): BrokerView | undefined => known && { ...known.reading, ageMs: known.ageMs() },
    /** The queues that events have named, to ask the broker for; those that are used most come first. */
    knownQueues: (listenedMs: number): readonly string[] =>
      queues.known(listenedMs).filter((queue) => queue !== UNKNOWN),
  };
}
