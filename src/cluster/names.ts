/**
 * Gives equal texts as one and the same: each message brings its own copy of every name, and a hundred thousand tasks have
 * a few hundred names. It bounds itself by starting anew, which costs nothing but memory.
 */

const NAMES_MAX = 10_000;

export class Names {
  readonly #charsMax: number;
  readonly #names = new Map<string, string>();

  /** @param charsMax UTF-16 units of a text that are kept at most */
  constructor(charsMax = Number.POSITIVE_INFINITY) {
    this.#charsMax = charsMax;
  }

  intern(text: string): string {
    const name = text.length <= this.#charsMax ? text : cut(text, this.#charsMax);
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    if (this.#names.size >= NAMES_MAX) this.#names.clear();
    this.#names.set(name, name);
    return name;
  }
}

/** A copy, since a part of a text keeps the memory of all of it. */
function cut(text: string, chars: number): string {
  return Buffer.from(text.slice(0, chars).toWellFormed(), 'utf16le').toString('utf16le');
}
