/**
 * Takes facts that arrive as replies instead of events: from remote control and from the broker. Facts about unknown
 * workers are dropped.
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
  /** Its last sign of life, in listened time. */
  readonly seenMs: number;
  /** When it last received a task. */
  readonly receivedMs: number;
}

export interface Answers {
  /**
   * A worker consumes exactly these queues; if there is only one, its tasks whose `task-sent` is unknown came from it.
   * @returns whether the worker is known
   */
  consumes(nodename: string, queues: readonly string[], now: Moment): boolean;
  /** A worker has reported its state, which is a sign of life. @param now when it did */
  workerReported(nodename: string, stats: WorkerStats, now: Moment): void;
  /** A worker has replied without identifying its process: a sign of life if it has only one process, without heartbeats. */
  workerLives(nodename: string, now: Moment): void;
  /** A worker has reported which tasks it runs. @returns whether the worker is known */
  workerRuns(nodename: string, tasks: readonly ReportedTask[], now: Moment): boolean;
  /** A worker has reported which tasks it has that have not started, or some of them. @returns whether the worker is known */
  workerHas(nodename: string, tasks: readonly ReportedTask[], now: Moment): boolean;
  /** A worker is alive but has stopped listening, or is listening again. */
  workerDeaf(nodename: string, isDeaf: boolean): void;
  /** How long ago the command was sent; undefined if it could not be sent. */
  readonly reportAgeMs: (() => number) | undefined;
  /**
   * A command was sent to all workers; undefined: their replies are no longer valid.
   * @param ageMs how long ago, whenever it is called
   */
  workersAsked(ageMs: (() => number) | undefined): void;
  /** A poll of the broker begins: messages sent from now on may be missing in its result. */
  brokerAsked(): void;
  /**
   * The broker’s reading; undefined: it is no longer valid.
   * @param ageMs how old the reading is, whenever it is called
   * @param listenedMs now
   */
  brokerKnows(reading: BrokerReading | undefined, ageMs: () => number, listenedMs: number): void;
  /** The number of the current connection: events may have been missed before each new one. */
  readonly session: number;
  /** The workers that are up: they are expected to reply. */
  workersUp(listenedMs: number): Steps<readonly WorkerUp[]>;
  /** How many workers were evicted for lack of room; they may be up. */
  readonly forgotten: number;
  /** The queues to poll, as named by events; those used most come first. */
  knownQueues(listenedMs: number): readonly string[];
}

export class AnswersAbout implements Answers {
  readonly #reported: ReportedFacts;
  readonly #context: LifeContext;
  #broker: { readonly reading: BrokerReading; readonly ageMs: () => number } | undefined;
  /** How long ago a command was sent to the workers; undefined if it could not be sent. */
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
    // Without it, the process is unknown.
    if (stats.pid === 0) return;
    const instance = this.#context.workers.answered(nodename, stats.pid, now.wallMs, now.listenedMs);
    if (instance === undefined) return;
    instance.beatsWhileRunning ||= sendsHeartbeats(instance, stats);
    this.#reported.stats(instance, stats, now);
  }

  workerLives(nodename: string, { listenedMs }: Moment): void {
    const [only, ...others] = this.#context.workers.peek(nodename)?.instances ?? [];
    // A silent process that used to send heartbeats may have been replaced by another with its name.
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

  /** The queues of workers that are up remain known, however old the reply. */
  keepQueues(listenedMs: number): Steps {
    return this.#reported.keepQueues(listenedMs);
  }

  /** The process that reported its state last, or the newest: other replies do not identify the process. */
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
      // With several processes under one pid, each heartbeat may come from another one.
      version: instance.isShared ? '' : instance.version,
      seenMs: instance.lastSeenMs,
      receivedMs: instance.receivedMs,
    }));
  }

  knownQueues(listenedMs: number): readonly string[] {
    return this.#context.queues.known(listenedMs).filter((queue) => queue !== UNKNOWN);
  }
}

/** Whether its heartbeats continue while it runs a task, because its main process runs no tasks. */
function sendsHeartbeats({ active }: WorkerInstance, { pool }: WorkerStats): boolean {
  return active !== undefined && (pool === 'prefork' || pool === 'threads');
}
