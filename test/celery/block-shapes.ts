/**
 * Compressed bodies of the blocks that cost a decompressor the most, of any size. They expand to nothing; their cost is
 * in the blocks themselves. No library writes them.
 */

/** RFC 1951, 3.2.7: the order in which the lengths of the codes for lengths stand. */
const LENGTHS_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1];
/** Of the three that are used: 138 zeros at most, none, and one. */
const LENGTHS: ReadonlyMap<number, number> = new Map([
  [18, 1],
  [0, 2],
  [1, 2],
]);
/** RFC 1950: its first two bytes, and the sum of no bytes at the end. */
const [ZLIB_HEADER, ZLIB_END] = [Buffer.from([0x78, 0x9c]), Buffer.from([0, 0, 0, 1])];

/** Bits as DEFLATE and brotli write them: the least significant of a byte first, and so of a number. */
class Bits {
  readonly #bytes: number[] = [];
  #used = 8;

  get bytes(): Buffer {
    return Buffer.from(this.#bytes);
  }

  get length(): number {
    return this.#bytes.length;
  }

  number(value: number, bits: number): void {
    for (let bit = 0; bit < bits; bit += 1) this.#bit((value >> bit) & 1);
  }

  /** Huffman codes begin with their most significant bit. */
  code(text: string): void {
    for (const digit of text) this.#bit(Number(digit));
  }

  alignToByte(): void {
    this.#used = 8;
  }

  #bit(bit: number): void {
    if (this.#used === 8) {
      this.#bytes.push(0);
      this.#used = 0;
    }
    const last = this.#bytes.length - 1;
    this.#bytes[last] = (this.#bytes[last] ?? 0) | (bit << this.#used);
    this.#used += 1;
  }
}

/** So many bytes of blocks, and the last of all. */
function zlib(bytes: number, block: (bits: Bits) => void): Buffer {
  const bits = new Bits();
  while (bits.length < bytes - 30) block(bits);
  bits.number(1, 1);
  emptyFixed(bits);
  return Buffer.concat([ZLIB_HEADER, bits.bytes, ZLIB_END]);
}

/** Of the usual codes: its type, and its end. */
function emptyFixed(bits: Bits): void {
  bits.number(1, 2);
  bits.code('0000000');
}

/** With tables of 258 codes, of which one is used. */
function emptyDynamic(bits: Bits): void {
  bits.number(2, 2);
  bits.number(0, 5 + 5);
  bits.number(LENGTHS_ORDER.length - 4, 4);
  for (const length of LENGTHS_ORDER) bits.number(LENGTHS.get(length) ?? 0, 3);
  // No literal has a code, the end and the only distance have.
  for (const zeros of [138, 118]) {
    bits.code('0');
    bits.number(zeros - 11, 7);
  }
  bits.code('11');
  bits.code('11');
  bits.code('0');
}

/** RFC 7932, 3.4: a code of one symbol, which takes no bits. */
function onlySymbol(bits: Bits, symbol: number, alphabetBits: number): void {
  bits.number(1, 2 + 2);
  bits.number(symbol, alphabetBits);
}

/** RFC 7932, 9.2: 256, where a number of types or of trees is expected. */
function number256(bits: Bits): void {
  bits.number(1, 1);
  bits.number(7, 3);
  bits.number(127, 7);
}

/** One byte, with a map of the contexts of 256 types of literals: 16,384 entries in no bits. */
function wideContextMap(bits: Bits): void {
  // Not the last, one byte, compressed.
  bits.number(0, 1 + 2 + 16 + 1);
  number256(bits);
  onlySymbol(bits, 0, 9);
  onlySymbol(bits, 0, 5);
  bits.number(3, 2);
  // One type of commands, one of distances; their parameters; the modes of the contexts.
  bits.number(0, 1 + 1 + 2 + 4);
  for (let type = 0; type < 256; type += 1) bits.number(0, 2);
  // Two trees. Each entry is the second of those that moved to the front.
  bits.number(0b0001, 1 + 3);
  bits.number(0, 1);
  onlySymbol(bits, 1, 1);
  bits.number(1, 1);
  // One tree of distances, and the codes.
  bits.number(0, 1);
  for (let tree = 0; tree < 2; tree += 1) onlySymbol(bits, 0x20, 8);
  onlySymbol(bits, 8, 10);
  onlySymbol(bits, 0, 6);
}

/** RFC 8878, 4.1.1: the counts of a table of two symbols, of which the second has less than one. */
function fseCounts(accuracyLog: number): readonly number[] {
  const bits = new Bits();
  bits.number(accuracyLog - 5, 4);
  bits.number(2 ** (accuracyLog + 1) - 2, accuracyLog + 1);
  bits.number(0, 1);
  return [...bits.bytes];
}

type Shape = (bytes: number) => Buffer;

export const BLOCK_SHAPES: Readonly<Record<string, readonly [compression: string, make: Shape]>> = {
  'DEFLATE blocks with tables': [
    'application/x-gzip',
    (bytes) =>
      zlib(bytes, (bits) => {
        bits.number(0, 1);
        emptyDynamic(bits);
      }),
  ],
  'DEFLATE blocks without': [
    'application/x-gzip',
    (bytes) =>
      zlib(bytes, (bits) => {
        bits.number(0, 1);
        emptyFixed(bits);
      }),
  ],
  // RFC 7932, 9.2: blocks of no bytes that are to be skipped, one byte each.
  'brotli blocks to be skipped': [
    'application/x-brotli',
    (bytes) => {
      const bits = new Bits();
      bits.number(0, 1);
      while (bits.length < bytes - 2) {
        bits.number(0b110, 1 + 2 + 1 + 2);
        bits.alignToByte();
      }
      bits.number(0b11, 2);
      return bits.bytes;
    },
  ],
  'brotli blocks of wide context maps': [
    'application/x-brotli',
    (bytes) => {
      const bits = new Bits();
      bits.number(0, 1);
      while (bits.length < bytes - 100) wideContextMap(bits);
      bits.number(0b11, 2);
      return bits.bytes;
    },
  ],
  // A sequence each, after a block of spaces that they copy from.
  'zstd blocks of three tables': [
    'application/zstd',
    (bytes) => {
      const sequences = [0, 1, 0xa8, ...[9, 8, 9].flatMap(fseCounts), 0, 0, 0, 4];
      const block = [(sequences.length << 3) | (2 << 1), 0, 0, ...sequences];
      const blocks = Array.from({ length: Math.floor((bytes - 30) / block.length) }, () => block);
      const spaces = [16 << 3, 0, 0, ...Buffer.alloc(16, ' ')];
      return Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x50, ...spaces, ...blocks.flat(), 1, 0, 0]);
    },
  ],
  // RFC 8878: without a size of the content, the window, and blocks of a byte that is repeated once.
  'zstd blocks of a byte': [
    'application/zstd',
    (bytes) => {
      const block = [0x0a, 0, 0, 0x20];
      const blocks = Array.from({ length: Math.floor((bytes - 10) / block.length) }, () => block);
      return Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x50, ...blocks.flat(), 1, 0, 0]);
    },
  ],
};
