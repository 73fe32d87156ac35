/**
 * The age of the oldest task of each queue, of those that wait and of those that run, as one view gathers it. Bounded; it
 * does not decide whether a task waits, and it changes nothing.
 */
import { secondsBetween } from './clock-skew.ts';
import type { QueueReading } from './observation.ts';

/** Queues with ages of their own, of each kind; all others have one together, under the name `other`. */
const NAMED_MAX = 10_000;
const OTHERS = 'other';

export class QueueAges {
  readonly #waitingMs = new Map<string, number>();
  readonly #runningMs = new Map<string, number>();

  /** A task of the queue waits since then, epoch ms; undefined where nobody can say since when. */
  waiting(queue: string, sinceMs: number | undefined): void {
    note(this.#waitingMs, queue, sinceMs);
  }

  /** Likewise, of one that runs. */
  running(queue: string, sinceMs: number | undefined): void {
    note(this.#runningMs, queue, sinceMs);
  }

  /**
   * At that time, epoch ms.
   * @param known these queues have a reading also where nothing waits or runs
   */
  readings(known: readonly string[], wallMs: number): readonly QueueReading[] {
    const queues = new Set([...known, ...this.#waitingMs.keys(), ...this.#runningMs.keys()]);
    const age = (sinceMs: number | undefined): number => secondsBetween(sinceMs, wallMs) ?? 0;
    return Array.from(queues, (queue) => ({
      queue,
      waitingAgeS: age(this.#waitingMs.get(queue)),
      runningAgeS: age(this.#runningMs.get(queue)),
    }));
  }
}

function note(oldest: Map<string, number>, queue: string, sinceMs: number | undefined): void {
  if (sinceMs === undefined) return;
  const name = oldest.size < NAMED_MAX || oldest.has(queue) ? queue : OTHERS;
  const since = oldest.get(name);
  if (since === undefined || sinceMs < since) oldest.set(name, sinceMs);
}
