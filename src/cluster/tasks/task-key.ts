/**
 * The id of a task as numbers: a uuid has 128 bits. As a text, each id would be one more object for the garbage collector, and
 * one more read of memory that is not in the CPU cache. Ids that are no uuids are kept as texts. It finds no task.
 */

/** The number of words in a key, of 32 bits each. */
export const WORDS = 4;
const UUID_CHARS = 36;
/** The value of each hexadecimal digit, by its character code; -1 for all other characters. */
const DIGITS = new Int8Array(128).fill(-1);
for (let value = 0; value < 16; value += 1) DIGITS[value.toString(16).charCodeAt(0)] = value;
const DASH = 0x2d;
/** The positions in a uuid where groups of four digits begin. */
const GROUPS_AT = [0, 4, 9, 14, 19, 24, 28, 32];

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** The FNV-1a hash of the UTF-16 units of a text. @param seed a secret, if senders could slow a table down by equal hashes */
export function hashOf(text: string, seed = FNV_OFFSET): number {
  let hash = seed;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  return hash;
}

export class TaskKey {
  /** The bits of a uuid in their order; for any other id, its hash and its length. */
  readonly words = new Uint32Array(WORDS);
  /** The id, if it is not a uuid as Celery writes it; '' for a uuid. */
  text = '';
  /** The hash of the words, a number from 0 to 2^32 - 1. */
  hash = 0;
  readonly #seed: number;
  /** A multiplier for each half of a word; with halves, no product needs 64 bits. */
  readonly #multipliers = new Int32Array(2 * WORDS);

  /** @param seed 32 bits that senders do not know: with ids of equal hashes they could make the index slow */
  constructor(seed = FNV_OFFSET) {
    this.#seed = seed;
    // The finalizer of MurmurHash3, over steps of the golden ratio: each bit of the seed changes all multipliers.
    for (let half = 0; half < this.#multipliers.length; half += 1) {
      let mixed = (seed + Math.imul(half + 1, 0x9e3779b9)) | 0;
      mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
      mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
      this.#multipliers[half] = mixed ^ (mixed >>> 16);
    }
  }

  /** Makes this object the key of the id. @returns this object */
  of(id: string): this {
    this.text = '';
    if (!this.#readUuid(id)) {
      this.text = id;
      this.words.fill(0);
      this.words[0] = hashOf(id, this.#seed);
      this.words[1] = id.length;
    }
    this.hash = this.hashOf(this.words, 0);
    return this;
  }

  /**
   * The hash of the four words from this index on: a sum of products (multilinear hashing). Use its high bits, which are the
   * most random: the 17 high bits of two ids chosen without the seed are equal with a probability of 1 in 131,072.
   */
  hashOf(words: Uint32Array, from: number): number {
    const multipliers = this.#multipliers;
    let sum = 0;
    for (let at = 0; at < WORDS; at += 1) {
      const word = words[from + at] ?? 0;
      sum = (sum + Math.imul(word & 0xffff, multipliers[2 * at] ?? 0)) | 0;
      sum = (sum + Math.imul(word >>> 16, multipliers[2 * at + 1] ?? 0)) | 0;
    }
    return sum >>> 0;
  }

  /** Reads the words of a uuid. @returns whether the id is a uuid in the usual form */
  #readUuid(id: string): boolean {
    if (id.length !== UUID_CHARS) return false;
    if (id.charCodeAt(8) !== DASH || id.charCodeAt(13) !== DASH) return false;
    if (id.charCodeAt(18) !== DASH || id.charCodeAt(23) !== DASH) return false;
    let digits = 0;
    for (let word = 0; word < WORDS; word += 1) {
      const high = fourDigits(id, GROUPS_AT[2 * word] ?? 0);
      const low = fourDigits(id, GROUPS_AT[2 * word + 1] ?? 0);
      digits |= high | low;
      this.words[word] = (high << 16) | low;
    }
    return digits >= 0;
  }
}

/** The value of four hexadecimal digits; below 0 if one of the characters is no such digit. */
function fourDigits(text: string, from: number): number {
  const digit = (at: number): number => DIGITS[text.charCodeAt(from + at)] ?? -1;
  return (digit(0) << 12) | (digit(1) << 8) | (digit(2) << 4) | digit(3);
}

const HEX = Buffer.from('0123456789abcdef');
/** The buffer in which `uuidOf` writes a uuid. */
const written = Buffer.alloc(UUID_CHARS, '-');

/** The uuid that consists of the four words from this index on. */
export function uuidOf(words: Uint32Array, from: number): string {
  for (let half = 0; half < GROUPS_AT.length; half += 1) {
    const word = words[from + (half >> 1)] ?? 0;
    const four = half % 2 === 0 ? word >>> 16 : word & 0xffff;
    const at = GROUPS_AT[half] ?? 0;
    for (let digit = 0; digit < 4; digit += 1)
      written[at + digit] = HEX[(four >> (12 - 4 * digit)) & 15] ?? 0;
  }
  return written.toString('latin1');
}
