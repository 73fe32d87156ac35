/** Aggregates for one view which workers consume each queue, and how busy they are. */
import { safeKey, textOf } from '../../text/safe-key.ts';
import type { QueueConsumers } from '../observation.ts';

interface Sums {
  workers: number;
  /** NaN if the number of one of them is unknown. */
  processes: number;
  busy: number;
}

export class Consumption {
  readonly #byKey: Map<string, Sums>;
  /** Whether all workers that are up have reported which queues they consume. */
  #isWhole = true;

  /** @param known queues that have their own reading, even without consumers */
  constructor(known: readonly string[]) {
    this.#byKey = new Map(known.map((queue) => [safeKey(queue), { workers: 0, processes: 0, busy: 0 }]));
  }

  /**
   * A worker that is up consumes these queues.
   * @param processes how many tasks it runs at the same time; NaN if unknown
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

  /** A worker that is up has not reported which queues it consumes. */
  addUnknown(): void {
    this.#isWhole = false;
  }

  /** Without the uncertain ones. */
  readings(): readonly QueueConsumers[] {
    const known = [...this.#byKey].filter(([, sums]) => !this.#isUnsure(sums));
    return known.map(([key, { workers, processes, busy }]) => ({
      queue: textOf(key),
      workers,
      processes: Number.isNaN(processes) ? undefined : processes,
      utilization: processes > 0 ? busy / processes : undefined,
    }));
  }

  /** Queues without a known consumer, although a worker without a reply may consume them. */
  unsure(): readonly string[] {
    return [...this.#byKey].flatMap(([key, sums]) => (this.#isUnsure(sums) ? [textOf(key)] : []));
  }

  #isUnsure({ workers }: Sums): boolean {
    return workers === 0 && !this.#isWhole;
  }
}
