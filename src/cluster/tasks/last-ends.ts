/**
 * The time when a run of each task last ended, by outcome. It counts no ends. It forgets none either, since a task that has
 * not ended for long is the interesting one. Bounded: task names beyond the limit are left out.
 */
import { safeKey, textOf } from '../../text/safe-key.ts';
import type { EndReading, Observation, Observe, RunEnd } from '../observation.ts';

/** The most task names; a cluster has some hundreds. */
export const ENDS_MAX = 10_000;

export class LastEnds {
  /** When the last run ended, in ms of the clock of `nowMs`, by `safeKey` of the task name and by outcome. */
  readonly #ends = new Map<string, Map<RunEnd, number>>();
  /** How many ends were left out because there was no room for the name of their task. */
  notAdmitted = 0;

  /** The time of the next observation, epoch ms; the owner sets it before each. */
  nowMs = 0;

  /** A function that records each observed end, and passes all observations on to `observe`. */
  recording(observe: Observe): Observe {
    return (observation) => {
      const end = endOf(observation);
      if (end !== undefined && 'run' in observation) this.#record(observation.run.task, end);
      observe(observation);
    };
  }

  *readings(nowMs: number): Iterable<EndReading> {
    for (const [key, ends] of this.#ends) {
      const task = textOf(key);
      for (const [end, endedMs] of ends) yield { task, end, ageS: Math.max(0, nowMs - endedMs) / 1000 };
    }
  }

  #record(task: string, end: RunEnd): void {
    const key = safeKey(task);
    const ends = this.#ends.get(key);
    if (ends !== undefined) ends.set(end, this.nowMs);
    else if (this.#ends.size < ENDS_MAX) this.#ends.set(key, new Map([[end, this.nowMs]]));
    else this.notAdmitted += 1;
  }
}

function endOf(observation: Observation): RunEnd | undefined {
  switch (observation.kind) {
    case 'task-succeeded':
      return 'succeeded';
    case 'task-failed':
      return 'failed';
    case 'task-retried':
      return 'retried';
    case 'task-rejected':
      return observation.requeue ? 'requeued' : 'rejected';
    case 'task-revoked':
      return observation.revocation;
    case 'task-cancelled':
      return 'cancelled';
    case 'task-lost':
      return 'lost';
    default:
      return undefined;
  }
}
