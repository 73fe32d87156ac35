/**
 * Recent activity of the workers, queues and tasks of one service, for the status page; a service without a status page
 * keeps none. Pure: the time is an argument, namely when messages arrived. Tasks beyond the bound are counted together;
 * queues beyond theirs are not counted.
 */
import type { ClusterView, Observation, WorkerExit } from '../../cluster/observation.ts';
import { safeKey, textOf } from '../../text/safe-key.ts';
import { HISTORY_STEP_MS, History } from './history.ts';
import { type HourReading, MINUTE_MS } from './last-hour.ts';
import { QueueActivity, type QueueHourReading } from './queue-activity.ts';
import { spanMs } from './recent.ts';
import { RememberedRuns } from './remembered-runs.ts';
import { TaskActivity, type TaskHourReading, type TaskReading } from './task-activity.ts';
import { Troubles, type TroublesReading } from './troubles.ts';

/** How many task names have a row of their own. */
export const TASKS_MAX = 5000;
/** How many queues have waiting times and lengths. */
const QUEUES_MAX = 1000;
/** How many worker exits are kept, for all workers together. */
const EXITS_MAX = 1000;
/** A task without an observation for this long is evicted when a new task needs its place. */
const IDLE_MS = 60 * 60_000;

export interface ServiceActivity {
  /** The state of the cluster at `nowMs`. */
  readonly view: ClusterView;
  /** Events in each ten seconds of the last hour, the oldest first. */
  readonly history: readonly number[];
  /** How much time the recent counts of tasks cover. */
  readonly spanMs: number;
  /** How many task names have rows of their own. */
  readonly taskNames: number;
  /** The activity of each task name, read one by one while iterating. */
  tasks(): Iterable<readonly [name: string, reading: TaskReading]>;
  /** The sum of all task names beyond the bound; undefined if there are none. */
  readonly otherTasks: TaskReading | undefined;
  /** The 95th percentile of the recent times from sending to start, in seconds; undefined if no wait was measured. */
  waitP95S(queue: string): number | undefined;
  /** When this was read, by the clock of arrivals. */
  readonly nowMs: number;
}

export interface ExitOfWorker {
  readonly worker: string;
  readonly reason: WorkerExit;
  /** When the exit was observed, by the clock of arrivals. */
  readonly atMs: number;
}

export class Activity {
  /** Filled by the event counter (service-state.ts). */
  readonly history = new History();
  readonly #tasks = new Map<string, TaskActivity>();
  #otherTasks: TaskActivity | undefined;
  readonly #queues = new Map<string, QueueActivity>();
  readonly #exits: ExitOfWorker[] = [];
  readonly runs: RememberedRuns;
  readonly #troubles = new Troubles();
  #startedMs: number | undefined;
  #clearedMs = Number.NEGATIVE_INFINITY;

  /** @param runsMax how many finished runs are remembered; by default none */
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
    if (task !== this.#otherTasks) this.#troubles.observeTask(it, task);
    if (it.kind === 'task-started') this.#queueOf(it.run.queue)?.started(it.waitTimeS, nowMs);
  }

  /** Keeps the length of each queue and the age of its oldest task. */
  sample({ queues, broker }: ClusterView, nowMs: number): void {
    for (const { queue, length } of broker?.queues ?? [])
      this.#queueOf(queue)?.sample('waiting', length, nowMs);
    for (const { queue, waitingAgeS } of queues) this.#queueOf(queue)?.sample('oldest', waitingAgeS, nowMs);
  }

  /** The last hour, minute by minute; undefined if the task has no row of its own, or no run of it has ended. */
  hourOfTask(name: string, nowMs: number): TaskHourReading | undefined {
    return this.#blankWithoutEvents(this.#tasks.get(safeKey(name))?.hour(nowMs), nowMs);
  }

  hourOfQueue(name: string, nowMs: number): QueueHourReading | undefined {
    return this.#blankWithoutEvents(this.#queues.get(safeKey(name))?.hour(nowMs), nowMs);
  }

  /**
   * Blanks the minutes in which no event arrived, not even a heartbeat: the broker or all workers were away, so nothing
   * is known.
   */
  #blankWithoutEvents<Name extends string>(
    hour: HourReading<Name> | undefined,
    nowMs: number,
  ): HourReading<Name> | undefined {
    if (hour === undefined) return undefined;
    // Fills the windows without events up to now.
    this.history.before(Math.floor(nowMs / HISTORY_STEP_MS));
    const perMinute = MINUTE_MS / HISTORY_STEP_MS;
    const hadEvents = (index: number): boolean => {
      const from = hour.sinceMs / HISTORY_STEP_MS + index * perMinute;
      return this.history.hasEvents(from, from + perMinute - 1);
    };
    return {
      ...hour,
      column: (name) => hour.column(name).map((value, index) => (hadEvents(index) ? value : Number.NaN)),
    };
  }

  /** The exits of this worker, newest first. */
  exitsOf(worker: string): readonly ExitOfWorker[] {
    return this.#exits.filter((exit) => exit.worker === worker).reverse();
  }

  /** Call it after the last observation, so that what is read from then on contains all of them. */
  end(): void {
    this.#troubles.refresh();
  }

  /** Recent failures, losses and crashes. */
  troubles(nowMs: number): TroublesReading {
    return this.#troubles.read(nowMs, spanMs(nowMs, this.#startedMs ?? nowMs));
  }

  /** @param view is returned, but not kept: it is as large as the cluster */
  read(nowMs: number, view: ClusterView): ServiceActivity {
    return {
      nowMs,
      view,
      history: this.history.before(Math.floor(nowMs / HISTORY_STEP_MS)),
      spanMs: spanMs(nowMs, this.#startedMs ?? nowMs),
      taskNames: this.#tasks.size,
      tasks: () => this.#readTasks(nowMs),
      otherTasks: this.#otherTasks?.read(nowMs),
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
      this.#otherTasks ??= new TaskActivity();
      return this.#otherTasks;
    }
    const task = new TaskActivity();
    this.#tasks.set(key, task);
    return task;
  }

  /** Evicts idle tasks, at most once a minute: in a flood of names each event brings a new one. */
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
