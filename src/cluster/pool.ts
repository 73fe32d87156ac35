/**
 * Objects that are used again instead of being thrown away. What lives for a second or more is copied twice by the
 * engine's collector before it is left alone, which would cost more than all else that is done with an event.
 */

/** Beyond it they are left to the garbage collector: each may keep in memory what it was last used for. */
const FREE_MAX = 2000;

export class Pool<Item> {
  readonly #free: Item[] = [];

  /** One that was given back, as it was left; undefined if there is none. */
  take(): Item | undefined {
    return this.#free.pop();
  }

  /** Nobody may use it any more until it is taken again. */
  give(item: Item): void {
    if (this.#free.length < FREE_MAX) this.#free.push(item);
  }
}
