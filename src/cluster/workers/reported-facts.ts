/**
 * Stores the replies of workers to remote control with their processes, and observes the CPU time that they used. Bounded: the
 * facts of a process are removed with it. It sends no commands.
 */
import type { WorkerStats } from '../../celery/control-reply.ts';
import type { Moment } from '../moment.ts';
import { inSteps, type Steps } from '../steps.ts';
import type { LifeContext } from '../tasks/task-life.ts';
import type { WorkerInstance } from './worker-instance.ts';
import { type CpuTime, nothingReported, type WorkerReport } from './worker-report.ts';

/** The most queues of one worker, and of all workers together. */
const QUEUES_PER_WORKER_MAX = 1000;
const QUEUES_MAX = 100_000;
const WORKERS_PER_STEP = 5;

/** The uncertainty of uptimes in seconds: they are whole seconds, and reported with a delay. */
const AGE_TOLERANCE_S = 10;

/** Whether a process has started since the last report, was known then, or is another one that was running before. */
type Age = 'started' | 'known' | 'other';

type Context = Pick<LifeContext, 'workers' | 'queues' | 'names' | 'observe'>;

export class ReportedFacts {
  readonly #context: Context;
  /** How many queues are stored for all processes; recounted in each `keepQueues`. */
  #queueCount = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Stores a reply to `stats`. */
  stats(instance: WorkerInstance, stats: WorkerStats, { wallMs, listenedMs }: Moment): void {
    const reported = reportedBy(instance);
    const before = reported.stats === undefined ? this.#predecessor(instance, stats) : reported;
    const age = ageOf(stats, before?.stats, wallMs - (before?.wallMs ?? 0));
    const userS = increase(reported.highestCpuS, stats, 'cpuUserS', age);
    const systemS = increase(reported.highestCpuS, stats, 'cpuSystemS', age);
    reported.stats = stats;
    reported.atMs = listenedMs;
    reported.wallMs = wallMs;
    const worker = this.#context.workers.peek(instance.nodename);
    if (worker !== undefined) worker.pool = stats.pool ?? worker.pool;
    if (userS === undefined && systemS === undefined) return;
    this.#context.observe({ kind: 'worker-cpu-used', worker: instance.nodename, userS, systemS });
  }

  /** Stores the queues of a process. @param queues all queues that it consumes */
  consumes(instance: WorkerInstance, queues: readonly string[], listenedMs: number): void {
    const reported = reportedBy(instance);
    const room = QUEUES_MAX - this.#queueCount + (reported.queues?.length ?? 0);
    const admitted = queues.slice(0, Math.min(QUEUES_PER_WORKER_MAX, room));
    this.#context.queues.consumed.notAdmitted += queues.length - admitted.length;
    this.#queueCount += admitted.length - (reported.queues?.length ?? 0);
    reported.queues = admitted.map((queue) => this.#context.names.intern(queue));
    for (const queue of reported.queues) this.#context.queues.consumed.use(queue, listenedMs);
    reported.onlyQueue = queues.length === 1 ? (reported.queues[0] ?? '') : '';
  }

  /** Keeps the queues of all workers that are up among the known queues, in steps. */
  *keepQueues(listenedMs: number): Steps {
    const { workers, queues } = this.#context;
    const up = yield* workers.up(listenedMs);
    yield* inSteps(up, WORKERS_PER_STEP, ({ reported }) => {
      for (const queue of reported?.queues ?? []) queues.consumed.use(queue, listenedMs);
    });
    this.#queueCount = up.reduce((sum, { reported }) => sum + (reported?.queues?.length ?? 0), 0);
  }

  /** The report of the process that this one seems to have replaced, since its uptime is shorter; undefined if there is none. */
  #predecessor({ nodename }: WorkerInstance, { uptimeS }: WorkerStats): WorkerReport | undefined {
    const others = this.#context.workers.peek(nodename)?.instances ?? [];
    const last = others.findLast(({ reported }) => reported?.stats !== undefined)?.reported;
    return isYounger(uptimeS, last?.stats?.uptimeS) ? last : undefined;
  }
}

/** The stored replies of the process, which are empty at first. */
function reportedBy(instance: WorkerInstance): WorkerReport {
  instance.reported ??= nothingReported();
  return instance.reported;
}

function isYounger(uptimeS: number | undefined, otherS: number | undefined): boolean {
  return uptimeS !== undefined && otherS !== undefined && uptimeS < otherS;
}

/**
 * The age of a process, compared with the previous report under its nodename: `started` if it is younger and has started since
 * then, `other` if it is so much older that another process must have sent that report, else `known`. If its clock is set back,
 * its uptime shrinks, too.
 */
function ageOf(now: WorkerStats, before: WorkerStats | undefined, elapsedMs: number): Age {
  const possibleS = elapsedMs / 1000 + AGE_TOLERANCE_S;
  if (isYounger(now.uptimeS, before?.uptimeS)) return (now.uptimeS ?? 0) <= possibleS ? 'started' : 'known';
  return (now.uptimeS ?? 0) - (before?.uptimeS ?? 0) <= possibleS ? 'known' : 'other';
}

/**
 * The CPU time that a process has used since its previous report, seconds; undefined if not reported. A process that has started
 * since then has used all of it. In the first report of a process it is 0: a counter that starts with its first growth has no
 * rate. Of two processes with one nodename and pid, the one that used more counts.
 */
function increase(
  highest: WorkerReport['highestCpuS'],
  now: WorkerStats,
  key: CpuTime,
  age: Age,
): number | undefined {
  const used = now[key];
  if (used === undefined) return undefined;
  const base = age === 'started' ? 0 : age === 'other' ? used : (highest[key] ?? used);
  highest[key] = age === 'started' ? used : Math.max(highest[key] ?? used, used);
  return Math.max(0, used - base);
}
