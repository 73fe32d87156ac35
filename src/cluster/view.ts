/**
 * The state of a cluster at one moment, for gauges and status pages: reads all unfinished tasks and all workers, and changes
 * nothing. It works in steps; what changes between them is read as it is when its turn comes.
 */
import type { Answers } from './answers.ts';
import { secondsBetween } from './clock-skew.ts';
import type { Moment } from './moment.ts';
import { type ClusterView, UNKNOWN, type WorkerReading } from './observation.ts';
import { type OutlookMoment, runOutlook, sendingOutlook } from './outlook.ts';
import { QueueAges } from './queue-ages.ts';
import { inSteps, type Steps } from './steps.ts';
import type { Task } from './task.ts';
import type { LifeContext } from './task-life.ts';
import type { Worker } from './worker.ts';
import type { WorkerInstance } from './worker-instance.ts';

/** What a view reads. */
export type Viewed = Pick<LifeContext, 'tasks' | 'workers' | 'queues'> & Pick<Answers, 'broker'>;

/** Runs that a process has received and not started. */
interface Waiting {
  prefetched: number;
  scheduled: number;
}

/** Each task takes a fraction of a microsecond. */
const TASKS_PER_STEP = 1000;
const WORKERS_PER_STEP = 100;

/** @param now read whenever the time is needed: a large view takes a while */
export function view(viewed: Viewed, now: () => Moment): Steps<ClusterView> {
  return new Viewing(viewed, now).view();
}

class Viewing {
  readonly #viewed: Viewed;
  readonly #now: () => Moment;
  /** The same for the whole view, so that silence does not change during it. */
  readonly #listenedMs: number;
  /** Refreshed with each step. */
  #at: OutlookMoment;
  readonly #waiting = new Map<WorkerInstance, Waiting>();
  readonly #ages: QueueAges;

  constructor(viewed: Viewed, now: () => Moment) {
    this.#viewed = viewed;
    this.#now = now;
    this.#listenedMs = now().listenedMs;
    this.#ages = new QueueAges(viewed.queues.known(this.#listenedMs));
    this.#at = this.#readAt();
  }

  *view(): Steps<ClusterView> {
    const { tasks, workers } = this.#viewed;
    const readings: WorkerReading[] = [];
    for (const _ of tasks.walkUnfinished(TASKS_PER_STEP, (task) => this.#look(task))) {
      yield;
      this.#at = this.#readAt();
    }
    yield* inSteps(workers.all(), WORKERS_PER_STEP, (worker) => readings.push(this.#workerReading(worker)));
    const queues = this.#ages.readings(this.#now().wallMs);
    const broker = this.#viewed.broker();
    return { workers: readings, queues, ...(broker === undefined ? {} : { broker }) };
  }

  #readAt(): OutlookMoment {
    return { wallMs: this.#now().wallMs, session: this.#viewed.workers.session };
  }

  #look(task: Task): void {
    const silentMs = this.#listenedMs - this.#viewed.tasks.lastEventMs(task);
    for (let run = task.runs; run !== undefined; run = run.next) {
      const outlook = runOutlook(run, task, silentMs, this.#at);
      if (outlook === 'running') this.#ages.running(run.identity.queue, run.plausibleSinceMs);
      else if (outlook === 'scheduled') this.#waitingOf(run.instance).scheduled += 1;
      else if (outlook === 'waiting') {
        this.#waitingOf(run.instance).prefetched += 1;
        // If the worker is gone, the task waits in the broker again.
        this.#ages.waiting(run.identity.queue, run.dueMs ?? run.plausibleSinceMs);
      }
    }
    for (let sending = task.sendings; sending !== undefined; sending = sending.next) {
      if (sendingOutlook(sending, task, silentMs, this.#at) !== 'waiting') continue;
      this.#ages.waiting(sending.queue || UNKNOWN, sending.plausibleDueMs);
    }
  }

  #waitingOf(instance: WorkerInstance): Waiting {
    let waiting = this.#waiting.get(instance);
    if (waiting === undefined) {
      waiting = { prefetched: 0, scheduled: 0 };
      this.#waiting.set(instance, waiting);
    }
    return waiting;
  }

  #workerReading(worker: Worker): WorkerReading {
    let lastSeenMs = Number.NEGATIVE_INFINITY;
    let up: WorkerInstance | undefined;
    let active: number | undefined;
    let hasReported = false;
    let [prefetched, scheduled] = [0, 0];
    for (const instance of worker.instances) {
      lastSeenMs = Math.max(lastSeenMs, instance.lastSeenMs);
      hasReported ||= instance.load !== undefined;
      if (!this.#viewed.workers.isUp(worker, instance, this.#listenedMs)) continue;
      up = instance;
      if (instance.active !== undefined) active = (active ?? 0) + instance.active;
      const waiting = this.#waiting.get(instance);
      prefetched += waiting?.prefetched ?? 0;
      scheduled += waiting?.scheduled ?? 0;
    }
    return {
      worker: worker.nodename,
      up: up !== undefined,
      active: up === undefined ? 0 : active,
      prefetched,
      scheduled,
      heartbeatAgeS: secondsBetween(lastSeenMs, this.#listenedMs) ?? 0,
      load: up === undefined && hasReported ? [0, 0, 0] : up?.load,
      versions: worker.versions,
    };
  }
}
