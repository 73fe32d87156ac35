/**
 * A pool of reusable objects. The garbage collector copies each new object that lives for a second or more twice, which would
 * cost more than all other work on an event. It clears no object that it gets back.
 */

/** The default bound on free objects, which keep the data of their last use in memory. */
const FREE_MAX = 2000;

export class Pool<Item> {
  readonly #free: Item[] = [];
  readonly #max: number;

  /** @param max the most free objects to keep */
  constructor(max = FREE_MAX) {
    this.#max = max;
  }

  /** A free object, with the data of its last use; undefined if there is none. */
  take(): Item | undefined {
    return this.#free.pop();
  }

  /** Returns an object; it must not be used until it is taken again. */
  give(item: Item): void {
    if (this.#free.length < this.#max) this.#free.push(item);
  }
}
