/**
 * Takes what workers reported about themselves by remote control. Bounded: the facts of a process go with it. Those of unknown workers
 * are dropped.
 */
import type { WorkerStats } from '../../celery/control-reply.ts';
import type { Moment } from '../moment.ts';
import { inSteps, type Steps } from '../steps.ts';
import type { LifeContext } from '../tasks/task-life.ts';
import { type CpuTime, nothingTold, type Told } from './reported.ts';
import type { WorkerInstance } from './worker-instance.ts';

/** Queues of one worker, and of all together. */
const QUEUES_PER_WORKER_MAX = 1000;
const QUEUES_MAX = 100_000;
const WORKERS_PER_STEP = 5;

/** Of uptimes, which are in seconds, and of the time in which a worker replies. */
const AGE_TOLERANCE_S = 10;

type Age = 'started' | 'known' | 'other';

type Context = Pick<LifeContext, 'workers' | 'queues' | 'names' | 'observe'>;

export class ToldFacts {
  readonly #context: Context;
  /** Of all processes; counted again in each round. */
  #queues = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  stats(instance: WorkerInstance, stats: WorkerStats, { wallMs, listenedMs }: Moment): void {
    const told = toldBy(instance);
    const before = told.stats === undefined ? this.#predecessor(instance, stats) : told;
    const age = ageOf(stats, before?.stats, wallMs - (before?.wallMs ?? 0));
    const userS = increase(told.cpuMost, stats, 'cpuUserS', age);
    const systemS = increase(told.cpuMost, stats, 'cpuSystemS', age);
    told.stats = stats;
    told.atMs = listenedMs;
    told.wallMs = wallMs;
    const worker = this.#context.workers.peek(instance.nodename);
    if (worker !== undefined) worker.pool = stats.pool ?? worker.pool;
    if (userS === undefined && systemS === undefined) return;
    this.#context.observe({ kind: 'worker-cpu-used', worker: instance.nodename, userS, systemS });
  }

  /** @param queues that it consumes, all of them */
  consumes(instance: WorkerInstance, queues: readonly string[], listenedMs: number): void {
    const told = toldBy(instance);
    const room = QUEUES_MAX - this.#queues + (told.queues?.length ?? 0);
    const admitted = queues.slice(0, Math.min(QUEUES_PER_WORKER_MAX, room));
    this.#context.queues.consumed.notAdmitted += queues.length - admitted.length;
    this.#queues += admitted.length - (told.queues?.length ?? 0);
    told.queues = admitted.map((queue) => this.#context.names.intern(queue));
    for (const queue of told.queues) this.#context.queues.consumed.use(queue, listenedMs);
    told.onlyQueue = queues.length === 1 ? (told.queues[0] ?? '') : '';
  }

  /** The queues of workers that are up are known. */
  *keepQueues(listenedMs: number): Steps {
    const { workers, queues } = this.#context;
    const up = yield* workers.up(listenedMs);
    yield* inSteps(up, WORKERS_PER_STEP, ({ told }) => {
      for (const queue of told?.queues ?? []) queues.consumed.use(queue, listenedMs);
    });
    this.#queues = up.reduce((sum, { told }) => sum + (told?.queues?.length ?? 0), 0);
  }

  /** What a process reported, in whose place this one may have started since. */
  #predecessor({ nodename }: WorkerInstance, { uptimeS }: WorkerStats): Told | undefined {
    const others = this.#context.workers.peek(nodename)?.instances ?? [];
    const last = others.findLast(({ told }) => told?.stats !== undefined)?.told;
    return isYounger(uptimeS, last?.stats?.uptimeS) ? last : undefined;
  }
}

function toldBy(instance: WorkerInstance): Told {
  instance.told ??= nothingTold();
  return instance.told;
}

function isYounger(uptimeS: number | undefined, otherS: number | undefined): boolean {
  return uptimeS !== undefined && otherS !== undefined && uptimeS < otherS;
}

/**
 * Whether a process has started since another one of that name and pid reported its state, or is so much older that it was there
 * before. Its own clock may be set back.
 */
function ageOf(now: WorkerStats, before: WorkerStats | undefined, elapsedMs: number): Age {
  const mostS = elapsedMs / 1000 + AGE_TOLERANCE_S;
  if (isYounger(now.uptimeS, before?.uptimeS)) return (now.uptimeS ?? 0) <= mostS ? 'started' : 'known';
  return (now.uptimeS ?? 0) - (before?.uptimeS ?? 0) <= mostS ? 'known' : 'other';
}

/**
 * CPU time used since; undefined if not reported. A process that has started since has used all of it. The first time it is 0: a
 * counter that starts with the first growth has no rate. Of two with one name and pid, the one that used more counts.
 */
function increase(most: Told['cpuMost'], now: WorkerStats, key: CpuTime, age: Age): number | undefined {
  const used = now[key];
  if (used === undefined) return undefined;
  const base = age === 'started' ? 0 : age === 'other' ? used : (most[key] ?? used);
  most[key] = age === 'started' ? used : Math.max(most[key] ?? used, used);
  return Math.max(0, used - base);
}
