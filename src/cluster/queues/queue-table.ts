/**
 * The known queues: those that a recent event named. A known queue has its gauges even when it is idle. Bounded; those
 * in which tasks have just run come first, with their own limit. It knows no tasks.
 */
import { safeKey } from '../../text/safe-key.ts';
import { Cohorts } from '../settling/cohorts.ts';
import { LeftNames } from './left-names.ts';

/** Of each kind. Queues beyond it have no gauges while they are idle. */
const QUEUES_MAX = 2000;

interface Used {
  readonly queue: string;
  /** In listened time, ms. */
  lastMs: number;
}

export class QueueTable {
  readonly #retentionMs: number;
  /** Queues of which a task has ended, or was seen running. */
  readonly worked = new UsedQueues();
  /** Queues that an event named, or in which a task waits. */
  readonly named = new UsedQueues();
  /** Queues that a worker consumes. */
  readonly consumed = new UsedQueues();
  /** Which tasks can still wait in the broker. */
  readonly cohorts = new Cohorts();
  /** Tasks that can no longer wait there. */
  readonly left = new LeftNames();

  /** @param retentionMs for how long a queue is known after its last event, in listened time */
  constructor(retentionMs: number) {
    this.#retentionMs = retentionMs;
  }

  /** How often a queue was used that had no room. */
  get notAdmitted(): number {
    return this.worked.notAdmitted + this.named.notAdmitted + this.consumed.notAdmitted;
  }

  /** Those in which tasks have just run come first, and may be repeated among the others. */
  known(listenedMs: number): readonly string[] {
    const sinceMs = listenedMs - this.#retentionMs;
    return [...this.worked.since(sinceMs), ...this.named.since(sinceMs), ...this.consumed.since(sinceMs)];
  }

  /** Queues that a worker consumes or consumed. */
  knownConsumed(listenedMs: number): readonly string[] {
    return this.consumed.since(listenedMs - this.#retentionMs);
  }

  /** Removes queues that are no longer known. */
  forgetIdle(listenedMs: number): void {
    this.worked.forgetBefore(listenedMs - this.#retentionMs);
    this.named.forgetBefore(listenedMs - this.#retentionMs);
    this.consumed.forgetBefore(listenedMs - this.#retentionMs);
    this.cohorts.forgetIdle(listenedMs - this.#retentionMs);
    this.left.forgetIdle(listenedMs);
  }
}

/** In the order of their first use, which stays the same while they are used. */
class UsedQueues {
  readonly #byKey = new Map<string, Used>();
  /** Consecutive tasks mostly belong to the same queue. */
  #last: Used | undefined;
  notAdmitted = 0;

  use(queue: string, listenedMs: number): void {
    if (this.#last?.queue !== queue) this.#last = this.#find(queue);
    if (this.#last !== undefined) this.#last.lastMs = listenedMs;
  }

  since(ms: number): readonly string[] {
    return Array.from(this.#byKey.values()).flatMap(({ queue, lastMs }) => (lastMs < ms ? [] : [queue]));
  }

  forgetBefore(ms: number): void {
    for (const [key, { lastMs }] of this.#byKey) if (lastMs < ms) this.#byKey.delete(key);
    this.#last = undefined;
  }

  #find(queue: string): Used | undefined {
    const key = safeKey(queue);
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    if (this.#byKey.size < QUEUES_MAX) this.#byKey.set(key, { queue, lastMs: 0 });
    else this.notAdmitted += 1;
    return this.#byKey.get(key);
  }
}
