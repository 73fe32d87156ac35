/**
 * The known queues: those that a recent event named. A known queue has its gauges even when it is idle. Bounded; it knows no
 * tasks.
 */
import { mapKey } from '../map-key.ts';

/** Queues beyond it have no gauges while they are idle. */
const QUEUES_MAX = 2000;

interface Known {
  readonly queue: string;
  /** In listened time, ms. */
  lastUsedMs: number;
}

export class QueueTable {
  readonly #retentionMs: number;
  readonly #byName = new Map<string, Known>();
  /** Most tasks in a row are of one queue. */
  #last: Known | undefined;
  #notAdmitted = 0;

  /** @param retentionMs for how long a queue is known after its last event, in listened time */
  constructor(retentionMs: number) {
    this.#retentionMs = retentionMs;
  }

  /** How often a queue was used for which there was no room. */
  get notAdmitted(): number {
    return this.#notAdmitted;
  }

  /** An event named the queue. */
  use(queue: string, listenedMs: number): void {
    if (this.#last?.queue === queue) this.#last.lastUsedMs = listenedMs;
    else this.#find(queue, listenedMs);
  }

  known(listenedMs: number): readonly string[] {
    const known = [...this.#byName.values()].filter((each) => this.#isKnown(each, listenedMs));
    return known.map(({ queue }) => queue);
  }

  /** Removes queues that are no longer known. */
  forgetIdle(listenedMs: number): void {
    for (const [key, known] of this.#byName) {
      if (!this.#isKnown(known, listenedMs)) this.#byName.delete(key);
    }
    this.#last = undefined;
  }

  #isKnown({ lastUsedMs }: Known, listenedMs: number): boolean {
    return listenedMs - lastUsedMs <= this.#retentionMs;
  }

  #find(queue: string, listenedMs: number): void {
    const known = this.#byName.get(mapKey(queue));
    if (known === undefined && this.#byName.size >= QUEUES_MAX) {
      this.#notAdmitted += 1;
      return;
    }
    this.#last = known ?? { queue, lastUsedMs: listenedMs };
    this.#last.lastUsedMs = listenedMs;
    this.#byName.set(mapKey(queue), this.#last);
  }
}
