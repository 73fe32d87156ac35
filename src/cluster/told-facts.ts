/**
 * What workers told of themselves by remote control. Bounded. Facts of unknown workers are dropped, and those of a process that
 * has ended are not used.
 */
import type { WorkerStats } from '../celery/control-reply.ts';
import { mapKey, textOf } from '../map-key.ts';
import type { Names } from './names.ts';
import type { Observe } from './observation.ts';
import type { QueueTable } from './queue-table.ts';
import type { WorkerTable } from './worker-table.ts';

/** Queues of all workers together. */
const QUEUES_MAX = 100_000;

/** What is known of one worker. */
export interface Told {
  stats: WorkerStats | undefined;
  queues: readonly string[];
}

interface ToldContext {
  readonly workers: Pick<WorkerTable, 'peek'>;
  readonly queues: Pick<QueueTable, 'consumed'>;
  readonly names: Pick<Names, 'intern'>;
  readonly observe: Observe;
}

export class ToldFacts {
  readonly #context: ToldContext;
  readonly #byKey = new Map<string, Told>();
  #queues = 0;

  constructor(context: ToldContext) {
    this.#context = context;
  }

  of(nodename: string): Told | undefined {
    return this.#byKey.get(mapKey(nodename));
  }

  stats(nodename: string, stats: WorkerStats): void {
    const told = this.#toldOf(nodename);
    if (told === undefined) return;
    // The first time it is 0: a counter that starts with the first growth has no rate.
    const before = told.stats ?? stats;
    told.stats = stats;
    const [userS, systemS] = [increase(before, stats, 'cpuUserS'), increase(before, stats, 'cpuSystemS')];
    this.#context.observe({ kind: 'worker-cpu-used', worker: nodename, userS, systemS });
  }

  /** @param queues that it consumes, all of them */
  consumes(nodename: string, queues: readonly string[], listenedMs: number): void {
    const told = this.#toldOf(nodename);
    if (told === undefined) return;
    const admitted = queues.length - told.queues.length + this.#queues <= QUEUES_MAX ? queues : [];
    if (admitted.length < queues.length) this.#context.queues.consumed.notAdmitted += 1;
    const worker = this.#context.workers.peek(nodename);
    if (worker !== undefined) worker.onlyQueue = queues.length === 1 ? (queues[0] ?? '') : '';
    this.#queues += admitted.length - told.queues.length;
    told.queues = admitted.map((queue) => this.#context.names.intern(queue));
    for (const queue of told.queues) this.#context.queues.consumed.use(queue, listenedMs);
  }

  /** Drops the facts of workers that have been forgotten. */
  forgetGone(): void {
    for (const [key, { queues }] of this.#byKey) {
      if (this.#context.workers.peek(textOf(key)) !== undefined) continue;
      this.#queues -= queues.length;
      this.#byKey.delete(key);
    }
  }

  #toldOf(nodename: string): Told | undefined {
    if (this.#context.workers.peek(nodename) === undefined) return undefined;
    const key = mapKey(nodename);
    const told = this.#byKey.get(key) ?? { stats: undefined, queues: [] };
    this.#byKey.set(key, told);
    return told;
  }
}

/** A process that took its place has used all of it since. */
function increase(before: WorkerStats, now: WorkerStats, key: 'cpuUserS' | 'cpuSystemS'): number {
  const base = before.pid === now.pid ? (before[key] ?? now[key] ?? 0) : 0;
  return Math.max(0, (now[key] ?? base) - base);
}
