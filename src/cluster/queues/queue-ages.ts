/**
 * Collects, for one view, the age of the oldest waiting and the oldest running task of each queue. Bounded; it does not
 * decide whether a task waits.
 */
import { safeKey, textOf } from '../../text/safe-key.ts';
import type { QueueReading } from '../observation.ts';
import { secondsBetween } from '../tasks/clock-skew.ts';

/** The most queues with a waiting task, and with a running one, besides known queues; all others share the name `other`. */
const NAMED_MAX = 10_000;
const OTHERS = 'other';

export class QueueAges {
  readonly #known: ReadonlySet<string>;
  /** Since when the oldest task of each queue has been waiting, and running, epoch ms; by `safeKey` of the queue. */
  readonly #waitingMs = new Map<string, number>();
  readonly #runningMs = new Map<string, number>();

  /** @param known the queues that have a reading even if nothing waits or runs */
  constructor(known: readonly string[]) {
    this.#known = new Set(known.map(safeKey));
  }

  /** Adds a waiting task of the queue. @param sinceMs when it began to wait, epoch ms; undefined if unknown */
  waiting(queue: string, sinceMs: number | undefined): void {
    this.#keepOldest(this.#waitingMs, queue, sinceMs);
  }

  /** Adds a running task of the queue. @param sinceMs when it started, epoch ms; undefined if unknown */
  running(queue: string, sinceMs: number | undefined): void {
    this.#keepOldest(this.#runningMs, queue, sinceMs);
  }

  /** @param wallMs the current time, epoch ms */
  readings(wallMs: number): readonly QueueReading[] {
    const queues = new Set([...this.#known, ...this.#waitingMs.keys(), ...this.#runningMs.keys()]);
    const age = (sinceMs: number | undefined): number => secondsBetween(sinceMs, wallMs) ?? 0;
    return Array.from(queues, (key) => ({
      queue: textOf(key),
      waitingAgeS: age(this.#waitingMs.get(key)),
      runningAgeS: age(this.#runningMs.get(key)),
    }));
  }

  #keepOldest(oldest: Map<string, number>, queue: string, sinceMs: number | undefined): void {
    if (sinceMs === undefined) return;
    const key = safeKey(queue);
    const name = oldest.size < NAMED_MAX || oldest.has(key) || this.#known.has(key) ? key : OTHERS;
    const since = oldest.get(name);
    if (since === undefined || sinceMs < since) oldest.set(name, sinceMs);
  }
}
