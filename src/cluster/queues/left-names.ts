/**
 * Counts, by name, tasks that were sent and have left their queue although no worker was seen to receive them. Bounded;
 * it draws no conclusions.
 */
import { safeKey, textOf } from '../../text/safe-key.ts';
import type { LeftReading } from '../observation.ts';
import { hasPassed } from '../window/lateness.ts';

/** Names of tasks; a cluster has some hundreds. */
const NAMES_MAX = 1000;
/** A name that was not sent for this long is outdated. */
const RECENT_MS = 3_600_000;

interface Left {
  count: number;
  /** In listened time, ms. */
  lastMs: number;
}

export class LeftNames {
  readonly #byName = new Map<string, Left>();

  /** @param task its name; '' if unknown */
  note(task: string, listenedMs: number): void {
    const key = safeKey(task);
    const left = this.#byName.get(key);
    if (left !== undefined) {
      left.count += 1;
      left.lastMs = listenedMs;
    } else if (task !== '' && this.#byName.size < NAMES_MAX)
      this.#byName.set(key, { count: 1, lastMs: listenedMs });
  }

  forgetIdle(listenedMs: number): void {
    for (const [key, { lastMs }] of this.#byName)
      if (hasPassed(RECENT_MS, lastMs, listenedMs)) this.#byName.delete(key);
  }

  /** @param seen names that workers were seen to run, as keys of `safeKey` */
  readings(seen: ReadonlySet<string>): readonly LeftReading[] {
    const unseen = [...this.#byName].filter(([key]) => !seen.has(key));
    return unseen.map(([key, { count }]) => ({ task: textOf(key), count }));
  }
}
