/**
 * Takes facts that arrive as replies instead of events: replies of workers to remote control, and polls of the broker. It
 * sends no commands, and drops facts about unknown workers.
 */
import type { BrokerReading } from '../broker/broker-reading.ts';
import type { ReportedTask, WorkerStats } from '../celery/control-reply.ts';
import type { Moment } from './moment.ts';
import { type BrokerView, UNKNOWN } from './observation.ts';
import type { Steps } from './steps.ts';
import { takeAllRunning, takeReported } from './tasks/reported-tasks.ts';
import type { LifeContext } from './tasks/task-life.ts';
import { ReportedFacts } from './workers/reported-facts.ts';
import type { WorkerInstance } from './workers/worker-instance.ts';

/** A worker that is expected to reply. */
export interface WorkerUp {
  readonly nodename: string;
  /** The process of the worker: the same object as long as no other process replaces it. */
  readonly process: object;
  /** The worker’s version of Celery; '' if not reported, or if another process has the same nodename and pid. */
  readonly version: string;
  /** When the last sign of life of the worker arrived, in listened time, ms. */
  readonly seenMs: number;
  /** When the worker last received a task, in listened time, ms; minus infinity if it has received none. */
  readonly receivedMs: number;
}

export interface Answers {
  /**
   * A worker consumes exactly these queues; if there is only one, its tasks whose `task-sent` is unknown came from it.
   * @returns whether the worker is known
   */
  consumes(nodename: string, queues: readonly string[], now: Moment): boolean;
  /** A worker has replied to `stats`, which is a sign of life. @param now when the reply arrived */
  workerReported(nodename: string, stats: WorkerStats, now: Moment): void;
  /** A worker has replied without naming its process: a sign of life if it has only one process, which sends no heartbeats. */
  workerLives(nodename: string, now: Moment): void;
  /** A worker has reported all tasks that it is running. @returns whether the worker is known */
  workerRuns(nodename: string, tasks: readonly ReportedTask[], now: Moment): boolean;
  /** A worker has reported some or all of its tasks that have not started. @returns whether the worker is known */
  workerHas(nodename: string, tasks: readonly ReportedTask[], now: Moment): boolean;
  /** A worker has become deaf, which means that it is alive but has stopped listening, or it is listening again. */
  workerDeaf(nodename: string, isDeaf: boolean): void;
  /** Returns how long ago the last command was sent to the workers; undefined if it could not be sent. */
  readonly reportAgeMs: (() => number) | undefined;
  /**
   * A command was sent to all workers.
   * @param ageMs returns how long ago it was sent; undefined: the replies of the workers are no longer valid
   */
  workersAsked(ageMs: (() => number) | undefined): void;
  /** A poll of the broker begins: tasks that are sent from now on may be missing in its result. */
  brokerAsked(): void;
  /**
   * A poll of the broker has ended.
   * @param reading its result; undefined: the last result is no longer valid
   * @param ageMs returns how old the result is
   * @param listenedMs the current time, in listened time
   */
  brokerKnows(reading: BrokerReading | undefined, ageMs: () => number, listenedMs: number): void;
  /** The number of the current connection: events may have been missed before each new one. */
  readonly session: number;
  /** The workers that are up, which are expected to reply. */
  workersUp(listenedMs: number): Steps<readonly WorkerUp[]>;
  /** How many workers were evicted from the table for lack of room since the start; they may be up. */
  readonly forgotten: number;
  /** The queues to poll, as named by events; those used most come first. */
  knownQueues(listenedMs: number): readonly string[];
}

export class ClusterAnswers implements Answers {
  readonly #reported: ReportedFacts;
  readonly #context: LifeContext;
  #broker: { readonly reading: BrokerReading; readonly ageMs: () => number } | undefined;
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
    // Without a pid, the process is unknown.
    if (stats.pid === 0) return;
    const instance = this.#context.workers.answered(nodename, stats.pid, now.wallMs, now.listenedMs);
    if (instance === undefined) return;
    instance.beatsWhileRunning ||= sendsHeartbeats(instance, stats);
    this.#reported.stats(instance, stats, now);
  }

  workerLives(nodename: string, { listenedMs }: Moment): void {
    const [only, ...others] = this.#context.workers.peek(nodename)?.instances ?? [];
    // If the process used to send heartbeats (which report its version) and is silent, another one may have replaced it.
    const isCertain = others.length === 0 && only?.isShared === false && only.version === '';
    if (isCertain) only.noteAlive(listenedMs, this.session);
  }

  workerRuns(nodename: string, tasks: readonly ReportedTask[], { wallMs, listenedMs }: Moment): boolean {
    const instance = this.#lastReported(nodename, listenedMs);
    if (instance !== undefined) takeAllRunning(this.#context, instance, tasks, wallMs, listenedMs);
    return instance !== undefined;
  }

  workerHas(nodename: string, tasks: readonly ReportedTask[], { wallMs, listenedMs }: Moment): boolean {
    const instance = this.#lastReported(nodename, listenedMs);
    if (instance !== undefined) takeReported(this.#context, instance, tasks, wallMs, listenedMs);
    return instance !== undefined;
  }

  workerDeaf(nodename: string, isDeaf: boolean): void {
    for (const instance of this.#context.workers.peek(nodename)?.instances ?? []) instance.isDeaf = isDeaf;
  }

  workersAsked(ageMs: (() => number) | undefined): void {
    this.reportAgeMs = ageMs;
  }

  /** Keeps the queues of all workers that are up among the known queues, however old their replies are. */
  keepQueues(listenedMs: number): Steps {
    return this.#reported.keepQueues(listenedMs);
  }

  /** The process that last replied to `stats`, or else the newest: only replies to `stats` identify the process. */
  #lastReported(nodename: string, listenedMs: number): WorkerInstance | undefined {
    const { workers } = this.#context;
    const worker = workers.peek(nodename);
    const up = worker?.instances.filter((each) => workers.isUp(worker, each, listenedMs)) ?? [];
    const candidates = up.length > 0 ? up : (worker?.instances ?? []);
    return candidates.toSorted((a, b) => (a.reported?.atMs ?? 0) - (b.reported?.atMs ?? 0)).at(-1);
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

/** Whether the heartbeats of a process continue while it runs a task, because its main process runs no tasks. */
function sendsHeartbeats({ active }: WorkerInstance, { pool }: WorkerStats): boolean {
  return active !== undefined && (pool === 'prefork' || pool === 'threads');
}
