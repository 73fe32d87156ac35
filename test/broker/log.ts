/** Collects what happens while a test runs, and waits for conditions on it instead of for time. */

/** Things that happened, in their order. */
export class Log<T> {
  readonly items: T[] = [];
  readonly #waiting = new Set<() => void>();

  add(item: T): void {
    this.items.push(item);
    for (const check of this.#waiting) check();
  }

  /** Resolves with the first item for which the condition holds; looks at those from `from` on. */
  find(condition: (item: T) => boolean, from = 0): Promise<T> {
    return new Promise((resolve) => {
      const check = (): void => {
        const found = this.items.slice(from).find(condition);
        if (found === undefined) return;
        this.#waiting.delete(check);
        resolve(found);
      };
      this.#waiting.add(check);
      check();
    });
  }

  /** Resolves once there are so many items. */
  async reaches(count: number): Promise<readonly T[]> {
    if (this.items.length < count) await this.find(() => this.items.length >= count);
    return this.items;
  }
}
