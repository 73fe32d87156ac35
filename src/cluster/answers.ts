/**
 * Takes facts that answer a question, instead of arriving as events: by remote control, and of the broker. Facts about
 * unknown workers are dropped.
 */
import type { BrokerReading } from '../broker/broker-reading.ts';
import type { WorkerStats } from '../celery/control-reply.ts';
import { type BrokerView, UNKNOWN } from './observation.ts';
import type { QueueTable } from './queue-table.ts';
import { type ToldContext, ToldFacts } from './told-facts.ts';
import type { WorkerTable } from './worker-table.ts';

export interface Answers {
  /** A worker consumes exactly these queues; if there is one, its tasks whose `task-sent` is unknown came from that queue. */
  consumes(nodename: string, queues: readonly string[], listenedMs: number): void;
  /** A worker has told its state. */
  workerTold(nodename: string, stats: WorkerStats): void;
  /** How long ago they were asked; undefined if they could not be. */
  readonly toldAgeMs: (() => number) | undefined;
  /** All workers were asked; undefined: what they told is not known any more. @param ageMs how long ago, whenever it is called */
  workersAsked(ageMs: (() => number) | undefined): void;
  /** What the broker knows; undefined: that is not known any more. @param ageMs how old the reading is, whenever it is called */
  brokerKnows(reading: BrokerReading | undefined, ageMs: () => number): void;
  /** The nodenames of the workers that are up: they are expected to reply. */
  workersUp(listenedMs: number): readonly string[];
  /** The queues that events have named, to ask the broker for; those that are used most come first. */
  knownQueues(listenedMs: number): readonly string[];
}

interface Context extends ToldContext {
  readonly workers: Pick<WorkerTable, 'peek' | 'upNames'>;
  readonly queues: Pick<QueueTable, 'known' | 'consumed'>;
}

export class AnswersAbout implements Answers {
  readonly told: ToldFacts;
  readonly #context: Context;
  #broker: { readonly reading: BrokerReading; readonly ageMs: () => number } | undefined;
  /** How long ago the workers were asked; undefined if they could not be. */
  toldAgeMs: (() => number) | undefined = undefined;

  constructor(context: Context) {
    this.told = new ToldFacts(context);
    this.#context = context;
  }

  consumes(nodename: string, queues: readonly string[], listenedMs: number): void {
    this.told.consumes(nodename, queues, listenedMs);
  }

  workerTold(nodename: string, stats: WorkerStats): void {
    this.told.stats(nodename, stats);
  }

  workersAsked(ageMs: (() => number) | undefined): void {
    this.toldAgeMs = ageMs;
    this.told.forgetGone();
  }

  brokerKnows(reading: BrokerReading | undefined, ageMs: () => number): void {
    this.#broker = reading && { reading, ageMs };
  }

  get broker(): BrokerView | undefined {
    return this.#broker && { ...this.#broker.reading, ageMs: this.#broker.ageMs() };
  }

  workersUp(listenedMs: number): readonly string[] {
    return this.#context.workers.upNames(listenedMs);
  }

  knownQueues(listenedMs: number): readonly string[] {
    return this.#context.queues.known(listenedMs).filter((queue) => queue !== UNKNOWN);
  }
}
