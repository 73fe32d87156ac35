/**
 * What time brings about and no event tells: runs that died with their worker, runs that left without an end, tasks that
 * nothing is expected of any more, workers and queues that are gone. Walks over all unfinished tasks and all workers, has
 * each of them settled and observes what follows. It walks in steps; what changes between two of them is taken as it is when
 * it is looked at.
 */

import type { ActiveCount } from './active-counts.ts';
import { placesAfter } from './arrivals.ts';
import { find } from './chain.ts';
import type { ClockSkews } from './clock-skew.ts';
import type { FinishedRuns } from './finished-runs.ts';
import { LAST_WORDS_MS } from './lateness.ts';
import type { Moment } from './moment.ts';
import { type Observe, UNKNOWN } from './observation.ts';
import { isSilent, type OutlookMoment, runOutlook, sendingOutlook } from './outlook.ts';
import type { QueueTable } from './queue-table.ts';
import type { Run } from './run.ts';
import { largestOfSmallest } from './smallest.ts';
import { type Steps, unchangedInSteps } from './steps.ts';
import type { Task } from './task.ts';
import type { TaskTable } from './task-table.ts';
import type { WorkerInstance } from './worker-instance.ts';
import type { WorkerTable } from './worker-table.ts';

/** What is settled. */
export interface Settled {
  readonly tasks: TaskTable;
  readonly workers: WorkerTable;
  readonly queues: QueueTable;
  readonly skews: ClockSkews;
  readonly observe: Observe;
  readonly finished: FinishedRuns | undefined;
}

/** The runs that an instance has begun. */
interface Begun {
  /** Their tasks, each once: an object for each run would keep the garbage collector busy. */
  readonly tasks: Task[];
  runs: number;
}

/** Of those that began before the count, so many are none: the ones that began at least so many places before it. */
interface Doubt {
  readonly runs: number;
  readonly count: ActiveCount | undefined;
  readonly places: number;
}

const NO_DOUBT: Doubt = { runs: 0, count: undefined, places: 0 };

/** Each takes a fraction of a microsecond. */
const TASKS_A_STEP = 1000;
/** Each may be measured, and one may bring others along. */
const WORDS_A_STEP = 50;
const INSTANCES_A_STEP = 5;
/** The runs of each may be measured. */
const RUNNING_A_STEP = 100;

/** An instance counts a task a little before or after it stamps the event. */
const STAMP_TOLERANCE_MS = 250;

/**
 * @param now asked when the time is needed: to settle much takes some time
 * @returns the nodenames of the workers that have been forgotten since the last time
 */
export function settle(settled: Settled, now: () => Moment): Steps<readonly string[]> {
  return new Settling(settled, now).settle();
}

class Settling {
  readonly #settled: Settled;
  readonly #now: () => Moment;
  /** One for all steps: what is dead at the first is so at the last. */
  readonly #listenedMs: number;
  /** Read anew with each step. */
  #at: OutlookMoment;
  readonly #begun = new Map<WorkerInstance, Begun>();

  constructor(settled: Settled, now: () => Moment) {
    this.#settled = settled;
    this.#now = now;
    this.#listenedMs = now().listenedMs;
    this.#at = this.#readAt();
  }

  *settle(): Steps<readonly string[]> {
    const { tasks, workers, queues, skews } = this.#settled;
    while (workers.release(this.#listenedMs, WORDS_A_STEP)) yield;
    for (const _ of tasks.unfinished.walk(TASKS_A_STEP, (task) => this.#settleTask(task))) {
      yield;
      this.#at = this.#readAt();
    }
    yield* this.#settleInstances();
    queues.forgetIdle(this.#listenedMs);
    skews.forgetIdle(this.#listenedMs);
    // Only now, so that what a worker ran is known to be lost before the worker is forgotten.
    yield* workers.settle(this.#listenedMs);
    return yield* workers.forgetGone(this.#listenedMs);
  }

  #readAt(): OutlookMoment {
    return { wallMs: this.#now().wallMs, session: this.#settled.workers.session };
  }

  #settleTask(task: Task): void {
    const { tasks } = this.#settled;
    const silent = isSilent(tasks.lastHeardMs(task), this.#listenedMs);
    let more = !task.over && !silent && task.runs === undefined && task.sendings === undefined;
    for (let run = task.runs; run !== undefined; run = run.next) {
      if (this.#settleRun(task, run, silent)) more = true;
    }
    for (let sending = task.sendings; sending !== undefined; sending = sending.next) {
      const outlook = sendingOutlook(sending, task, silent, this.#at);
      if (outlook === 'none') continue;
      more = true;
      if (outlook === 'waiting') this.#use(sending.queue || UNKNOWN);
    }
    if (more || task.held !== undefined) return;
    if (silent) tasks.giveUp(task);
    else tasks.expectMore(task, false);
  }

  /** Whether its end is expected. */
  #settleRun(task: Task, run: Run, silent: boolean): boolean {
    const outlook = runOutlook(run, task, silent, this.#at);
    if (run.isExpected) this.#assign(task, run);
    switch (outlook) {
      case 'running': {
        const begun = this.#begunOf(run.instance);
        begun.runs += 1;
        if (begun.tasks.at(-1) !== task) begun.tasks.push(task);
        return true;
      }
      case 'waiting':
        this.#use(run.identity.queue);
        return true;
      case 'scheduled':
        return true;
      case 'doubted':
      case 'gone':
        run.standing = outlook;
        return false;
      case 'none':
        return false;
    }
  }

  /** That another process has begun under the same pid, and has the run, may have become known since it was told. */
  #assign(task: Task, run: Run): void {
    const instance = run.instance.at(run.place);
    if (instance === run.instance) return;
    this.#settled.tasks.assign(run, instance);
    for (let other = task.runs; other !== undefined; other = other.next) {
      const isEarlier = other.instance.hash === instance.hash && placesAfter(run.place, other.place) > 0;
      if (isEarlier && other.standing === 'expected' && other.instance.at(other.place) !== instance)
        other.standing = 'redelivered';
    }
  }

  /** A queue is known for as long as a task of it waits or runs. */
  #use(queue: string): void {
    this.#settled.queues.use(queue, this.#listenedMs);
  }

  *#settleInstances(): Steps {
    let instances = 0;
    for (const [instance, begun] of this.#begun) {
      yield* this.#settleInstance(instance, begun);
      instances += 1;
      if (instances % INSTANCES_A_STEP === 0) yield;
    }
  }

  /** Which of an instance's runs it does run, and what has become of the others. */
  *#settleInstance(instance: WorkerInstance, begun: Begun): Steps {
    const { workers, tasks } = this.#settled;
    const doubt = yield* this.#doubt(instance, begun);
    let doubted = 0;
    // One that was forgotten for lack of room may be alive, but its runs can no longer be followed.
    const isGone = instance.dropped === 'evicted' || workers.death(instance, this.#listenedMs) !== undefined;
    yield* eachRunning(instance, begun, (run, task) => {
      if (doubted < doubt.runs && placesBefore(doubt.count, run) >= doubt.places) {
        run.standing = 'doubted';
        doubted += 1;
      } else if (isGone && task.held === undefined) this.#lose(instance, task, run);
      else this.#use(run.identity.queue);
      if (!run.isExpected && !isMoreExpected(task)) tasks.expectMore(task, false);
    });
  }

  /**
   * How many of the runs that began until when are most likely none: the oldest, where the instance told of fewer tasks
   * than it had begun until then. Of `Ignore` and of lost events no end is ever told.
   */
  *#doubt(instance: WorkerInstance, begun: Begun): Steps<Doubt> {
    const told = instance.settledActive(this.#listenedMs);
    if (told === undefined) return NO_DOUBT;
    const begunAt = new Float64Array(begun.runs);
    let before = 0;
    yield* eachRunning(instance, begun, (run) => {
      const places = placesBefore(told, run);
      // Meanwhile more may have begun.
      if (places <= 0 || before === begunAt.length) return;
      begunAt[before] = -places;
      before += 1;
    });
    const runs = before - told.active;
    if (runs <= 0) return NO_DOUBT;
    return { runs, count: told, places: -(yield* largestOfSmallest(begunAt.subarray(0, before), runs)) };
  }

  #lose(instance: WorkerInstance, task: Task, run: Run): void {
    const wasRedelivered = run.standing === 'redelivered';
    const { session } = this.#settled.workers;
    // It may have ended while events were missed, unless its worker has said since then how many it runs.
    const mayHaveEnded =
      run.session < session && (instance.settledActive(this.#listenedMs)?.session ?? 0) < session;
    run.standing = mayHaveEnded ? 'doubted' : 'gone';
    if (wasRedelivered || mayHaveEnded || task.lost || instance.dropped === 'evicted') return;
    task.lost = true;
    run.standing = 'lost';
    const { observe, finished } = this.#settled;
    finished?.ended(task, run, { outcome: 'lost', errorType: '', endedMs: undefined });
    observe({ kind: 'task-lost', run: run.identity });
  }

  #begunOf(instance: WorkerInstance): Begun {
    let begun = this.#begun.get(instance);
    if (begun === undefined) {
      begun = { tasks: [], runs: 0 };
      this.#begun.set(instance, begun);
    }
    return begun;
  }
}

/** All that an instance has begun and not ended, of the tasks that it was found to run. */
function eachRunning(instance: WorkerInstance, { tasks }: Begun, act: (run: Run, task: Task) => void): Steps {
  return unchangedInSteps(tasks, RUNNING_A_STEP, (task) => {
    for (let run = task.runs; run !== undefined; run = run.next) {
      if (run.instance === instance && run.hasStarted && run.isExpected) act(run, task);
    }
  });
}

/** How many places before the count the run began, in the order in which their process told it; 0 if not before it. */
function placesBefore(count: ActiveCount | undefined, run: Run): number {
  if (count === undefined) return 0;
  const afterMs = run.sinceMs - count.timestampMs + STAMP_TOLERANCE_MS;
  // What began later may have overtaken it.
  return afterMs > 0 && afterMs <= LAST_WORDS_MS ? 0 : placesAfter(count.place, run.place);
}

function isMoreExpected(task: Task): boolean {
  return find(task.runs, (run) => run.isExpected) !== undefined;
}
