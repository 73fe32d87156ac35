/**
 * Counts, by task name, the sendings that left their queue unseen: no event shows that a worker received them. Bounded. It does
 * not find out why: the worker may send no events, or the message was purged.
 */
import { safeKey, textOf } from '../../text/safe-key.ts';
import type { LeftReading } from '../observation.ts';
import { hasPassed } from '../window/lateness.ts';

/** The most task names; a cluster has some hundreds. */
const NAMES_MAX = 1000;
/** A name is forgotten if no task with it left its queue unseen for this long, ms. */
const RECENT_MS = 3_600_000;

interface LeftUnseen {
  count: number;
  /** When the last one was noticed, in listened time, ms. */
  lastMs: number;
}

export class UnseenDepartures {
  /** The counts, by `safeKey` of the task name. */
  readonly #byName = new Map<string, LeftUnseen>();

  /** Counts a task that left its queue unseen. @param task its name; '' if unknown */
  add(task: string, listenedMs: number): void {
    const key = safeKey(task);
    const known = this.#byName.get(key);
    if (known !== undefined) {
      known.count += 1;
      known.lastMs = listenedMs;
    } else if (task !== '' && this.#byName.size < NAMES_MAX)
      this.#byName.set(key, { count: 1, lastMs: listenedMs });
  }

  forgetIdle(listenedMs: number): void {
    for (const [key, { lastMs }] of this.#byName)
      if (hasPassed(RECENT_MS, lastMs, listenedMs)) this.#byName.delete(key);
  }

  /** The counts of the names. @param namesSeen `safeKey` of the names of tasks that workers were seen to run: these are left out */
  readings(namesSeen: ReadonlySet<string>): readonly LeftReading[] {
    const unseen = [...this.#byName].filter(([key]) => !namesSeen.has(key));
    return unseen.map(([key, { count }]) => ({ task: textOf(key), count }));
  }
}
