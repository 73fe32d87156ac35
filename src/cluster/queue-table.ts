/**
 * The known queues: those that a recent event named. A known queue has its gauges even when it is idle. Bounded; queues that
 * only sent tasks have named come last, and give way. It knows no tasks.
 */
import { mapKey } from '../map-key.ts';

/** Queues beyond it have no gauges while they are idle. */
const QUEUES_MAX = 2000;

interface Known {
  readonly queue: string;
  /** In listened time, ms. */
  lastUsedMs: number;
  /** A worker has reported a task of it. */
  isReported: boolean;
}

export class QueueTable {
  readonly #retentionMs: number;
  readonly #reported = new Map<string, Known>();
  readonly #sent = new Map<string, Known>();
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

  /** An event named the queue; `isReported`: a worker’s event did. */
  use(queue: string, listenedMs: number, isReported: boolean): void {
    if (this.#last?.queue !== queue || (isReported && !this.#last.isReported)) this.#find(queue, isReported);
    if (this.#last?.queue === queue) this.#last.lastUsedMs = listenedMs;
  }

  /** Those of which a worker has reported a task come first. */
  known(listenedMs: number): readonly string[] {
    const all = [...this.#reported.values(), ...this.#sent.values()];
    return all.filter((each) => this.#isKnown(each, listenedMs)).map(({ queue }) => queue);
  }

  /** Removes queues that are no longer known. */
  forgetIdle(listenedMs: number): void {
    for (const queues of [this.#reported, this.#sent]) {
      for (const [key, known] of queues) if (!this.#isKnown(known, listenedMs)) queues.delete(key);
    }
    this.#last = undefined;
  }

  #isKnown({ lastUsedMs }: Known, listenedMs: number): boolean {
    return listenedMs - lastUsedMs <= this.#retentionMs;
  }

  #find(queue: string, isReported: boolean): void {
    const key = mapKey(queue);
    const known = this.#reported.get(key) ?? this.#sent.get(key);
    if (known === undefined && !this.#hasRoom(isReported)) return;
    this.#last = known ?? { queue, lastUsedMs: 0, isReported };
    this.#last.isReported ||= isReported;
    if (this.#last.isReported) this.#sent.delete(key);
    (this.#last.isReported ? this.#reported : this.#sent).set(key, this.#last);
  }

  /** Whether there is room for another queue; a reported one takes that of the oldest other. */
  #hasRoom(isReported: boolean): boolean {
    if (this.#reported.size + this.#sent.size < QUEUES_MAX) return true;
    this.#notAdmitted += 1;
    const [oldest] = this.#sent.keys();
    return isReported && oldest !== undefined && this.#sent.delete(oldest);
  }
}
