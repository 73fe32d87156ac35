/**
 * Settles the cluster, which means that it draws the conclusions of time alone, without an event: runs are lost with their worker
 * or end unseen, tasks are no longer expected, workers and queues disappear. It walks over all unfinished tasks and workers in
 * steps, and emits observations. A change between two steps counts if its task or worker has not been reached yet. It applies
 * no events.
 */

import type { Moment } from '../moment.ts';
import { UNKNOWN } from '../observation.ts';
import { largestOfSmallest } from '../select-nth.ts';
import { type Steps, unchangedInSteps } from '../steps.ts';
import { find } from '../tasks/chain.ts';
import type { Run } from '../tasks/run.ts';
import type { Task } from '../tasks/task.ts';
import type { LifeContext } from '../tasks/task-life.ts';
import { known } from '../window/held-numbers.ts';
import {
  type ActiveCount,
  mayBeAmong,
  mayBeOver,
  placesBefore,
  startedAfter,
} from '../workers/active-counts.ts';
import { placesAfter } from '../workers/process-identity.ts';
import type { WorkerInstance } from '../workers/worker-instance.ts';
import { hasMovedPast } from './gone-on.ts';
import {
  type ExpectationMoment,
  expectationOfRun,
  expectationOfSending,
  isSilent,
} from './run-expectation.ts';

/** The runs that a process has started and not ended. */
interface Started {
  /** The tasks of these runs, each once: an object per run would burden the garbage collector. */
  readonly tasks: Task[];
  /** The number of these runs. */
  runs: number;
}

/** How many runs of a process must be over, since it reported fewer active tasks. The oldest ones are doubted first. */
interface Doubt {
  readonly runs: number;
  /** The `active` count that the process reported. */
  readonly count: ActiveCount | undefined;
  /** A run can be doubted if it started at least this many places before the count, in the arrivals of the process. */
  readonly places: number;
  /** Whether all runs that can be doubted are over: otherwise, another of them may be. */
  readonly isCertain: boolean;
}

const NO_DOUBT: Doubt = { runs: 0, count: undefined, places: 0, isCertain: false };

/** Settling a task takes a fraction of a microsecond. */
const TASKS_PER_STEP = 1000;
const INSTANCES_PER_STEP = 5;
/** Tasks with a running run per step: the memory of each may be measured. */
const RUNNING_PER_STEP = 100;

export class Settling {
  readonly #settled: LifeContext;
  readonly #now: () => Moment;
  /** Listened time at the start, ms: the same in all steps, so that a process that is dead in the first is dead in the last. */
  readonly #listenedMs: number;
  /** The time by which runs are judged; read again before each step. */
  #at: ExpectationMoment;
  /** The runs that the walk over tasks has found running, by process. */
  readonly #started = new Map<WorkerInstance, Started>();

  /** @param now called whenever the time is needed, since settling may take long */
  constructor(settled: LifeContext, now: () => Moment) {
    this.#settled = settled;
    this.#now = now;
    this.#listenedMs = now().listenedMs;
    this.#at = this.#readAt();
  }

  /** @returns the nodenames of the workers forgotten since the last call */
  *settle(): Steps<readonly string[]> {
    const { tasks, workers, queues, skews, listener } = this.#settled;
    for (const _ of tasks.walkUnfinished(TASKS_PER_STEP, (task) => this.#settleTask(task))) {
      yield;
      this.#at = this.#readAt();
    }
    yield* this.#settleInstances();
    queues.forgetIdle(this.#listenedMs);
    skews.forgetIdle(this.#listenedMs);
    // Workers are settled last, so that the tasks of a worker are lost before the worker is forgotten.
    yield* workers.settle(this.#listenedMs);
    while (listener?.settle(this.#listenedMs, TASKS_PER_STEP) === true) yield;
    return yield* workers.forgetGone(this.#listenedMs);
  }

  #readAt(): ExpectationMoment {
    const { workers, listener } = this.#settled;
    const { wallMs } = this.#now();
    if (listener !== undefined) listener.nowMs = wallMs;
    return { wallMs, session: workers.session, listenedMs: this.#listenedMs };
  }

  #settleTask(task: Task): void {
    const { tasks, queues, listener } = this.#settled;
    const silentMs = this.#listenedMs - tasks.lastEventMs(task);
    let isMoreToCome =
      !task.over && !isSilent(silentMs) && task.runs === undefined && task.sendings === undefined;
    for (let run = task.runs; run !== undefined; run = run.next) {
      if (this.#settleRun(task, run, silentMs)) isMoreToCome = true;
    }
    for (let sending = task.sendings; sending !== undefined; sending = sending.next) {
      const expectation = expectationOfSending(sending, task, silentMs, this.#at);
      if (expectation === 'none') continue;
      queues.cohorts.addOnceDue(sending, this.#at);
      isMoreToCome = true;
      if (expectation === 'waiting') queues.named.use(sending.queue || UNKNOWN, this.#listenedMs);
    }
    if (task.held !== undefined) return;
    listener?.waits(task, silentMs, this.#at.wallMs);
    if (isMoreToCome) return;
    if (isSilent(silentMs)) {
      listener?.givenUp(task);
      tasks.giveUp(task);
    } else {
      for (let sending = task.sendings; sending !== undefined; sending = sending.next)
        if (sending.cohort?.isGone === true) queues.unseenDepartures.add(sending.name, this.#listenedMs);
      listener?.expectsNoMore(task, this.#listenedMs);
      tasks.expectMore(task, false);
    }
  }

  /** Settles one run. @returns whether an end of it is still to come, or would refute its loss */
  #settleRun(task: Task, run: Run, silentMs: number): boolean {
    if (this.#hasMissedEnd(task, run)) this.#doubt(task, run, 'endMissed', this.#at.wallMs);
    const expectation = expectationOfRun(run, task, silentMs, this.#at);
    if (run.isExpected) this.#assign(task, run);
    switch (expectation) {
      case 'running': {
        const started = this.#startedBy(run.instance);
        started.runs += 1;
        if (started.tasks.at(-1) !== task) started.tasks.push(task);
        return true;
      }
      case 'waiting':
        if (hasMovedPast(run, silentMs, this.#at)) {
          // The unseen start of this run explains no other run.
          run.instance.counts?.explainOne();
          this.#doubt(task, run, 'endMissed', this.#at.wallMs);
          return false;
        }
        this.#settled.queues.named.use(run.identity.queue, this.#listenedMs);
        return true;
      case 'scheduled':
        return true;
      case 'endMissed':
      case 'leftBehind':
        this.#doubt(task, run, expectation, this.#at.wallMs);
        return false;
      case 'none':
        return isRefutable(task, run) && !isSilent(silentMs);
    }
  }

  /**
   * No end of the run is expected any more.
   * @param sinceMs since when, by the clock of its worker if possible, epoch ms
   * @param isCertain whether this run must be the one that is over
   */
  #doubt(
    task: Task,
    run: Run,
    fact: 'endMissed' | 'leftBehind',
    sinceMs: number | undefined,
    isCertain = true,
  ): void {
    run.noteFact(fact);
    this.#settled.listener?.doubted(task, run, sinceMs, isCertain);
  }

  /** Whether the run was running before the last gap, and is not among the tasks that its worker has reported since. */
  #hasMissedEnd(task: Task, run: Run): boolean {
    const { session } = this.#at;
    if (!(run.hasStarted && run.isExpected && run.session < session)) return false;
    const running = run.instance.reported?.running;
    return running?.session === session && !running.uuids.has(this.#settled.tasks.idOf(task));
  }

  /** Assigns the run to the process that really sent its event, if a restart with the same pid has become known since. */
  #assign(task: Task, run: Run): void {
    const instance = run.instance.at(run.place);
    if (instance === run.instance) return;
    this.#settled.tasks.assign(run, instance);
    for (let other = task.runs; other !== undefined; other = other.next) {
      const isEarlier = other.instance.hash === instance.hash && placesAfter(run.place, other.place) > 0;
      if (isEarlier && other.instance.at(other.place) !== instance) other.noteFact('takenElsewhere');
    }
  }

  *#settleInstances(): Steps {
    let instances = 0;
    for (const [instance, started] of this.#started) {
      yield* this.#settleInstance(instance, started);
      instances += 1;
      if (instances % INSTANCES_PER_STEP === 0) yield;
    }
  }

  /** Decides which of its runs the process is still running, and which are doubted or lost. */
  *#settleInstance(instance: WorkerInstance, started: Started): Steps {
    const { workers, tasks, queues } = this.#settled;
    // An evicted process may be alive, but its runs can no longer be followed.
    const isGone = instance.dropped === 'evicted' || workers.death(instance, this.#listenedMs) !== undefined;
    const doubt = yield* this.#doubtOf(instance, started, isGone);
    let doubted = 0;
    yield* eachRunning(instance, started, (run, task) => {
      if (doubted < doubt.runs && placesBefore(doubt.count, run) >= doubt.places && !isSafe(run, isGone)) {
        this.#doubt(task, run, 'endMissed', doubt.count?.timestampMs, doubt.isCertain);
        doubted += 1;
      } else if (isGone && task.held === undefined) this.#lose(instance, task, run);
      else queues.worked.use(run.identity.queue, this.#listenedMs);
      if (run.isExpected || isMoreExpected(task)) return;
      this.#settled.listener?.expectsNoMore(task, this.#listenedMs);
      tasks.expectMore(task, false);
    });
  }

  /**
   * How many runs must be over, since the process reported fewer active tasks than it had started: the oldest are the most likely
   * ones. After `Ignore`, or if the event was lost, an end is never reported. Once the process is gone, runs that merely may be
   * over count too: the active tasks may have been others, whose starts were missed.
   */
  *#doubtOf(instance: WorkerInstance, started: Started, isGone: boolean): Steps<Doubt> {
    const count = instance.settledActive(this.#listenedMs);
    if (count === undefined) return NO_DOUBT;
    const startPlaces = new Float64Array(started.runs);
    let [before, known, uncertain, safe] = [0, count.ended, 0, 0];
    yield* eachRunning(instance, started, (run) => {
      if (mayBeAmong(count, run)) known += 1;
      const places = placesBefore(count, run);
      // More runs may have started since they were counted.
      if (places <= 0 || before === startPlaces.length) return;
      if (isSafe(run, isGone)) {
        safe += 1;
        return;
      }
      startPlaces[before] = -places;
      before += 1;
      if (isGone && mayBeOver(count, run)) uncertain += 1;
    });
    const over = Math.min(before, before + safe + count.endedBefore - count.active);
    const runs = Math.max(over, Math.min(uncertain, known + count.unseen - count.active));
    if (runs <= 0) return NO_DOUBT;
    const places = -(yield* largestOfSmallest(startPlaces.subarray(0, before), runs));
    return { runs, count, places, isCertain: runs >= before };
  }

  #lose(instance: WorkerInstance, task: Task, run: Run): void {
    const { session } = this.#settled.workers;
    const count = instance.settledActive(this.#listenedMs);
    // Events were missed after the last event of the run, and its worker has not reported an `active` count since.
    const mayHaveEnded = run.session < session && (count?.session ?? 0) < session;
    const isUncertain = mayHaveEnded || mayBeSuccessors(instance, count, run);
    const endedMs = known(instance.arrivals.lastReportedMs);
    const isLost = run.standing === 'expected' && !task.lost && instance.dropped !== 'evicted';
    const { tasks, observe, listener } = this.#settled;
    if (isUncertain || !isLost) {
      const isRedelivered = run.standing === 'redelivered' && instance.dropped !== 'evicted' && !isUncertain;
      this.#doubt(task, run, isUncertain ? 'endMissed' : 'leftBehind', endedMs);
      if (isRedelivered) listener?.over(task, run, 'redelivered', endedMs);
      return;
    }
    run.noteFact('diedRunning');
    task.lost = true;
    tasks.noteEvent(task, this.#listenedMs);
    observe({ kind: 'task-lost', run: run.identity });
    listener?.over(task, run, 'lost', endedMs);
  }

  #startedBy(instance: WorkerInstance): Started {
    let started = this.#started.get(instance);
    if (started === undefined) {
      started = { tasks: [], runs: 0 };
      this.#started.set(instance, started);
    }
    return started;
  }
}

/** Calls `act` for all runs of the given tasks that the process has started and not ended, in steps. */
function eachRunning(
  instance: WorkerInstance,
  { tasks }: Started,
  act: (run: Run, task: Task) => void,
): Steps {
  return unchangedInSteps(tasks, RUNNING_PER_STEP, (task) => {
    for (let run = task.runs; run !== undefined; run = run.next) {
      if (run.instance === instance && run.hasStarted && run.isExpected) act(run, task);
    }
  });
}

/** Whether the run is not lost with its process anyway, so that doubting it would spare no other run. */
function isSafe({ standing }: Run, isGone: boolean): boolean {
  return isGone && standing === 'redelivered';
}

/** Whether the run seems to have started after a `worker-offline`, or after a gap in which the process restarted. */
function mayBeSuccessors(instance: WorkerInstance, count: ActiveCount | undefined, run: Run): boolean {
  if (count === undefined) return false;
  if (instance.goodbye !== undefined && startedAfter(count, run)) return true;
  return instance.restartedAs !== undefined && run.session > count.session;
}

/** Whether an end of the task is expected, or would refute a loss. */
function isMoreExpected(task: Task): boolean {
  return find(task.runs, (run) => run.isExpected || isRefutable(task, run)) !== undefined;
}

/** Whether an end of the run would refute its loss: then its task is kept like one that has not ended. */
function isRefutable({ over }: Task, { standing }: Run): boolean {
  return standing === 'lost' && !over;
}
