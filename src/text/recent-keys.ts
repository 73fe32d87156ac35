/**
 * A map that forgets what was not set for long, in two generations: when the young one is full, the old one is forgotten. So
 * it remembers at least the `atLeast` keys that were set last, and at most twice as many. Its keys must be bounded in length. Pure.
 */
export class RecentKeys<Value> {
  readonly #atLeast: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();

  constructor(atLeast: number) {
    this.#atLeast = atLeast;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(key: string): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  set(key: string, value: Value): void {
    this.#old.delete(key);
    this.#young.set(key, value);
    if (this.#young.size < this.#atLeast) return;
    this.#old = this.#young;
    this.#young = new Map();
  }
}
