/**
 * Stores what workers reported about themselves by remote control. Bounded: the facts of a process are removed with it;
 * those of unknown workers are dropped.
 */
import type { WorkerStats } from '../../celery/control-reply.ts';
import type { Moment } from '../moment.ts';
import { inSteps, type Steps } from '../steps.ts';
import type { LifeContext } from '../tasks/task-life.ts';
import type { WorkerInstance } from './worker-instance.ts';
import { type CpuTime, nothingReported, type WorkerReport } from './worker-report.ts';

/** Queues of one worker, and of all together. */
const QUEUES_PER_WORKER_MAX = 1000;
const QUEUES_MAX = 100_000;
const WORKERS_PER_STEP = 5;

/** The uncertainty of uptimes, which are in seconds and reported with a delay. */
const AGE_TOLERANCE_S = 10;

type Age = 'started' | 'known' | 'other';

type Context = Pick<LifeContext, 'workers' | 'queues' | 'names' | 'observe'>;

export class ReportedFacts {
  readonly #context: Context;
  /** For all processes; recounted in each round. */
  #queues = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  stats(instance: WorkerInstance, stats: WorkerStats, { wallMs, listenedMs }: Moment): void {
    const reported = reportedBy(instance);
    const before = reported.stats === undefined ? this.#predecessor(instance, stats) : reported;
    const age = ageOf(stats, before?.stats, wallMs - (before?.wallMs ?? 0));
    const userS = increase(reported.cpuMost, stats, 'cpuUserS', age);
    const systemS = increase(reported.cpuMost, stats, 'cpuSystemS', age);
    reported.stats = stats;
    reported.atMs = listenedMs;
    reported.wallMs = wallMs;
    const worker = this.#context.workers.peek(instance.nodename);
    if (worker !== undefined) worker.pool = stats.pool ?? worker.pool;
    if (userS === undefined && systemS === undefined) return;
    this.#context.observe({ kind: 'worker-cpu-used', worker: instance.nodename, userS, systemS });
  }

  /** @param queues all queues that it consumes */
  consumes(instance: WorkerInstance, queues: readonly string[], listenedMs: number): void {
    const reported = reportedBy(instance);
    const room = QUEUES_MAX - this.#queues + (reported.queues?.length ?? 0);
    const admitted = queues.slice(0, Math.min(QUEUES_PER_WORKER_MAX, room));
    this.#context.queues.consumed.notAdmitted += queues.length - admitted.length;
    this.#queues += admitted.length - (reported.queues?.length ?? 0);
    reported.queues = admitted.map((queue) => this.#context.names.intern(queue));
    for (const queue of reported.queues) this.#context.queues.consumed.use(queue, listenedMs);
    reported.onlyQueue = queues.length === 1 ? (reported.queues[0] ?? '') : '';
  }

  /** The queues of workers that are up are known. */
  *keepQueues(listenedMs: number): Steps {
    const { workers, queues } = this.#context;
    const up = yield* workers.up(listenedMs);
    yield* inSteps(up, WORKERS_PER_STEP, ({ reported }) => {
      for (const queue of reported?.queues ?? []) queues.consumed.use(queue, listenedMs);
    });
    this.#queues = up.reduce((sum, { reported }) => sum + (reported?.queues?.length ?? 0), 0);
  }

  /** The report of a process that this one may have replaced since. */
  #predecessor({ nodename }: WorkerInstance, { uptimeS }: WorkerStats): WorkerReport | undefined {
    const others = this.#context.workers.peek(nodename)?.instances ?? [];
    const last = others.findLast(({ reported }) => reported?.stats !== undefined)?.reported;
    return isYounger(uptimeS, last?.stats?.uptimeS) ? last : undefined;
  }
}

function reportedBy(instance: WorkerInstance): WorkerReport {
  instance.reported ??= nothingReported();
  return instance.reported;
}

function isYounger(uptimeS: number | undefined, otherS: number | undefined): boolean {
  return uptimeS !== undefined && otherS !== undefined && uptimeS < otherS;
}

/**
 * Whether a process has started since another one of that name and pid reported its state, or is so much older that it
 * was running before. Its own clock may be set back.
 */
function ageOf(now: WorkerStats, before: WorkerStats | undefined, elapsedMs: number): Age {
  const mostS = elapsedMs / 1000 + AGE_TOLERANCE_S;
  if (isYounger(now.uptimeS, before?.uptimeS)) return (now.uptimeS ?? 0) <= mostS ? 'started' : 'known';
  return (now.uptimeS ?? 0) - (before?.uptimeS ?? 0) <= mostS ? 'known' : 'other';
}

/**
 * CPU time used since the previous report; undefined if not reported. A process started since then has used all of it.
 * The first time it is 0: a counter that starts with its first growth has no rate. Of two processes with one name and
 * pid, the one that used more counts.
 */
function increase(
  most: WorkerReport['cpuMost'],
  now: WorkerStats,
  key: CpuTime,
  age: Age,
): number | undefined {
  const used = now[key];
  if (used === undefined) return undefined;
  const base = age === 'started' ? 0 : age === 'other' ? used : (most[key] ?? used);
  most[key] = age === 'started' ? used : Math.max(most[key] ?? used, used);
  return Math.max(0, used - base);
}
