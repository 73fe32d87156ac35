/**
 * When the runs of each task last ended, by how they did. It counts nothing, and forgets nothing: what did not end lately is
 * just what it is asked for. Its size is bounded; tasks that come later than that are not in it.
 */
import { mapKey, textOf } from '../map-key.ts';
import type { EndReading, Observation, RunEnd } from './observation.ts';

/** Names of tasks; a cluster has some hundreds. */
export const ENDS_MAX = 10_000;

export class LastEnds {
  /** By `mapKey` of the task; in ms of the clock of `note`. */
  readonly #ends = new Map<string, Map<RunEnd, number>>();
  /** Ends of tasks for which there was no room. */
  notAdmitted = 0;

  note(it: Observation, nowMs: number): void {
    switch (it.kind) {
      case 'task-succeeded':
        return this.#end(it.run.task, 'succeeded', nowMs);
      case 'task-failed':
        return this.#end(it.run.task, 'failed', nowMs);
      case 'task-retried':
        return this.#end(it.run.task, 'retried', nowMs);
      case 'task-rejected':
        return this.#end(it.run.task, it.requeue ? 'requeued' : 'rejected', nowMs);
      case 'task-revoked':
        return this.#end(it.run.task, it.revocation, nowMs);
      case 'task-cancelled':
        return this.#end(it.run.task, 'cancelled', nowMs);
      case 'task-lost':
        return this.#end(it.run.task, 'lost', nowMs);
      default:
    }
  }

  *readings(nowMs: number): Iterable<EndReading> {
    for (const [key, ends] of this.#ends) {
      const task = textOf(key);
      for (const [end, endedMs] of ends) yield { task, end, ageS: Math.max(0, nowMs - endedMs) / 1000 };
    }
  }

  #end(task: string, end: RunEnd, nowMs: number): void {
    const key = mapKey(task);
    const ends = this.#ends.get(key);
    if (ends !== undefined) ends.set(end, nowMs);
    else if (this.#ends.size < ENDS_MAX) this.#ends.set(key, new Map([[end, nowMs]]));
    else this.notAdmitted += 1;
  }
}
