/**
 * What is true at one moment: walks over all unfinished tasks and all workers once, says what is to be measured of them,
 * and notices what no event tells: runs that died with their worker, and runs that left without an end. It walks in steps,
 * and of whatever has changed since the last of them it takes what is so now.
 */
import { find } from './chain.ts';
import { secondsBetween } from './clock-skew.ts';
import { EXPECTED_MS, hasPassed } from './lateness.ts';
import type { Moment } from './moment.ts';
import { type Observe, type Survey, UNKNOWN, type WorkerReading } from './observation.ts';
import { QueueAges } from './queue-ages.ts';
import type { QueueTable } from './queue-table.ts';
import type { Run, Sending } from './run.ts';
import { largestOfSmallest } from './smallest.ts';
import { inSteps, type Steps, unchangedInSteps } from './steps.ts';
import type { Task } from './task.ts';
import type { TaskTable } from './task-table.ts';
import type { Worker } from './worker.ts';
import type { WorkerInstance } from './worker-instance.ts';
import type { WorkerTable } from './worker-table.ts';

/** What a survey looks at. */
export interface Surveyed {
  readonly tasks: TaskTable;
  readonly workers: WorkerTable;
  readonly queues: QueueTable;
  readonly observe: Observe;
}

/** What is known of an instance's runs. */
interface Load {
  /** The tasks of those that have started, each once: an object for each run would keep the garbage collector busy. */
  readonly running: Task[];
  started: number;
  prefetched: number;
  scheduled: number;
}

/** So many of the runs that began until then are none. */
interface Doubt {
  readonly runs: number;
  readonly untilMs: number;
}

const NO_DOUBT: Doubt = { runs: 0, untilMs: Number.NEGATIVE_INFINITY };

/** Each takes a fraction of a microsecond. */
const TASKS_A_STEP = 1000;
const WORKERS_A_STEP = 100;
/** Each may be measured, and one may bring others along. */
const WORDS_A_STEP = 50;
const LOADS_A_STEP = 5;
/** The runs of each may be measured. */
const RUNNING_A_STEP = 100;

/** An instance counts a task a little before or after it stamps the event. */
const STAMP_TOLERANCE_MS = 250;

/** @param now asked when the time is needed: a survey of much takes some time */
export function survey(surveyed: Surveyed, now: () => Moment): Steps<Survey> {
  return new Surveyor(surveyed, now).survey();
}

class Surveyor {
  readonly #surveyed: Surveyed;
  readonly #now: () => Moment;
  /** One for the whole survey: what is dead at its beginning is so at its end. */
  readonly #listenedMs: number;
  /** Read anew with each step. */
  #wallMs: number;
  readonly #loads = new Map<WorkerInstance, Load>();
  readonly #ages: QueueAges;

  constructor(surveyed: Surveyed, now: () => Moment) {
    this.#surveyed = surveyed;
    this.#now = now;
    const { wallMs, listenedMs } = now();
    this.#wallMs = wallMs;
    this.#listenedMs = listenedMs;
    this.#ages = new QueueAges(surveyed.queues, listenedMs);
  }

  *survey(): Steps<Survey> {
    const { tasks, workers } = this.#surveyed;
    const readings: WorkerReading[] = [];
    while (workers.release(this.#listenedMs, WORDS_A_STEP)) yield;
    yield* this.#timed(tasks.unfinished.walk(TASKS_A_STEP, (task) => this.#look(task)));
    yield* this.#settleAll();
    // Only now, so that what a worker ran is known to be lost before the worker is forgotten.
    yield* workers.settle(this.#listenedMs);
    const forgotten = yield* workers.forgetGone(this.#listenedMs);
    yield* inSteps(workers.all(), WORKERS_A_STEP, (worker) => readings.push(this.#workerReading(worker)));
    return { forgotten, workers: readings, queues: this.#ages.readings(this.#now().wallMs) };
  }

  *#timed(steps: Steps): Steps {
    while (steps.next().done !== true) {
      yield;
      this.#wallMs = this.#now().wallMs;
    }
  }

  #look(task: Task): void {
    const isSilent = hasPassed(EXPECTED_MS, this.#surveyed.tasks.lastHeardMs(task), this.#listenedMs);
    let more = !task.over && !isSilent && task.runs === undefined && task.sendings === undefined;
    for (let run = task.runs; run !== undefined; run = run.next) {
      if (this.#lookAtRun(task, run, isSilent)) more = true;
    }
    for (let sending = task.sendings; sending !== undefined; sending = sending.next) {
      if (!task.over && this.#lookAtSending(sending, isSilent)) more = true;
    }
    if (more || task.held !== undefined) return;
    if (isSilent) this.#surveyed.tasks.giveUp(task);
    else this.#surveyed.tasks.expectMore(task, false);
  }

  /**
   * Whether its end is expected.
   * @param isSilent nothing has been heard of the task for as long as a run of it is waited for
   */
  #lookAtRun(task: Task, run: Run, isSilent: boolean): boolean {
    if (!run.isExpected) return false;
    if (run.hasStarted) this.#surveyed.tasks.assign(run, run.instance.at(run.sinceMs));
    const load = this.#load(run.instance);
    if (run.hasStarted) {
      load.started += 1;
      if (load.running.at(-1) !== task) load.running.push(task);
      return true;
    }
    if (run.session < this.#surveyed.workers.session) {
      // Events may have been missed: whether it still waits is known once more is told of it.
      run.standing = 'doubted';
      return false;
    }
    if (task.over || run.standing === 'redelivered') {
      // Another worker was given it.
      run.standing = 'gone';
      return false;
    }
    if (isPast(run.expiresMs, this.#wallMs)) return false;
    // Without an ETA it waits, however wrong the worker's clock is.
    if (run.stage === 'scheduled' && run.sinceMs > this.#wallMs) {
      load.scheduled += 1;
      return true;
    }
    if (isSilent && run.instance.dropped !== undefined && this.#isLongDue(run.sinceMs)) {
      run.standing = 'doubted';
      return false;
    }
    load.prefetched += 1;
    // If the worker is no longer there, it waits in the broker again.
    this.#ages.waiting(run.identity.queue, run.askedMs ?? run.plausibleSinceMs);
    return true;
  }

  /**
   * Whether a run of it is expected.
   * @param isSilent nothing has been heard of the task for as long as a run of it is waited for
   */
  #lookAtSending(sending: Sending, isSilent: boolean): boolean {
    const { session, sentMs, etaMs = sentMs, queue } = sending;
    if (session < this.#surveyed.workers.session || isPast(sending.expiresMs, this.#wallMs)) return false;
    if (isSilent && (etaMs <= sentMs || this.#isLongDue(etaMs))) return false;
    if (etaMs <= sentMs || etaMs <= this.#wallMs) {
      const sinceMs = sending.implausibleTime ? undefined : Math.max(sentMs, etaMs);
      this.#ages.waiting(queue || UNKNOWN, sinceMs);
    }
    return true;
  }

  /** Whether a run of what is due since then, by some wall clock, is waited for no longer. */
  #isLongDue(sinceMs: number): boolean {
    return hasPassed(EXPECTED_MS, sinceMs, this.#wallMs);
  }

  *#settleAll(): Steps {
    let instances = 0;
    for (const [instance, load] of this.#loads) {
      if (load.running.length === 0) continue;
      yield* this.#settle(instance, load);
      instances += 1;
      if (instances % LOADS_A_STEP === 0) yield;
    }
  }

  /** Which of an instance's runs it does run, and what has become of the others. */
  *#settle(instance: WorkerInstance, load: Load): Steps {
    const { workers, tasks } = this.#surveyed;
    const doubt = yield* this.#doubt(instance, load);
    let doubted = 0;
    // One that was forgotten for lack of room may be alive, but its runs can no longer be followed.
    const isGone = instance.dropped === 'evicted' || workers.death(instance, this.#listenedMs) !== undefined;
    yield* eachRunning(instance, load, (run, task) => {
      if (doubted < doubt.runs && run.sinceMs <= doubt.untilMs) {
        run.standing = 'doubted';
        doubted += 1;
      } else if (isGone && task.held === undefined) this.#lose(instance, task, run);
      else this.#ages.running(run.identity.queue, run.plausibleSinceMs);
      if (!run.isExpected && !isMoreExpected(task)) tasks.expectMore(task, false);
    });
  }

  /**
   * How many of the runs that began until when are most likely none: the oldest, where the instance told of fewer tasks
   * than it had begun until then. Of `Ignore` and of lost events no end is ever told.
   */
  *#doubt(instance: WorkerInstance, load: Load): Steps<Doubt> {
    const told = instance.settledActive(this.#listenedMs);
    if (told === undefined) return NO_DOUBT;
    const untilMs = told.timestampMs - STAMP_TOLERANCE_MS;
    const begunMs = new Float64Array(load.started);
    let begun = 0;
    yield* eachRunning(instance, load, ({ sinceMs }) => {
      // Meanwhile more may have begun.
      if (sinceMs > untilMs || begun === begunMs.length) return;
      begunMs[begun] = sinceMs;
      begun += 1;
    });
    const runs = begun - told.active;
    if (runs <= 0) return NO_DOUBT;
    return { runs, untilMs: yield* largestOfSmallest(begunMs.subarray(0, begun), runs) };
  }

  #lose(instance: WorkerInstance, task: Task, run: Run): void {
    const wasRedelivered = run.standing === 'redelivered';
    // It may have ended when events were missed, and its worker be gone since then.
    const mayHaveEnded = instance.lastSession < this.#surveyed.workers.session;
    run.standing = mayHaveEnded ? 'doubted' : 'gone';
    if (wasRedelivered || mayHaveEnded || task.lost || instance.dropped === 'evicted') return;
    task.lost = true;
    run.standing = 'lost';
    this.#surveyed.observe({ kind: 'task-lost', run: run.identity });
  }

  #load(instance: WorkerInstance): Load {
    let load = this.#loads.get(instance);
    if (load === undefined) {
      load = { running: [], started: 0, prefetched: 0, scheduled: 0 };
      this.#loads.set(instance, load);
    }
    return load;
  }

  #workerReading(worker: Worker): WorkerReading {
    let lastSeenMs = Number.NEGATIVE_INFINITY;
    let up: WorkerInstance | undefined;
    let active: number | undefined;
    let hasTold = false;
    let [prefetched, scheduled] = [0, 0];
    for (const instance of worker.instances) {
      lastSeenMs = Math.max(lastSeenMs, instance.lastSeenMs);
      hasTold ||= instance.load !== undefined;
      if (!this.#surveyed.workers.isUp(worker, instance, this.#listenedMs)) continue;
      up = instance;
      if (instance.active !== undefined) active = (active ?? 0) + instance.active;
      const load = this.#loads.get(instance);
      prefetched += load?.prefetched ?? 0;
      scheduled += load?.scheduled ?? 0;
    }
    return {
      worker: worker.nodename,
      up: up !== undefined,
      active: up === undefined ? 0 : active,
      prefetched,
      scheduled,
      heartbeatAgeS: secondsBetween(lastSeenMs, this.#listenedMs) ?? 0,
      load: up === undefined && hasTold ? [0, 0, 0] : up?.load,
      versions: worker.versions,
    };
  }
}

/** All that an instance has begun and not ended, of the tasks that it was found to run. */
function eachRunning(
  instance: WorkerInstance,
  { running }: Load,
  act: (run: Run, task: Task) => void,
): Steps {
  return unchangedInSteps(running, RUNNING_A_STEP, (task) => {
    for (let run = task.runs; run !== undefined; run = run.next) {
      if (run.instance === instance && run.hasStarted && run.isExpected) act(run, task);
    }
  });
}

function isPast(timeMs: number | undefined, nowMs: number): boolean {
  return timeMs !== undefined && timeMs <= nowMs;
}

function isMoreExpected(task: Task): boolean {
  return find(task.runs, (run) => run.isExpected) !== undefined;
}
