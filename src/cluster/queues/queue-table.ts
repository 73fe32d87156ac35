/**
 * The known queues: those that a recent event named, or that a worker consumes. A known queue has its gauges even when it is
 * idle. Bounded. Queues in which tasks have just run come first, and have their own limit. It reads no tasks.
 */
import { safeKey } from '../../text/safe-key.ts';
import { Cohorts } from '../settling/cohorts.ts';
import { UnseenDepartures } from './unseen-departures.ts';

/** The most queues of each kind: worked, named, consumed. Queues beyond it have no gauges while they are idle. */
const QUEUES_MAX = 2000;

interface Used {
  readonly queue: string;
  /** When the queue was last used, in listened time, ms. */
  lastMs: number;
}

export class QueueTable {
  readonly #retentionMs: number;
  /** The queues in which a task has ended, or was seen running. */
  readonly worked = new UsedQueues();
  /** The queues that an event named, or in which a task waits. */
  readonly named = new UsedQueues();
  /** The queues that a worker reported to consume. */
  readonly consumed = new UsedQueues();
  /** Groups of sent tasks, of which polls show whether they can still wait in the broker. */
  readonly cohorts = new Cohorts();
  /** The names of tasks that can no longer wait in the broker, and were not seen to be received. */
  readonly unseenDepartures = new UnseenDepartures();

  /** @param retentionMs for how long a queue is known after its last event, in listened time */
  constructor(retentionMs: number) {
    this.#retentionMs = retentionMs;
  }

  /** How often a queue was used for which there was no room. */
  get notAdmitted(): number {
    return this.worked.notAdmitted + this.named.notAdmitted + this.consumed.notAdmitted;
  }

  /** All known queues. Those in which tasks have just run come first, and may occur again among the others. */
  known(listenedMs: number): readonly string[] {
    const sinceMs = listenedMs - this.#retentionMs;
    return [...this.worked.since(sinceMs), ...this.named.since(sinceMs), ...this.consumed.since(sinceMs)];
  }

  /** The queues that a worker consumes, or consumed within the retention time. */
  knownConsumed(listenedMs: number): readonly string[] {
    return this.consumed.since(listenedMs - this.#retentionMs);
  }

  /** Removes queues that are no longer known. */
  forgetIdle(listenedMs: number): void {
    this.worked.forgetBefore(listenedMs - this.#retentionMs);
    this.named.forgetBefore(listenedMs - this.#retentionMs);
    this.consumed.forgetBefore(listenedMs - this.#retentionMs);
    this.cohorts.forgetIdle(listenedMs - this.#retentionMs);
    this.unseenDepartures.forgetIdle(listenedMs);
  }
}

/** Queues by the time of their last use, in the order of their first use. */
class UsedQueues {
  readonly #byKey = new Map<string, Used>();
  /** The queue that was used last: consecutive tasks mostly belong to the same one. */
  #last: Used | undefined;
  notAdmitted = 0;

  /** Notes that the queue is used now. */
  use(queue: string, listenedMs: number): void {
    if (this.#last?.queue !== queue) this.#last = this.#find(queue);
    if (this.#last !== undefined) this.#last.lastMs = listenedMs;
  }

  /** The queues used since a moment, in listened time, ms. */
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
