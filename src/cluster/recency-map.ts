/**
 * A map that knows its least recently used entry. It has its own linked list: a Map is ordered too, but finding its first
 * entry walks over all deleted ones before it, which takes microseconds.
 */

export interface RecencyMap<Value> {
  /** The value of that key, which becomes the most recently used; undefined if there is none. */
  use(key: string): Value | undefined;
  /** The value of that key, without using it. */
  peek(key: string): Value | undefined;
  /** Adds a key that is not in the map yet, as the most recently used. */
  add(key: string, value: Value): void;
  delete(key: string): void;
  /** Removes the least recently used entry; undefined if the map is empty. */
  takeOldest(): Value | undefined;
  /** The least recently used first; the current one may be deleted during iteration. */
  values(): Iterable<Value>;
  size(): number;
}

interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
  older: Entry<Value> | undefined;
  newer: Entry<Value> | undefined;
}

export function createRecencyMap<Value>(): RecencyMap<Value> {
  const byKey = new Map<string, Entry<Value>>();
  let oldest: Entry<Value> | undefined;
  let newest: Entry<Value> | undefined;

  function unlink(entry: Entry<Value>): void {
    if (entry.older === undefined) oldest = entry.newer;
    else entry.older.newer = entry.newer;
    if (entry.newer === undefined) newest = entry.older;
    else entry.newer.older = entry.older;
  }

  function append(entry: Entry<Value>): void {
    entry.older = newest;
    entry.newer = undefined;
    if (newest === undefined) oldest = entry;
    else newest.newer = entry;
    newest = entry;
  }

  function remove(entry: Entry<Value>): void {
    unlink(entry);
    byKey.delete(entry.key);
  }

  return {
    use(key) {
      const entry = byKey.get(key);
      if (entry === undefined) return undefined;
      if (entry !== newest) {
        unlink(entry);
        append(entry);
      }
      return entry.value;
    },
    peek: (key) => byKey.get(key)?.value,
    add(key, value) {
      const entry: Entry<Value> = { key, value, older: undefined, newer: undefined };
      byKey.set(key, entry);
      append(entry);
    },
    delete(key) {
      const entry = byKey.get(key);
      if (entry !== undefined) remove(entry);
    },
    takeOldest() {
      const entry = oldest;
      if (entry !== undefined) remove(entry);
      return entry?.value;
    },
    *values() {
      for (let entry = oldest; entry !== undefined; entry = entry.newer) yield entry.value;
    },
    size: () => byKey.size,
  };
}
