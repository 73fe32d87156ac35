/** Adds up, for one view, the workers that consume each queue and how busy they are. It keeps nothing after the view. */
import { safeKey, textOf } from '../../text/safe-key.ts';
import type { QueueConsumers } from '../observation.ts';

/** The sums over all workers that consume one queue. */
interface Sums {
  workers: number;
  /** How many tasks they can run at the same time; NaN if the number of one worker is unknown. */
  processes: number;
  /** How many tasks they are running. */
  busy: number;
}

export class Consumption {
  readonly #byKey: Map<string, Sums>;
  /** Whether all workers that are up have reported which queues they consume. */
  #isWhole = true;

  /** @param known the queues that have a reading, even without consumers; other queues are ignored */
  constructor(known: readonly string[]) {
    this.#byKey = new Map(known.map((queue) => [safeKey(queue), { workers: 0, processes: 0, busy: 0 }]));
  }

  /**
   * Adds a worker that is up to the queues that it consumes.
   * @param processes how many tasks it can run at the same time; NaN if unknown
   * @param busy how many tasks it is running
   */
  add(queues: readonly string[], processes: number, busy: number): void {
    for (const queue of queues) {
      const sums = this.#byKey.get(safeKey(queue));
      if (sums === undefined) continue;
      sums.workers += 1;
      sums.processes += processes;
      sums.busy += busy;
    }
  }

  /** Notes that a worker is up and has not reported which queues it consumes. */
  addUnknown(): void {
    this.#isWhole = false;
  }

  /** The consumers of each known queue, without the queues that `unsure` returns. */
  readings(): readonly QueueConsumers[] {
    const known = [...this.#byKey].filter(([, sums]) => !this.#isUnsure(sums));
    return known.map(([key, { workers, processes, busy }]) => ({
      queue: textOf(key),
      workers,
      processes: Number.isNaN(processes) ? undefined : processes,
      utilization: processes > 0 ? busy / processes : undefined,
    }));
  }

  /** The queues without a known consumer that a worker may consume which has not replied. */
  unsure(): readonly string[] {
    return [...this.#byKey].flatMap(([key, sums]) => (this.#isUnsure(sums) ? [textOf(key)] : []));
  }

  #isUnsure({ workers }: Sums): boolean {
    return workers === 0 && !this.#isWhole;
  }
}
