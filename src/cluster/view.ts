/**
 * The state of a cluster at one moment, for gauges and status pages: reads all unfinished tasks and all workers, and changes
 * nothing. It works in steps: a change between two steps is seen if its task or worker has not been read yet.
 */
import { safeKey } from '../text/safe-key.ts';
import type { ClusterAnswers } from './answers.ts';
import type { Moment } from './moment.ts';
import {
  type ClusterView,
  type EndReading,
  type ReportedReading,
  UNKNOWN,
  type WorkerReading,
} from './observation.ts';
import { Consumption } from './queues/consumption.ts';
import { QueueAges } from './queues/queue-ages.ts';
import {
  type ExpectationMoment,
  expectationOfRun,
  expectationOfSending,
} from './settling/run-expectation.ts';
import { inSteps, type Steps } from './steps.ts';
import { secondsBetween } from './tasks/clock-skew.ts';
import type { LastEnds } from './tasks/last-ends.ts';
import type { Task } from './tasks/task.ts';
import type { LifeContext } from './tasks/task-life.ts';
import type { Worker } from './workers/worker.ts';
import type { WorkerInstance } from './workers/worker-instance.ts';
import type { WorkerReport } from './workers/worker-report.ts';

/** The parts of a cluster that a view reads. */
export type Viewed = Pick<LifeContext, 'tasks' | 'workers' | 'queues'> & {
  readonly answers: ClusterAnswers;
  readonly ends: LastEnds;
};

/** How many unfinished runs a process has received, by stage. */
interface Received {
  prefetched: number;
  scheduled: number;
  running: number;
}

/** The pools, taken together, of those processes under one nodename that replied to remote control. */
interface Pool {
  /** How many tasks they can run at the same time; NaN if one process did not report the size of its pool. */
  size: number;
  /** How many of these places are taken. */
  busy: number;
  /** Whether all processes under the name that are up have reported something. */
  isWhole: boolean;
}

/** Reading a task takes a fraction of a microsecond. */
const TASKS_PER_STEP = 1000;
const WORKERS_PER_STEP = 100;
const ENDS_PER_STEP = 1000;

/** @param now called whenever the time is needed, since a large view takes a while */
export function view(viewed: Viewed, now: () => Moment): Steps<ClusterView> {
  return new Viewing(viewed, now).view();
}

class Viewing {
  readonly #viewed: Viewed;
  readonly #now: () => Moment;
  /** Listened time at the start of the view, ms: the same in all steps, so that no silence grows in between. */
  readonly #listenedMs: number;
  /** The time by which runs are judged; read again before each step. */
  #at: ExpectationMoment;
  readonly #received = new Map<WorkerInstance, Received>();
  readonly #ages: QueueAges;
  /** How many runs are running, by `safeKey` of the task name. */
  readonly #running = new Map<string, number>();
  readonly #consumption: Consumption;

  constructor(viewed: Viewed, now: () => Moment) {
    this.#viewed = viewed;
    this.#now = now;
    this.#listenedMs = now().listenedMs;
    this.#ages = new QueueAges(viewed.queues.known(this.#listenedMs));
    this.#consumption = new Consumption(viewed.queues.knownConsumed(this.#listenedMs));
    this.#at = this.#readAt();
  }

  *view(): Steps<ClusterView> {
    const { tasks, workers } = this.#viewed;
    const readings: WorkerReading[] = [];
    for (const _ of tasks.walkUnfinished(TASKS_PER_STEP, (task) => this.#readTask(task))) {
      yield;
      this.#at = this.#readAt();
    }
    yield* inSteps(workers.all(), WORKERS_PER_STEP, (worker) => readings.push(this.#workerReading(worker)));
    const queues = this.#ages.readings(this.#now().wallMs);
    const { broker, reportAgeMs } = this.#viewed.answers;
    const ends: EndReading[] = [];
    yield* inSteps(this.#viewed.ends.readings(this.#now().wallMs), ENDS_PER_STEP, (end) => ends.push(end));
    const namesSeen = new Set([...ends.map(({ task }) => safeKey(task)), ...this.#running.keys()]);
    const left = this.#viewed.queues.unseenDepartures.readings(namesSeen);
    return {
      workers: readings,
      queues,
      ends,
      running: this.#running,
      ...(left.length > 0 && { left }),
      ...(reportAgeMs && { reported: this.#reportedOfQueues(reportAgeMs()) }),
      ...(broker === undefined ? {} : { broker }),
    };
  }

  #readAt(): ExpectationMoment {
    const { session } = this.#viewed.workers;
    return { wallMs: this.#now().wallMs, session, listenedMs: this.#listenedMs };
  }

  #readTask(task: Task): void {
    const silentMs = this.#listenedMs - this.#viewed.tasks.lastEventMs(task);
    for (let run = task.runs; run !== undefined; run = run.next) {
      const expectation = expectationOfRun(run, task, silentMs, this.#at);
      if (expectation === 'running') {
        this.#receivedBy(run.instance).running += 1;
        this.#ages.running(run.identity.queue, run.plausibleSinceMs);
        const key = safeKey(run.identity.task);
        this.#running.set(key, (this.#running.get(key) ?? 0) + 1);
      } else if (expectation === 'scheduled') this.#receivedBy(run.instance).scheduled += 1;
      else if (expectation === 'waiting') {
        this.#receivedBy(run.instance).prefetched += 1;
        // It waits even if the worker has died: the task is then in the broker again.
        this.#ages.waiting(run.identity.queue, run.dueMs ?? run.plausibleSinceMs);
      }
    }
    for (let sending = task.sendings; sending !== undefined; sending = sending.next) {
      if (expectationOfSending(sending, task, silentMs, this.#at) !== 'waiting') continue;
      this.#ages.waiting(sending.queue || UNKNOWN, sending.plausibleDueMs);
    }
  }

  #receivedBy(instance: WorkerInstance): Received {
    let received = this.#received.get(instance);
    if (received === undefined) {
      received = { prefetched: 0, scheduled: 0, running: 0 };
      this.#received.set(instance, received);
    }
    return received;
  }

  #workerReading(worker: Worker): WorkerReading {
    let lastSeenMs = Number.NEGATIVE_INFINITY;
    let up: WorkerInstance | undefined;
    let reported: WorkerReport | undefined;
    let active: number | undefined;
    let hasReported = false;
    const pool = { size: 0, busy: 0, isWhole: true };
    let [prefetched, scheduled] = [0, 0];
    for (const instance of worker.instances) {
      lastSeenMs = Math.max(lastSeenMs, instance.lastSeenMs);
      hasReported ||= instance.load !== undefined;
      if (!this.#viewed.workers.isUp(worker, instance, this.#listenedMs)) continue;
      up = instance;
      reported = newestFirst(reported, instance.reported);
      if (instance.active !== undefined) active = (active ?? 0) + instance.active;
      const received = this.#received.get(instance);
      prefetched += received?.prefetched ?? 0;
      scheduled += received?.scheduled ?? 0;
      addPool(pool, instance, received?.running ?? 0);
    }
    if (up !== undefined && reported?.queues === undefined) this.#consumption.addUnknown();
    const reportedReading = reported && this.#reportedReading(reported, pool);
    return {
      worker: worker.nodename,
      up: up !== undefined,
      hasLeft: worker.instances.at(-1)?.goodbye !== undefined,
      deaf: up?.isDeaf === true,
      active: up === undefined ? 0 : active,
      prefetched,
      scheduled,
      heartbeatAgeS: secondsBetween(lastSeenMs, this.#listenedMs) ?? 0,
      load: up === undefined && hasReported ? [0, 0, 0] : up?.load,
      versions: worker.versions,
      ...(worker.pool && { pool: worker.pool }),
      ...(reportedReading && { reported: reportedReading }),
    };
  }

  #reportedOfQueues(ageMs: number): NonNullable<ClusterView['reported']> {
    const isWhole = this.#viewed.queues.consumed.notAdmitted === 0;
    const unsure = this.#consumption.unsure();
    const consumers = this.#consumption.readings();
    return { consumers, ...(unsure.length > 0 && { unsure }), isWhole, ageMs };
  }

  #reportedReading(
    { stats, atMs, queues = [] }: WorkerReport,
    { size, busy, isWhole }: Pool,
  ): ReportedReading | undefined {
    if (this.#viewed.answers.reportAgeMs === undefined) return undefined;
    this.#consumption.add(queues, size, busy);
    if (stats === undefined) return undefined;
    const utilization = isWhole && size > 0 ? busy / size : undefined;
    return { stats, ageMs: Math.max(0, this.#listenedMs - atMs), utilization };
  }
}

/**
 * Adds the pool of one process.
 * @param running its running tasks by task events. The reported `active` is used too, because a solo pool sends no heartbeats
 * while it runs a task, and because task events may be off
 */
function addPool(pool: Pool, { reported, active = 0 }: WorkerInstance, running: number): void {
  pool.isWhole &&= reported !== undefined;
  if (reported === undefined) return;
  const size = reported.stats?.processes ?? Number.NaN;
  pool.size += size;
  pool.busy += Math.min(size, Math.max(running, active));
}

/**
 * Joins two reports of processes with one nodename: the newer statistics, and the queues of both. Only the first reply to a
 * command counts, so one process may never have reported anything; and replies about queues do not identify the process that
 * consumes them.
 */
function newestFirst(
  before: WorkerReport | undefined,
  reported: WorkerReport | undefined,
): WorkerReport | undefined {
  if (before === undefined || reported === undefined) return reported ?? before;
  const [last, other] = reported.atMs >= before.atMs ? [reported, before] : [before, reported];
  const queues = [...new Set([...(last.queues ?? []), ...(other.queues ?? [])])];
  return { ...last, queues: last.queues === undefined && other.queues === undefined ? undefined : queues };
}
