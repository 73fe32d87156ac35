/** Collects events during a test, and waits for conditions on them instead of for time. */
import { inspect } from 'node:util';
import { DEADLINE_MS } from '../deadline.ts';

/** Real time, also in tests that mock timers. */
const { setTimeout, clearTimeout } = globalThis;

/** The events, in order. */
export class Log<T> {
  readonly items: T[] = [];
  readonly #waiting = new Set<(item: T) => void>();

  add(item: T): void {
    this.items.push(item);
    for (const see of this.#waiting) see(item);
  }

  /**
   * Resolves with the first item, from number `from` on, for which the condition holds.
   * @throws with the number of events and the last one if the deadline passes before
   */
  find(condition: (item: T) => boolean, from = 0): Promise<T> {
    const known = this.items.slice(from).find(condition);
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve, reject) => {
      const see = (item: T): void => {
        if (!condition(item)) return;
        this.#waiting.delete(see);
        clearTimeout(deadline);
        resolve(item);
      };
      this.#waiting.add(see);
      const deadline = setTimeout(() => {
        this.#waiting.delete(see);
        const last = inspect(this.items.at(-1), { maxStringLength: 200 });
        reject(new Error(`it has not come; the last of ${this.items.length} events is ${last}`));
      }, DEADLINE_MS).unref();
    });
  }

  /** Resolves once there are this many events. */
  async reaches(count: number): Promise<readonly T[]> {
    if (this.items.length < count) await this.find(() => this.items.length >= count, this.items.length);
    return this.items;
  }
}
