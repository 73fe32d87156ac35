/**
 * Objects that are used again instead of being thrown away. What lives for a second or more is copied twice by the
 * engine's collector before it is left alone, which would cost more than all else that is done with an event.
 */

export class Pool<Item> {
  readonly #max: number;
  readonly #free: Item[] = [];

  /** @param max kept at most; the others are thrown away after all */
  constructor(max = Number.POSITIVE_INFINITY) {
    this.#max = max;
  }

  /** One that was given back, as it was left; undefined if there is none. */
  take(): Item | undefined {
    return this.#free.pop();
  }

  /** Nobody may use it any more until it is taken again. */
  give(item: Item): void {
    if (this.#free.length < this.#max) this.#free.push(item);
  }
}
