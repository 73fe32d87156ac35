/**
 * What is true at one moment: walks over all unfinished tasks and all workers once, says what is to be measured of them,
 * and notices what no event tells: runs that died with their worker, and runs that left without an end. It walks in steps,
 * and of whatever has changed since the last of them it takes what is so now.
 */
import { find } from './chain.ts';
import { secondsBetween } from './clock-skew.ts';
import { type Observe, type QueueReading, type Survey, UNKNOWN, type WorkerReading } from './observation.ts';
import { inSteps, type Steps } from './steps.ts';
import type { Run, Sending, Task } from './task.ts';
import type { TaskTable } from './task-table.ts';
import type { WorkerInstance } from './worker-instance.ts';
import type { Worker, WorkerTable } from './worker-table.ts';

/** What a survey looks at. */
export interface Surveyed {
  readonly tasks: TaskTable;
  readonly workers: WorkerTable;
  readonly observe: Observe;
}

/** A run with the task it is of. */
interface TaskRun {
  readonly task: Task;
  readonly run: Run;
}

/** What is known of an instance's runs. */
interface Load {
  readonly running: TaskRun[];
  prefetched: number;
  scheduled: number;
}

/** Each takes a fraction of a microsecond. */
const TASKS_A_STEP = 1000;
const WORKERS_A_STEP = 100;
/** Each may run hundreds of tasks. */
const LOADS_A_STEP = 5;

/** An instance counts a task a little before or after it stamps the event. */
const STAMP_TOLERANCE_MS = 250;

/** Events may have been missed: of whatever waits, nobody can say whether it still does until more is told of it. */
export function doubtWaiting(tasks: TaskTable): void {
  for (const task of tasks.unfinished) {
    for (let run = task.runs; run !== undefined; run = run.next) {
      if (!run.hasStarted && run.isExpected) run.standing = 'doubted';
    }
    for (let sending = task.sendings; sending !== undefined; sending = sending.next) sending.doubted = true;
  }
}

export function survey(surveyed: Surveyed, nowMs: number): Steps<Survey> {
  return new Surveyor(surveyed, nowMs).survey();
}

class Surveyor {
  readonly #surveyed: Surveyed;
  readonly #nowMs: number;
  readonly #loads = new Map<WorkerInstance, Load>();
  readonly #oldestWaitingMs = new Map<string, number>();
  readonly #oldestRunningMs = new Map<string, number>();

  constructor(surveyed: Surveyed, nowMs: number) {
    this.#surveyed = surveyed;
    this.#nowMs = nowMs;
  }

  *survey(): Steps<Survey> {
    const { tasks, workers } = this.#surveyed;
    const readings: WorkerReading[] = [];
    yield* workers.release(this.#nowMs);
    yield* inSteps(tasks.unfinished, TASKS_A_STEP, (task) => this.#look(task));
    yield* inSteps(this.#loads, LOADS_A_STEP, ([instance, { running }]) => this.#settle(instance, running));
    // Only now, so that what a worker ran is known to be lost before the worker is forgotten.
    const forgotten = yield* workers.forgetGone(this.#nowMs);
    yield* inSteps(workers.all(), WORKERS_A_STEP, (worker) => readings.push(this.#workerReading(worker)));
    return { forgotten, workers: readings, queues: this.#queueReadings() };
  }

  #look(task: Task): void {
    let more = !task.over && task.runs === undefined && task.sendings === undefined;
    for (let run = task.runs; run !== undefined; run = run.next) if (this.#lookAtRun(task, run)) more = true;
    for (let sending = task.sendings; sending !== undefined; sending = sending.next) {
      if (!task.over && this.#lookAtSending(sending)) more = true;
    }
    if (!more && task.held === undefined) this.#surveyed.tasks.expectMore(task, false);
  }

  /** Whether its end is expected. */
  #lookAtRun(task: Task, run: Run): boolean {
    if (!run.isExpected) return false;
    const load = this.#load(run.instance);
    if (run.hasStarted) {
      load.running.push({ task, run });
      return true;
    }
    if (task.over || run.standing === 'redelivered') {
      // Another worker was given it.
      run.standing = 'gone';
      return false;
    }
    if (isPast(run.expiresMs, this.#nowMs)) return false;
    // Without an ETA it waits, however wrong the worker's clock is.
    if (run.stage === 'scheduled' && run.sinceMs > this.#nowMs) {
      load.scheduled += 1;
      return true;
    }
    load.prefetched += 1;
    // If the worker is no longer there, it waits in the broker again.
    note(this.#oldestWaitingMs, run.identity.queue, run.askedMs ?? run.sinceMs);
    return true;
  }

  /** Whether a run of it is expected. */
  #lookAtSending(sending: Sending): boolean {
    if (sending.doubted || isPast(sending.expiresMs, this.#nowMs)) return false;
    const { sentMs, etaMs = sentMs, queue } = sending;
    if (etaMs <= sentMs || etaMs <= this.#nowMs)
      note(this.#oldestWaitingMs, queue || UNKNOWN, Math.max(sentMs, etaMs));
    return true;
  }

  /** Which of an instance's runs it does run, and what has become of the others. */
  #settle(instance: WorkerInstance, found: readonly TaskRun[]): void {
    const { workers } = this.#surveyed;
    const running = found.filter((each) => isRunOf(instance, each));
    running.sort((one, other) => one.run.sinceMs - other.run.sinceMs);
    const doubted = this.#doubted(instance, running);
    const alive = workers.isAlive(instance, this.#nowMs);
    for (const [index, { task, run }] of running.entries()) {
      if (index < doubted) run.standing = 'doubted';
      else if (alive) note(this.#oldestRunningMs, run.identity.queue, run.sinceMs);
      else this.#lose(instance, task, run);
      if (!run.isExpected && !isMoreExpected(task)) this.#surveyed.tasks.expectMore(task, false);
    }
  }

  /**
   * How many of the runs, the oldest first, are most likely none: where the instance told of fewer tasks than it had begun
   * until then. Of `Ignore` and of lost events no end is ever told.
   */
  #doubted(instance: WorkerInstance, running: readonly TaskRun[]): number {
    const told = instance.settledActive(this.#nowMs);
    if (told === undefined) return 0;
    const untilMs = told.timestampMs - STAMP_TOLERANCE_MS;
    const begun = running.findLastIndex(({ run }) => run.sinceMs <= untilMs) + 1;
    return Math.max(0, begun - told.active);
  }

  #lose(instance: WorkerInstance, task: Task, run: Run): void {
    const wasRedelivered = run.standing === 'redelivered';
    run.standing = 'gone';
    // A worker that was forgotten for lack of room may be alive.
    if (wasRedelivered || task.lost || instance.forgotten) return;
    task.lost = true;
    this.#surveyed.observe({ kind: 'task-lost', run: run.identity });
  }

  #load(instance: WorkerInstance): Load {
    let load = this.#loads.get(instance);
    if (load === undefined) {
      load = { running: [], prefetched: 0, scheduled: 0 };
      this.#loads.set(instance, load);
    }
    return load;
  }

  #workerReading({ nodename, instances }: Worker): WorkerReading {
    const up = instances.filter((instance) => this.#surveyed.workers.isUp(instance, this.#nowMs));
    const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);
    const active = up.map((instance) => instance.active).filter((each) => each !== undefined);
    const loads = up.map((instance) => this.#loads.get(instance)).filter((each) => each !== undefined);
    const last = instances.at(-1);
    return {
      worker: nodename,
      up: up.length > 0,
      active: up.length === 0 ? 0 : active.length === 0 ? undefined : sum(active),
      prefetched: sum(loads.map(({ prefetched }) => prefetched)),
      scheduled: sum(loads.map(({ scheduled }) => scheduled)),
      heartbeatAgeS: secondsBetween(Math.max(...instances.map((each) => each.lastSeenMs)), this.#nowMs) ?? 0,
      load: up.at(-1)?.load,
      version: last?.version ?? '',
      system: last?.system ?? '',
    };
  }

  #queueReadings(): readonly QueueReading[] {
    const queues = new Set([...this.#oldestWaitingMs.keys(), ...this.#oldestRunningMs.keys()]);
    const age = (sinceMs: number | undefined): number | undefined =>
      sinceMs === undefined ? undefined : secondsBetween(sinceMs, this.#nowMs);
    return Array.from(queues, (queue) => ({
      queue,
      waitingAgeS: age(this.#oldestWaitingMs.get(queue)),
      runningAgeS: age(this.#oldestRunningMs.get(queue)),
    }));
  }
}

/** Whether it is still one that the instance has begun: there is other use for the objects of those that have ended. */
function isRunOf(instance: WorkerInstance, { task, run }: TaskRun): boolean {
  if (run.instance !== instance || !run.hasStarted || !run.isExpected) return false;
  return find(task.runs, (each) => each === run) !== undefined;
}

function isPast(timeMs: number | undefined, nowMs: number): boolean {
  return timeMs !== undefined && timeMs <= nowMs;
}

function note(oldest: Map<string, number>, queue: string, sinceMs: number): void {
  const known = oldest.get(queue);
  if (known === undefined || sinceMs < known) oldest.set(queue, sinceMs);
}

function isMoreExpected(task: Task): boolean {
  return find(task.runs, (run) => run.isExpected) !== undefined;
}
