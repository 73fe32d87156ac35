/**
 * How old the oldest task of each queue is, of those that wait and of those that run: gathered by one survey, which also
 * keeps these queues known. Bounded; it decides of no task whether it waits.
 */
import { secondsBetween } from './clock-skew.ts';
import type { QueueReading } from './observation.ts';
import type { QueueTable } from './queue-table.ts';

/** Queues with ages of their own, of each kind; all others have one together, under the name `other`. */
const NAMED_MAX = 10_000;
const OTHERS = 'other';

export class QueueAges {
  readonly #queues: QueueTable;
  readonly #listenedMs: number;
  readonly #waitingMs = new Map<string, number>();
  readonly #runningMs = new Map<string, number>();

  constructor(queues: QueueTable, listenedMs: number) {
    this.#queues = queues;
    this.#listenedMs = listenedMs;
  }

  /** A task of the queue waits since then, epoch ms; undefined where nobody can say since when. */
  waiting(queue: string, sinceMs: number | undefined): void {
    this.#note(this.#waitingMs, queue, sinceMs);
  }

  /** Likewise, of one that runs. */
  running(queue: string, sinceMs: number | undefined): void {
    this.#note(this.#runningMs, queue, sinceMs);
  }

  /** Of all queues that are known. */
  readings(wallMs: number): readonly QueueReading[] {
    const queues = new Set([
      ...this.#queues.known(this.#listenedMs),
      ...this.#waitingMs.keys(),
      ...this.#runningMs.keys(),
    ]);
    const age = (sinceMs: number | undefined): number => secondsBetween(sinceMs, wallMs) ?? 0;
    return Array.from(queues, (queue) => ({
      queue,
      waitingAgeS: age(this.#waitingMs.get(queue)),
      runningAgeS: age(this.#runningMs.get(queue)),
    }));
  }

  #note(oldest: Map<string, number>, queue: string, sinceMs: number | undefined): void {
    this.#queues.use(queue, this.#listenedMs);
    if (sinceMs === undefined) return;
    const name = oldest.size < NAMED_MAX || oldest.has(queue) ? queue : OTHERS;
    const known = oldest.get(name);
    if (known === undefined || sinceMs < known) oldest.set(name, sinceMs);
  }
}
