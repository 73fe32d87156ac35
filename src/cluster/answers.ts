/**
 * Takes facts that answer a question, instead of arriving as events: by remote control, and of the broker. Facts about
 * unknown workers are dropped.
 */
import type { BrokerReading } from '../broker/broker-reading.ts';
import { type BrokerView, UNKNOWN } from './observation.ts';
import type { QueueTable } from './queue-table.ts';
import type { WorkerTable } from './worker-table.ts';

export interface Answers {
  /** A worker consumes exactly these queues; if there is one, its tasks whose `task-sent` is unknown came from that queue. */
  consumes(nodename: string, queues: readonly string[]): void;
  /** What the broker knows; undefined: that is not known any more. @param ageMs how old the reading is, whenever it is called */
  brokerKnows(reading: BrokerReading | undefined, ageMs: () => number): void;
  /** The queues that events have named, to ask the broker for; those that are used most come first. */
  knownQueues(listenedMs: number): readonly string[];
}

export class AnswersAbout implements Answers {
  readonly #workers: Pick<WorkerTable, 'peek'>;
  readonly #queues: Pick<QueueTable, 'known'>;
  #broker: { readonly reading: BrokerReading; readonly ageMs: () => number } | undefined;

  constructor(workers: Pick<WorkerTable, 'peek'>, queues: Pick<QueueTable, 'known'>) {
    this.#workers = workers;
    this.#queues = queues;
  }

  consumes(nodename: string, queues: readonly string[]): void {
    const worker = this.#workers.peek(nodename);
    if (worker !== undefined) worker.onlyQueue = queues.length === 1 ? (queues[0] ?? '') : '';
  }

  brokerKnows(reading: BrokerReading | undefined, ageMs: () => number): void {
    this.#broker = reading && { reading, ageMs };
  }

  get broker(): BrokerView | undefined {
    return this.#broker && { ...this.#broker.reading, ageMs: this.#broker.ageMs() };
  }

  knownQueues(listenedMs: number): readonly string[] {
    return this.#queues.known(listenedMs).filter((queue) => queue !== UNKNOWN);
  }
}
