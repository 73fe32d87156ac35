/**
 * When the runs of each task last ended, by outcome. It counts nothing and forgets nothing, since old ends are the
 * interesting ones. Bounded; tasks beyond the limit are left out.
 */
import { safeKey, textOf } from '../../text/safe-key.ts';
import type { EndReading, Observation, Observe, RunEnd } from '../observation.ts';

/** Names of tasks; a cluster has some hundreds. */
export const ENDS_MAX = 10_000;

export class LastEnds {
  /** By `safeKey` of the task; in ms of the clock of `nowMs`. */
  readonly #ends = new Map<string, Map<RunEnd, number>>();
  /** Ends of tasks for which there was no room. */
  notAdmitted = 0;

  /** When the current observation happened, in ms. */
  nowMs = 0;

  /** Records the observation and passes it on. */
  noting(observe: Observe): Observe {
    return (it) => {
      const end = endOf(it);
      if (end !== undefined && 'run' in it) this.#note(it.run.task, end);
      observe(it);
    };
  }

  *readings(nowMs: number): Iterable<EndReading> {
    for (const [key, ends] of this.#ends) {
      const task = textOf(key);
      for (const [end, endedMs] of ends) yield { task, end, ageS: Math.max(0, nowMs - endedMs) / 1000 };
    }
  }

  #note(task: string, end: RunEnd): void {
    const key = safeKey(task);
    const ends = this.#ends.get(key);
    if (ends !== undefined) ends.set(end, this.nowMs);
    else if (this.#ends.size < ENDS_MAX) this.#ends.set(key, new Map([[end, this.nowMs]]));
    else this.notAdmitted += 1;
  }
}

function endOf(it: Observation): RunEnd | undefined {
  switch (it.kind) {
    case 'task-succeeded':
      return 'succeeded';
    case 'task-failed':
      return 'failed';
    case 'task-retried':
      return 'retried';
    case 'task-rejected':
      return it.requeue ? 'requeued' : 'rejected';
    case 'task-revoked':
      return it.revocation;
    case 'task-cancelled':
      return 'cancelled';
    case 'task-lost':
      return 'lost';
    default:
      return undefined;
  }
}
