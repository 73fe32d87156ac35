/** Counts, by name, tasks that were sent and have left their queue though no worker was seen to take them. Bounded; it judges nothing. */
import { mapKey, textOf } from '../map-key.ts';
import type { LeftReading } from './observation.ts';

/** Names of tasks; a cluster has some hundreds. */
const NAMES_MAX = 1000;

export class LeftNames {
  readonly #counts = new Map<string, number>();

  /** @param task its name; '' if it is not known */
  note(task: string): void {
    const key = mapKey(task);
    const count = this.#counts.get(key) ?? 0;
    if (task !== '' && (count > 0 || this.#counts.size < NAMES_MAX)) this.#counts.set(key, count + 1);
  }

  /** @param seen names that workers were seen to run, as keys of `mapKey` */
  readings(seen: ReadonlySet<string>): readonly LeftReading[] {
    const unseen = [...this.#counts].filter(([key]) => !seen.has(key));
    return unseen.map(([key, count]) => ({ task: textOf(key), count }));
  }
}
