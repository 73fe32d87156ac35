/**
 * Handles what happens without an event: runs are lost with their worker or end unseen, tasks are no longer expected,
 * workers and queues disappear. It walks over all unfinished tasks and workers in steps, and emits observations.
 * Changes between two steps count if they have not been reached yet.
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
import { hasGoneOn } from './gone-on.ts';
import {
  type ExpectationMoment,
  expectationOfRun,
  expectationOfSending,
  isSilent,
} from './run-expectation.ts';

/** The runs that a process has started. */
interface Started {
  /** Their tasks, each once: an object per run would burden the garbage collector. */
  readonly tasks: Task[];
  runs: number;
}

/** How many of the runs that started before the count are over: those with at least this distance to it. */
interface Doubt {
  readonly runs: number;
  readonly count: ActiveCount | undefined;
  readonly places: number;
}

const NO_DOUBT: Doubt = { runs: 0, count: undefined, places: 0 };

/** A task takes a fraction of a microsecond. */
const TASKS_PER_STEP = 1000;
const INSTANCES_PER_STEP = 5;
/** Processes per step: the memory of their runs may be measured. */
const RUNNING_PER_STEP = 100;

export class Settling {
  readonly #settled: LifeContext;
  readonly #now: () => Moment;
  /** Constant for all steps: what is dead in the first is dead in the last. */
  readonly #listenedMs: number;
  /** Read again at each step. */
  #at: ExpectationMoment;
  readonly #started = new Map<WorkerInstance, Started>();

  /** @param now read whenever the time is needed, since settling may take long */
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
    // Last, so that the tasks of a worker are lost before the worker is forgotten.
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
    let more = !task.over && !isSilent(silentMs) && task.runs === undefined && task.sendings === undefined;
    for (let run = task.runs; run !== undefined; run = run.next) {
      if (this.#settleRun(task, run, silentMs)) more = true;
    }
    for (let sending = task.sendings; sending !== undefined; sending = sending.next) {
      const expectation = expectationOfSending(sending, task, silentMs, this.#at);
      if (expectation === 'none') continue;
      queues.cohorts.reach(sending, this.#at);
      more = true;
      if (expectation === 'waiting') queues.named.use(sending.queue || UNKNOWN, this.#listenedMs);
    }
    if (task.held !== undefined) return;
    listener?.waits(task, silentMs, this.#at.wallMs);
    if (more) return;
    if (isSilent(silentMs)) {
      listener?.givenUp(task);
      tasks.giveUp(task);
    } else {
      for (let sending = task.sendings; sending !== undefined; sending = sending.next)
        if (sending.cohort?.isGone === true) queues.left.note(sending.name, this.#listenedMs);
      listener?.expectsNoMore(task, this.#listenedMs);
      tasks.expectMore(task, false);
    }
  }

  /** @returns whether its end is expected */
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
        if (hasGoneOn(run, silentMs, this.#at)) {
          // One start begins one run.
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

  /** @param sinceMs by the clock of its worker if possible */
  #doubt(task: Task, run: Run, fact: 'endMissed' | 'leftBehind', sinceMs: number | undefined): void {
    run.note(fact);
    this.#settled.listener?.doubted(task, run, sinceMs);
  }

  /** It was running before the last gap, and is not among the tasks that its worker has reported since. */
  #hasMissedEnd(task: Task, run: Run): boolean {
    const { session } = this.#at;
    if (!(run.hasStarted && run.isExpected && run.session < session)) return false;
    const running = run.instance.reported?.running;
    return running?.session === session && !running.uuids.has(this.#settled.tasks.idOf(task));
  }

  /** A restart with the same pid may have become known since the event: then the run belongs to the new process. */
  #assign(task: Task, run: Run): void {
    const instance = run.instance.at(run.place);
    if (instance === run.instance) return;
    this.#settled.tasks.assign(run, instance);
    for (let other = task.runs; other !== undefined; other = other.next) {
      const isEarlier = other.instance.hash === instance.hash && placesAfter(run.place, other.place) > 0;
      if (isEarlier && other.instance.at(other.place) !== instance) other.note('takenElsewhere');
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

  /** Which runs the process is still running, and what happened to the others. */
  *#settleInstance(instance: WorkerInstance, started: Started): Steps {
    const { workers, tasks, queues } = this.#settled;
    // An evicted process may be alive, but its runs can no longer be followed.
    const isGone = instance.dropped === 'evicted' || workers.death(instance, this.#listenedMs) !== undefined;
    const doubt = yield* this.#doubtOf(instance, started, isGone);
    let doubted = 0;
    yield* eachRunning(instance, started, (run, task) => {
      if (doubted < doubt.runs && placesBefore(doubt.count, run) >= doubt.places && !isSafe(run, isGone)) {
        this.#doubt(task, run, 'endMissed', doubt.count?.timestampMs);
        doubted += 1;
      } else if (isGone && task.held === undefined) this.#lose(instance, task, run);
      else queues.worked.use(run.identity.queue, this.#listenedMs);
      if (run.isExpected || isMoreExpected(task)) return;
      this.#settled.listener?.expectsNoMore(task, this.#listenedMs);
      tasks.expectMore(task, false);
    });
  }

  /**
   * Which runs are most likely over: the oldest, if the process reported fewer active tasks than it had started. After
   * `Ignore`, or if the event was lost, an end is never reported. Once the process is gone, also those that may be
   * over: the reported tasks may be others, whose starts were missed.
   */
  *#doubtOf(instance: WorkerInstance, started: Started, isGone: boolean): Steps<Doubt> {
    const count = instance.settledActive(this.#listenedMs);
    if (count === undefined) return NO_DOUBT;
    const startPlaces = new Float64Array(started.runs);
    let [before, known, uncertain, safe] = [0, count.ended, 0, 0];
    yield* eachRunning(instance, started, (run) => {
      if (mayBeAmong(count, run)) known += 1;
      const places = placesBefore(count, run);
      // More may have started since.
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
    return { runs, count, places: -(yield* largestOfSmallest(startPlaces.subarray(0, before), runs)) };
  }

  #lose(instance: WorkerInstance, task: Task, run: Run): void {
    const { session } = this.#settled.workers;
    const count = instance.settledActive(this.#listenedMs);
    // Events were missed, and its worker has not reported an `active` count since.
    const mayHaveEnded = run.session < session && (count?.session ?? 0) < session;
    const isUncertain = mayHaveEnded || mayBeSuccessors(instance, count, run);
    const endedMs = known(instance.arrivals.lastReportedMs);
    const isLost = run.standing === 'expected' && !task.lost && instance.dropped !== 'evicted';
    if (isUncertain || !isLost) {
      this.#doubt(task, run, isUncertain ? 'endMissed' : 'leftBehind', endedMs);
      return;
    }
    run.note('diedRunning');
    task.lost = true;
    const { tasks, observe, listener } = this.#settled;
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

/** All runs that the process has started and not ended, of the given tasks. */
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

/** Whether it survives its process anyway, so that doubting it would spare no other run. */
function isSafe({ standing }: Run, isGone: boolean): boolean {
  return isGone && standing === 'redelivered';
}

/** Whether the run seems to have started after a `worker-offline`, or after a gap in which the process restarted. */
function mayBeSuccessors(instance: WorkerInstance, count: ActiveCount | undefined, run: Run): boolean {
  if (count === undefined) return false;
  if (instance.goodbye !== undefined && startedAfter(count, run)) return true;
  return instance.restartedAs !== undefined && run.session > count.session;
}

function isMoreExpected(task: Task): boolean {
  return find(task.runs, (run) => run.isExpected || isRefutable(task, run)) !== undefined;
}

/** Whether its end would refute a loss: such a task is kept like one that has not ended. */
function isRefutable({ over }: Task, { standing }: Run): boolean {
  return standing === 'lost' && !over;
}
