/**
 * A pool of reusable objects. The garbage collector copies an object that lives for a second or more twice, which would cost
 * more than all other work on an event.
 */

/** The most free objects to keep: each may keep the data of its last use in memory. */
const FREE_MAX = 2000;

export class Pool<Item> {
  readonly #free: Item[] = [];

  /** A free object, with the data of its last use; undefined if there is none. */
  take(): Item | undefined {
    return this.#free.pop();
  }

  /** Returns an object; it must not be used until it is taken again. */
  give(item: Item): void {
    if (this.#free.length < FREE_MAX) this.#free.push(item);
  }
}
