/**
 * A map that knows its least recently used entry. It has its own linked list: a Map is ordered too, but finding its first
 * entry walks over all deleted ones before it, which takes microseconds.
 */
import { mapKey } from '../map-key.ts';

interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
  older: Entry<Value> | undefined;
  newer: Entry<Value> | undefined;
}

export class RecencyMap<Value> {
  readonly #byKey = new Map<string, Entry<Value>>();
  #oldest: Entry<Value> | undefined;
  #newest: Entry<Value> | undefined;

  get size(): number {
    return this.#byKey.size;
  }

  /** The value of that key, which becomes the most recently used; undefined if there is none. */
  use(key: string): Value | undefined {
    const entry = this.#byKey.get(mapKey(key));
    if (entry !== undefined && entry !== this.#newest) {
      this.#unlink(entry);
      this.#append(entry);
    }
    return entry?.value;
  }

  /** The value of that key, without using it. */
  peek(key: string): Value | undefined {
    return this.#byKey.get(mapKey(key))?.value;
  }

  /** Adds a key that is not in the map yet, as the most recently used. */
  add(key: string, value: Value): void {
    const entry: Entry<Value> = { key, value, older: undefined, newer: undefined };
    this.#byKey.set(mapKey(key), entry);
    this.#append(entry);
  }

  delete(key: string): void {
    const entry = this.#byKey.get(mapKey(key));
    if (entry !== undefined) this.#unlink(entry);
    this.#byKey.delete(mapKey(key));
  }

  /** Removes the least recently used entry; undefined if the map is empty. */
  takeOldest(): Value | undefined {
    const oldest = this.#oldest;
    if (oldest !== undefined) this.delete(oldest.key);
    return oldest?.value;
  }

  /** The least recently used first; the current one may be deleted during iteration. */
  *values(): Iterable<Value> {
    for (let entry = this.#oldest; entry !== undefined; entry = entry.newer) yield entry.value;
  }

  #unlink(entry: Entry<Value>): void {
    if (entry.older === undefined) this.#oldest = entry.newer;
    else entry.older.newer = entry.newer;
    if (entry.newer === undefined) this.#newest = entry.older;
    else entry.newer.older = entry.older;
  }

  #append(entry: Entry<Value>): void {
    entry.older = this.#newest;
    entry.newer = undefined;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }
}
