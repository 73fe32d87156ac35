/**
 * What the workers, queues and tasks of one service do, for the status page: kept only if there is one.
 * Pure: the time is an argument, that of arrivals. Beyond a bound, the rest is counted together.
 */
import type { ClusterView, Observation, WorkerExit } from '../../cluster/observation.ts';
import { safeKey, textOf } from '../../text/safe-key.ts';
import { HISTORY_STEP_MS, History } from './history.ts';
import { type HourReading, MINUTE_MS } from './last-hour.ts';
import { QueueActivity, type QueueHourReading } from './queue-activity.ts';
import { spanMs } from './recent.ts';
import { RememberedRuns } from './remembered-runs.ts';
import { TaskActivity, type TaskHourReading, type TaskReading } from './task-activity.ts';
import { Troubles, type TroublesRead } from './troubles.ts';

/** Task names with rows of their own. */
export const TASKS_MAX = 5000;
/** Queues whose waiting times and lengths are kept. */
const QUEUES_MAX = 1000;
/** Of all workers together. */
const EXITS_MAX = 1000;
/** A task that was not seen for so long makes room for a new one. */
const IDLE_MS = 60 * 60_000;

export interface ServiceActivity {
  /** Of now. */
  readonly view: ClusterView;
  /** Events in each ten seconds of the last hour, the oldest first. */
  readonly history: readonly number[];
  /** What the recent counts of tasks are about. */
  readonly spanMs: number;
  /** How many task names have rows of their own. */
  readonly taskNames: number;
  /** What each of them did, read when its turn comes. */
  tasks(): Iterable<readonly [name: string, reading: TaskReading]>;
  /** Those of all names beyond the bound. */
  readonly otherTasks: TaskReading | undefined;
  /** In seconds, lately, from the sending to the start. */
  waitP95S(queue: string): number | undefined;
  /** By the clock of arrivals, ms. */
  readonly nowMs: number;
}

export interface ExitOfWorker {
  readonly worker: string;
  readonly reason: WorkerExit;
  /** By the clock of arrivals, ms. */
  readonly atMs: number;
}

export class Activity {
  /** Set by the counter of events. */
  readonly history = new History();
  readonly #tasks = new Map<string, TaskActivity>();
  #others: TaskActivity | undefined;
  readonly #queues = new Map<string, QueueActivity>();
  readonly #exits: ExitOfWorker[] = [];
  readonly runs: RememberedRuns;
  readonly #troubles = new Troubles();
  #startedMs: number | undefined;
  #clearedMs = Number.NEGATIVE_INFINITY;

  /** @param runsMax runs to remember; by default none */
  constructor(runsMax = 0) {
    this.runs = new RememberedRuns(runsMax);
  }

  observe(it: Observation, nowMs: number): void {
    this.#troubles.observe(it, nowMs);
    if (it.kind === 'worker-exited') this.#noteExit({ worker: it.worker, reason: it.reason, atMs: nowMs });
    if (!('run' in it)) return;
    this.#startedMs ??= nowMs;
    const task = this.#taskOf(it.run.task, nowMs);
    task.observe(it, nowMs);
    if (task !== this.#others) this.#troubles.observeTask(it, task);
    if (it.kind === 'task-started') this.#queueOf(it.run.queue)?.started(it.waitTimeS, nowMs);
  }

  /** Samples the queues. */
  sample({ queues, broker }: ClusterView, nowMs: number): void {
    for (const { queue, length } of broker?.queues ?? [])
      this.#queueOf(queue)?.sample('waiting', length, nowMs);
    for (const { queue, waitingAgeS } of queues) this.#queueOf(queue)?.sample('oldest', waitingAgeS, nowMs);
  }

  /** Minute by minute; undefined if it has no row of its own, or no run of it has ended. */
  hourOfTask(name: string, nowMs: number): TaskHourReading | undefined {
    return this.#whereHeard(this.#tasks.get(safeKey(name))?.hour(nowMs), nowMs);
  }

  hourOfQueue(name: string, nowMs: number): QueueHourReading | undefined {
    return this.#whereHeard(this.#queues.get(safeKey(name))?.hour(nowMs), nowMs);
  }

  /** Nothing is known of a minute in which no event arrived, not even a heartbeat: the broker was away, or all workers were. */
  #whereHeard<Name extends string>(
    hour: HourReading<Name> | undefined,
    nowMs: number,
  ): HourReading<Name> | undefined {
    if (hour === undefined) return undefined;
    // Until now there were none.
    this.history.before(Math.floor(nowMs / HISTORY_STEP_MS));
    const perMinute = MINUTE_MS / HISTORY_STEP_MS;
    const isHeard = (index: number): boolean => {
      const from = hour.sinceMs / HISTORY_STEP_MS + index * perMinute;
      return this.history.hasEvents(from, from + perMinute - 1);
    };
    return {
      ...hour,
      column: (name) => hour.column(name).map((value, index) => (isHeard(index) ? value : Number.NaN)),
    };
  }

  /** The newest first. */
  exitsOf(worker: string): readonly ExitOfWorker[] {
    return this.#exits.filter((exit) => exit.worker === worker).reverse();
  }

  /** What may be wrong with tasks and workers. */
  troubles(nowMs: number): TroublesRead {
    return this.#troubles.read(nowMs, spanMs(nowMs, this.#startedMs ?? nowMs));
  }

  /** @param view is not held: it is as large as the cluster */
  read(nowMs: number, view: ClusterView): ServiceActivity {
    return {
      nowMs,
      view,
      history: this.history.before(Math.floor(nowMs / HISTORY_STEP_MS)),
      spanMs: spanMs(nowMs, this.#startedMs ?? nowMs),
      taskNames: this.#tasks.size,
      tasks: () => this.#readTasks(nowMs),
      otherTasks: this.#others?.read(nowMs),
      waitP95S: (queue) => this.#queues.get(safeKey(queue))?.waitP95S(nowMs),
    };
  }

  *#readTasks(nowMs: number): Iterable<readonly [string, TaskReading]> {
    for (const [key, task] of this.#tasks) yield [textOf(key), task.read(nowMs)];
  }

  #taskOf(name: string, nowMs: number): TaskActivity {
    const key = safeKey(name);
    const known = this.#tasks.get(key);
    if (known !== undefined) return known;
    if (this.#tasks.size >= TASKS_MAX) this.#clearIdle(nowMs);
    if (this.#tasks.size >= TASKS_MAX) {
      this.#others ??= new TaskActivity();
      return this.#others;
    }
    const task = new TaskActivity();
    this.#tasks.set(key, task);
    return task;
  }

  /** At most once a minute: in a flood of names each is a new one. */
  #clearIdle(nowMs: number): void {
    if (nowMs - this.#clearedMs < 60_000) return;
    this.#clearedMs = nowMs;
    for (const [key, task] of this.#tasks) if (nowMs - task.seenMs > IDLE_MS) this.#tasks.delete(key);
  }

  #noteExit(exit: ExitOfWorker): void {
    this.#exits.push(exit);
    if (this.#exits.length > EXITS_MAX) this.#exits.shift();
  }

  #queueOf(name: string): QueueActivity | undefined {
    const key = safeKey(name);
    let queue = this.#queues.get(key);
    if (queue === undefined && this.#queues.size < QUEUES_MAX) {
      queue = new QueueActivity();
      this.#queues.set(key, queue);
    }
    return queue;
  }
}
