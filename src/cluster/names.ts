/**
 * Gives equal texts as one and the same: each message brings its own copy of every name, and a hundred thousand tasks have
 * a few hundred names. It bounds itself by starting anew, which costs nothing but memory.
 */

const NAMES_MAX = 10_000;
/** UTF-16 units of all of them: 2 MB. Those of a large cluster are a tenth of it. */
const CHARACTERS_MAX = 1_000_000;

export class Names {
  readonly #names = new Map<string, string>();
  #characters = 0;

  intern(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    if (this.#names.size >= NAMES_MAX || this.#characters + name.length > CHARACTERS_MAX) {
      this.#names.clear();
      this.#characters = 0;
    }
    this.#names.set(name, name);
    this.#characters += name.length;
    return name;
  }
}
