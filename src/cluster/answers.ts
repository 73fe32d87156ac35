/**
 * Takes facts that answer a question, instead of arriving as events: by remote control, and of the broker. Facts about
 * unknown workers are dropped.
 */
import type { BrokerReading } from '../broker/broker-reading.ts';
import type { ReportedTask, WorkerStats } from '../celery/control-reply.ts';
import type { Moment } from './moment.ts';
import { type BrokerView, UNKNOWN } from './observation.ts';
import type { Steps } from './steps.ts';
import { has, runs } from './tasks/reported-tasks.ts';
import type { LifeContext } from './tasks/task-life.ts';
import { ReportedFacts } from './workers/reported-facts.ts';
import type { WorkerInstance } from './workers/worker-instance.ts';

/** A worker that is expected to reply. */
export interface WorkerUp {
  readonly nodename: string;
  /** Identifies its process. */
  readonly process: object;
  /** Of Celery; '' if it did not report it, or shares its name and pid with another one. */
  readonly version: string;
  /** When it gave its last sign of life, in listened time. */
  readonly seenMs: number;
  /** When it last received a task. */
  readonly receivedMs: number;
}

export interface Answers {
  /**
   * A worker consumes exactly these queues; if there is one, its tasks whose `task-sent` is unknown came from that queue.
   * @returns whether the worker is known
   */
  consumes(nodename: string, queues: readonly string[], now: Moment): boolean;
  /** A worker has reported its state, which is a sign of life. @param now when it did */
  workerReported(nodename: string, stats: WorkerStats, now: Moment): void;
  /** A worker has replied, without saying which of its processes it is: a sign of life if it has only one, without heartbeats. */
  workerLives(nodename: string, now: Moment): void;
  /** A worker has reported which tasks it runs. @returns whether the worker is known */
  workerRuns(nodename: string, tasks: readonly ReportedTask[], now: Moment): boolean;
  /** A worker has reported which tasks it has that have not started, or some of them. @returns whether the worker is known */
  workerHas(nodename: string, tasks: readonly ReportedTask[], now: Moment): boolean;
  /** A worker lives, but has stopped listening; or it listens again. */
  workerDeaf(nodename: string, isDeaf: boolean): void;
  /** How long ago they were asked; undefined if they could not be. */
  readonly reportAgeMs: (() => number) | undefined;
  /**
   * All workers were asked; undefined: what they reported is not known any more.
   * @param ageMs how long ago, whenever it is called
   */
  workersAsked(ageMs: (() => number) | undefined): void;
  /** The broker is about to be asked: what is sent from now on need not be in its answer. */
  brokerAsked(): void;
  /**
   * What the broker knows; undefined: that is not known any more.
   * @param ageMs how old the reading is, whenever it is called
   * @param listenedMs now
   */
  brokerKnows(reading: BrokerReading | undefined, ageMs: () => number, listenedMs: number): void;
  /** The number of the current connection: events may have been missed before each new one. */
  readonly session: number;
  /** The workers that are up: they are expected to reply. */
  workersUp(listenedMs: number): Steps<readonly WorkerUp[]>;
  /** How many workers were forgotten for lack of room: they may be up. */
  readonly forgotten: number;
  /** The queues that events have named, to ask the broker for; those that are used most come first. */
  knownQueues(listenedMs: number): readonly string[];
}

export class AnswersAbout implements Answers {
  readonly #reported: ReportedFacts;
  readonly #context: LifeContext;
  #broker: { readonly reading: BrokerReading; readonly ageMs: () => number } | undefined;
  /** How long ago the workers were asked; undefined if they could not be. */
  reportAgeMs: (() => number) | undefined = undefined;

  constructor(context: LifeContext) {
    this.#reported = new ReportedFacts(context);
    this.#context = context;
  }

  consumes(nodename: string, queues: readonly string[], { listenedMs }: Moment): boolean {
    const instance = this.#lastReported(nodename, listenedMs);
    if (instance !== undefined) this.#reported.consumes(instance, queues, listenedMs);
    return instance !== undefined;
  }

  workerReported(nodename: string, stats: WorkerStats, now: Moment): void {
    // Without it, it is not known which process that is.
    if (stats.pid === 0) return;
    const instance = this.#context.workers.answered(nodename, stats.pid, now.wallMs, now.listenedMs);
    if (instance === undefined) return;
    instance.beatsWhileRunning ||= sendsHeartbeats(instance, stats);
    this.#reported.stats(instance, stats, now);
  }

  workerLives(nodename: string, { listenedMs }: Moment): void {
    const [only, ...others] = this.#context.workers.peek(nodename)?.instances ?? [];
    // One that sends heartbeats, and is silent, may have made room for another of its name.
    const isMeant = others.length === 0 && only?.isShared === false && only.version === '';
    if (isMeant) only.noteAlive(listenedMs, this.session);
  }

  workerRuns(nodename: string, tasks: readonly ReportedTask[], { wallMs, listenedMs }: Moment): boolean {
    const instance = this.#lastReported(nodename, listenedMs);
    if (instance !== undefined) runs(this.#context, instance, tasks, wallMs, listenedMs);
    return instance !== undefined;
  }

  workerHas(nodename: string, tasks: readonly ReportedTask[], { wallMs, listenedMs }: Moment): boolean {
    const instance = this.#lastReported(nodename, listenedMs);
    if (instance !== undefined) has(this.#context, instance, tasks, wallMs, listenedMs);
    return instance !== undefined;
  }

  workerDeaf(nodename: string, isDeaf: boolean): void {
    for (const instance of this.#context.workers.peek(nodename)?.instances ?? []) instance.isDeaf = isDeaf;
  }

  workersAsked(ageMs: (() => number) | undefined): void {
    this.reportAgeMs = ageMs;
  }

  /** The queues of workers that are up remain known, however long ago these were asked. */
  keepQueues(listenedMs: number): Steps {
    return this.#reported.keepQueues(listenedMs);
  }

  /** The process that reported its state last, or the newest: other replies do not say which it is, but it has not left. */
  #lastReported(nodename: string, listenedMs: number): WorkerInstance | undefined {
    const { workers } = this.#context;
    const worker = workers.peek(nodename);
    const up = worker?.instances.filter((each) => workers.isUp(worker, each, listenedMs)) ?? [];
    const able = up.length > 0 ? up : (worker?.instances ?? []);
    return able.toSorted((a, b) => (a.reported?.atMs ?? 0) - (b.reported?.atMs ?? 0)).at(-1);
  }

  brokerAsked(): void {
    this.#context.queues.cohorts.close();
  }

  brokerKnows(reading: BrokerReading | undefined, ageMs: () => number, listenedMs: number): void {
    this.#broker = reading && { reading, ageMs };
    if (reading !== undefined) this.#context.queues.cohorts.polled(reading.queues, listenedMs - ageMs());
  }

  get session(): number {
    return this.#context.workers.session;
  }

  get broker(): BrokerView | undefined {
    return this.#broker && { ...this.#broker.reading, ageMs: this.#broker.ageMs() };
  }

  get forgotten(): number {
    return this.#context.workers.evicted;
  }

  *workersUp(listenedMs: number): Steps<readonly WorkerUp[]> {
    const up = yield* this.#context.workers.up(listenedMs);
    return up.map((instance) => ({
      nodename: instance.nodename,
      process: instance,
      // Of several with one pid, each heartbeat may be that of another one.
      version: instance.isShared ? '' : instance.version,
      seenMs: instance.lastSeenMs,
      receivedMs: instance.receivedMs,
    }));
  }

  knownQueues(listenedMs: number): readonly string[] {
    return this.#context.queues.known(listenedMs).filter((queue) => queue !== UNKNOWN);
  }
}

/** Whether it will go on with its heartbeats while it runs a task: its main process does nothing else. */
function sendsHeartbeats({ active }: WorkerInstance, { pool }: WorkerStats): boolean {
  return active !== undefined && (pool === 'prefork' || pool === 'threads');
}
