/**
 * Takes what workers told of themselves by remote control. Bounded: the facts of a process go with it. Those of unknown workers
 * are dropped.
 */
import type { WorkerStats } from '../celery/control-reply.ts';
import { inSteps, type Steps } from './steps.ts';
import type { LifeContext } from './task-life.ts';
import { nothingTold, type Told } from './told.ts';
import type { WorkerInstance } from './worker-instance.ts';

/** Queues of one worker, and of all together. */
const QUEUES_PER_WORKER_MAX = 1000;
const QUEUES_MAX = 100_000;
const WORKERS_PER_STEP = 5;

type Context = Pick<LifeContext, 'workers' | 'queues' | 'names' | 'observe'>;

export class ToldFacts {
  readonly #context: Context;
  /** Of all processes; counted again in each round. */
  #queues = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  stats(instance: WorkerInstance, stats: WorkerStats, listenedMs: number): void {
    const told = toldBy(instance);
    const before = told.stats ?? this.#predecessor(instance, stats);
    told.stats = stats;
    told.atMs = listenedMs;
    const worker = this.#context.workers.peek(instance.nodename);
    if (worker !== undefined) worker.pool = stats.pool ?? worker.pool;
    const userS = increase(before, stats, 'cpuUserS');
    const systemS = increase(before, stats, 'cpuSystemS');
    if (userS === undefined && systemS === undefined) return;
    this.#context.observe({ kind: 'worker-cpu-used', worker: instance.nodename, userS, systemS });
  }

  /** @param queues that it consumes, all of them */
  consumes(instance: WorkerInstance, queues: readonly string[]): void {
    const told = toldBy(instance);
    const room = QUEUES_MAX - this.#queues + (told.queues?.length ?? 0);
    const admitted = queues.slice(0, Math.min(QUEUES_PER_WORKER_MAX, room));
    this.#context.queues.consumed.notAdmitted += queues.length - admitted.length;
    this.#queues += admitted.length - (told.queues?.length ?? 0);
    told.queues = admitted.map((queue) => this.#context.names.intern(queue));
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

  /** What a process told in whose place this one has started since. */
  #predecessor({ nodename }: WorkerInstance, { uptimeS }: WorkerStats): WorkerStats | undefined {
    const others = this.#context.workers.peek(nodename)?.instances ?? [];
    const last = others.findLast(({ told }) => told?.stats !== undefined)?.told?.stats;
    return isYounger(uptimeS, last?.uptimeS) ? last : undefined;
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
 * CPU time used since; undefined if not told. A process that has started since has used all of it. The first time it is 0: a
 * counter that starts with the first growth has no rate.
 */
function increase(
  before: WorkerStats | undefined,
  now: WorkerStats,
  key: 'cpuUserS' | 'cpuSystemS',
): number | undefined {
  const used = now[key];
  if (used === undefined) return undefined;
  const base = isYounger(now.uptimeS, before?.uptimeS) ? 0 : (before?.[key] ?? used);
  return Math.max(0, used - base);
}
