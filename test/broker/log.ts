/** Collects events during a test, and waits for conditions on them instead of for time. */

/** The events, in order. */
export class Log<T> {
  readonly items: T[] = [];
  readonly #waiting = new Set<(item: T) => void>();

  add(item: T): void {
    this.items.push(item);
    for (const see of this.#waiting) see(item);
  }

  /** Resolves with the first item, from number `from` on, for which the condition holds. */
  find(condition: (item: T) => boolean, from = 0): Promise<T> {
    const known = this.items.slice(from).find(condition);
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve) => {
      const see = (item: T): void => {
        if (!condition(item)) return;
        this.#waiting.delete(see);
        resolve(item);
      };
      this.#waiting.add(see);
    });
  }

  /** Resolves once there are this many events. */
  async reaches(count: number): Promise<readonly T[]> {
    if (this.items.length < count) await this.find(() => this.items.length >= count, this.items.length);
    return this.items;
  }
}
