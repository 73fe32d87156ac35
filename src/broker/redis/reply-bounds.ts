/**
 * Checks the size of Redis replies by their headers, before they are decoded: a header of a few bytes can announce a
 * reply of gigabytes, for which a decoder allocates memory at once. It keeps no replies, and does not read their
 * content (Redis serialization protocol, RESP 2 and 3).
 */

/** The most bytes of one reply or message. The longest Celery message that is read has 6 MiB; Redis allows 512 MiB. */
export const REPLY_BYTES_MAX = 32 * 1024 * 1024;
/** The most elements of all lists in one reply together: kombu’s have one for each worker, or for each message of a page. */
const ELEMENTS_MAX = 1_000_000;
/** The most levels of nested lists; replies to our commands have three. */
const DEPTH_MAX = 16;
/** The longest line, such as an error, which may repeat arguments. */
const LINE_BYTES_MAX = 64 * 1024;
/** The most digits of a length: a longer number exceeds any limit. */
const DIGITS_MAX = 12;

const LF = 0x0a;
const CR = 0x0d;
const DOLLAR = 0x24;
const STAR = 0x2a;
const ZERO = 0x30;
const NINE = 0x39;
const CR_LF_BYTES = 2;

const TYPE = {
  /** Types whose header has a number of bytes: texts, verbatim texts, long errors. */
  text: new Set([...'$=!'].map((type) => type.charCodeAt(0))),
  /** Types whose header has a number of elements; of the last type, a number of pairs. */
  list: new Set([...'*~>%'].map((type) => type.charCodeAt(0))),
  pairs: '%'.charCodeAt(0),
} as const;

export class ReplyBounds {
  /** How many bytes of the current text remain. */
  #skip = 0;
  /** The type of the current line; undefined between lines. */
  #type: number | undefined;
  #lineBytes = 0;
  #number = 0;
  #digits = 0;
  /** How many elements of each open list remain, the outermost list first. */
  readonly #open: number[] = [];
  /** Bytes and elements since the last complete reply. */
  #bytes = 0;
  #elements = 0;

  /** @returns which limit is exceeded; undefined if none is. After an excess, the rest of the chunk is not checked. */
  excessOf(chunk: Uint8Array): string | undefined {
    for (let at = 0; at < chunk.length; ) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, chunk.length - at);
        this.#skip -= skipped;
        this.#bytes += skipped;
        at += skipped;
        if (this.#skip === 0) this.#completed();
        continue;
      }
      const after = this.#type === undefined ? this.#readHeader(chunk, at) : at;
      this.#bytes += Math.max(1, after - at);
      const excess =
        after > at ? this.#took(chunk[at] ?? 0, this.#number, false) : this.#readByte(chunk[at] ?? 0);
      if (excess !== undefined) return excess;
      at = Math.max(at + 1, after);
    }
    return undefined;
  }

  /** Reads a complete header such as `$12` or `*3` in one step, the common case. @returns the position after it; `at` for anything else */
  #readHeader(chunk: Uint8Array, at: number): number {
    const type = chunk[at];
    if (type !== DOLLAR && type !== STAR) return at;
    let number = 0;
    let to = at + 1;
    for (const last = to + DIGITS_MAX; to < last; to += 1) {
      const digit = (chunk[to] ?? 0) - ZERO;
      if (digit < 0 || digit > 9) break;
      number = 10 * number + digit;
    }
    if (to === at + 1 || chunk[to] !== CR || chunk[to + 1] !== LF) return at;
    this.#number = number;
    return to + CR_LF_BYTES;
  }

  #readByte(byte: number): string | undefined {
    if (this.#type === undefined) {
      this.#type = byte;
      this.#lineBytes = this.#number = this.#digits = 0;
      return undefined;
    }
    if (byte === LF) return this.#endLine(this.#type);
    this.#lineBytes += 1;
    if (this.#lineBytes > LINE_BYTES_MAX) return `a line has more than ${LINE_BYTES_MAX} bytes`;
    if (byte < ZERO || byte > NINE) return undefined;
    this.#number = 10 * this.#number + byte - ZERO;
    this.#digits += 1;
    const isLength = TYPE.text.has(this.#type) || TYPE.list.has(this.#type);
    return isLength && this.#digits > DIGITS_MAX ? 'a reply has an implausible length' : undefined;
  }

  #endLine(type: number): string | undefined {
    this.#type = undefined;
    // If there are fewer digits than bytes, the length is negative: -1 stands for null, without bytes and elements.
    return this.#took(type, this.#number, this.#digits + 1 < this.#lineBytes);
  }

  /** Notes that a header, or a line, is complete. */
  #took(type: number, number: number, isNull: boolean): string | undefined {
    if (TYPE.text.has(type) && !isNull) {
      if (this.#bytes + number > REPLY_BYTES_MAX) return `a reply has more than ${REPLY_BYTES_MAX} bytes`;
      this.#skip = number + CR_LF_BYTES;
      return undefined;
    }
    this.#elements += 1;
    if (TYPE.list.has(type) && !isNull) {
      const count = type === TYPE.pairs ? 2 * number : number;
      this.#elements += count;
      if (this.#elements > ELEMENTS_MAX) return `a reply has more than ${ELEMENTS_MAX} elements`;
      if (count > 0) {
        this.#open.push(count);
        return this.#open.length > DEPTH_MAX
          ? `a reply is nested more than ${DEPTH_MAX} levels deep`
          : undefined;
      }
    }
    if (this.#bytes > REPLY_BYTES_MAX) return `a reply has more than ${REPLY_BYTES_MAX} bytes`;
    this.#completed();
    return undefined;
  }

  /** Notes that an element is complete, and each list of which it is the last. */
  #completed(): void {
    for (;;) {
      const left = this.#open.pop();
      if (left === undefined) break;
      if (left > 1) {
        this.#open.push(left - 1);
        return;
      }
    }
    this.#bytes = this.#elements = 0;
  }
}
