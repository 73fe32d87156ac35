/**
 * Gives equal texts as one and the same: each message brings its own copy of every name, and a hundred thousand tasks have
 * a few hundred names. It bounds itself by starting anew, which costs nothing but memory.
 */

const NAMES_MAX = 10_000;

export class Names {
  readonly #names = new Map<string, string>();

  intern(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    if (this.#names.size >= NAMES_MAX) this.#names.clear();
    this.#names.set(name, name);
    return name;
  }
}
