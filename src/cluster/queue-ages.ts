/**
 * Collects, for one view, the age of the oldest waiting and the oldest running task of each queue. Bounded; it does not
 * decide whether a task waits.
 */
import { mapKey, textOf } from '../map-key.ts';
import { secondsBetween } from './clock-skew.ts';
import type { QueueReading } from './observation.ts';

/** The most queues by name, waiting and running each; all others share the name `other`. */
const NAMED_MAX = 10_000;
const OTHERS = 'other';

export class QueueAges {
  readonly #waitingMs = new Map<string, number>();
  readonly #runningMs = new Map<string, number>();

  /** @param sinceMs when a task of the queue began to wait, epoch ms; undefined if not known */
  waiting(queue: string, sinceMs: number | undefined): void {
    note(this.#waitingMs, queue, sinceMs);
  }

  /** The same for a running task. */
  running(queue: string, sinceMs: number | undefined): void {
    note(this.#runningMs, queue, sinceMs);
  }

  /**
   * @param known queues that have a reading even if nothing waits or runs
   * @param wallMs the current time, epoch ms
   */
  readings(known: readonly string[], wallMs: number): readonly QueueReading[] {
    const queues = new Set([...known.map(mapKey), ...this.#waitingMs.keys(), ...this.#runningMs.keys()]);
    const age = (sinceMs: number | undefined): number => secondsBetween(sinceMs, wallMs) ?? 0;
    return Array.from(queues, (key) => ({
      queue: textOf(key),
      waitingAgeS: age(this.#waitingMs.get(key)),
      runningAgeS: age(this.#runningMs.get(key)),
    }));
  }
}

function note(oldest: Map<string, number>, queue: string, sinceMs: number | undefined): void {
  if (sinceMs === undefined) return;
  const name = oldest.size < NAMED_MAX || oldest.has(mapKey(queue)) ? mapKey(queue) : OTHERS;
  const since = oldest.get(name);
  if (since === undefined || sinceMs < since) oldest.set(name, sinceMs);
}
