/**
 * Reads plain JSON straight from its bytes: an object, or a list of objects, whose values are numbers, nulls, and printable
 * ASCII strings without escapes, as in most events. It makes no values of fields that nobody reads, and keeps recurring
 * names. All else, valid or not, is left to a full parser.
 */
import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
} from '../json-structure.ts';
import { FIELD_NAMES, RawEvent } from './raw-fields.ts';

const SPACE = 0x20;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const DELETE = 0x7f;
const NULL = Buffer.from('null');
/** The letter of an exponent, without its case. */
const LETTER_E = 0x65;
const LOWER_CASE = 0x20;

/** Exact in a double, as are integers of as many digits that are safe. */
const POWERS_OF_TEN = Array.from({ length: 17 }, (_, exponent) => 10 ** exponent);

/** Names are shorter than ids, which seldom recur. */
const NAME_BYTES_MAX = 32;
/** In a table in which a name takes the place of another with the same hash. */
const KNOWN_NAMES = 1024;

const NONE: readonly unknown[] = FIELD_NAMES.map(() => undefined);
const FIELDS: ({ readonly bytes: Buffer; readonly at: number } | undefined)[] = new Array(64).fill(undefined);
for (const [at, name] of FIELD_NAMES.entries()) {
  const bytes = Buffer.from(name);
  FIELDS[placeOf(bytes, 0, bytes.length)] = { bytes, at };
}

export class PlainJson {
  #body: Buffer = NULL;
  /** What is read next. */
  #at = 0;
  /** What was read last. */
  #value: unknown;
  readonly #names: ({ readonly bytes: Buffer; readonly text: string } | undefined)[] = new Array(
    KNOWN_NAMES,
  ).fill(undefined);

  /** Undefined if it is not plain. */
  read(body: Buffer): RawEvent | readonly RawEvent[] | undefined {
    this.#body = body;
    this.#at = 0;
    const value = body[0] === OPEN_LIST ? this.#list() : this.#object();
    return this.#at === body.length ? value : undefined;
  }

  #list(): readonly RawEvent[] | undefined {
    const list: RawEvent[] = [];
    do {
      this.#passWithSpace();
      const event = this.#object();
      if (event === undefined) return undefined;
      list.push(event);
    } while (this.#body[this.#at] === COMMA);
    return this.#body[this.#at++] === CLOSE_LIST ? list : undefined;
  }

  #object(): RawEvent | undefined {
    const body = this.#body;
    if (body[this.#at] !== OPEN_OBJECT) return undefined;
    const values: unknown[] = [...NONE];
    do {
      this.#passWithSpace();
      const from = this.#at + 1;
      const end = this.#endOfText();
      if (body[end + 1] !== COLON) return undefined;
      this.#at = end + 1;
      this.#passWithSpace();
      const field = FIELDS[placeOf(body, from, end)];
      const isRead = field !== undefined && equals(body, from, end, field.bytes);
      if (!(isRead ? this.#read() : this.#skip())) return undefined;
      if (isRead) values[field.at] = this.#value;
    } while (body[this.#at] === COMMA);
    return body[this.#at++] === CLOSE_OBJECT ? new RawEvent(values) : undefined;
  }

  /** Passes the current byte, and the space that Python writes after it. */
  #passWithSpace(): void {
    this.#at += this.#body[this.#at + 1] === SPACE ? 2 : 1;
  }

  /** Whether it was a plain value. */
  #skip(): boolean {
    if (this.#body[this.#at] !== QUOTE) return this.#read();
    this.#at = this.#endOfText() + 1;
    return this.#at > 0;
  }

  #read(): boolean {
    switch (this.#body[this.#at]) {
      case QUOTE:
        return this.#text();
      case NULL[0]:
        return this.#null();
      default:
        return this.#number();
    }
  }

  /** The position of the closing quote; -1 if this is no string, or not a plain one. */
  #endOfText(): number {
    const body = this.#body;
    if (body[this.#at] !== QUOTE) return -1;
    for (let at = this.#at + 1; ; at += 1) {
      const byte = body[at] ?? 0;
      if (byte === QUOTE) return at;
      if (byte < SPACE || byte >= DELETE || byte === BACKSLASH) return -1;
    }
  }

  #text(): boolean {
    const body = this.#body;
    const from = this.#at + 1;
    let end = from;
    let hash = 0;
    for (; ; end += 1) {
      const byte = body[end] ?? 0;
      if (byte === QUOTE) break;
      if (byte < SPACE || byte >= DELETE || byte === BACKSLASH) return false;
      hash = (Math.imul(hash, 31) + byte) | 0;
    }
    this.#at = end + 1;
    this.#value =
      end - from > NAME_BYTES_MAX ? body.toString('latin1', from, end) : this.#name(from, end, hash);
    return true;
  }

  #name(from: number, end: number, hash: number): string {
    const body = this.#body;
    const at = hash & (KNOWN_NAMES - 1);
    const known = this.#names[at];
    if (known !== undefined && equals(body, from, end, known.bytes)) return known.text;
    const text = body.toString('latin1', from, end);
    this.#names[at] = { bytes: Buffer.from(text, 'latin1'), text };
    return text;
  }

  #null(): boolean {
    const from = this.#at;
    this.#at += NULL.length;
    this.#value = null;
    return equals(this.#body, from, this.#at, NULL);
  }

  #number(): boolean {
    const body = this.#body;
    const from = body[this.#at] === MINUS ? this.#at + 1 : this.#at;
    let end = from;
    let point = -1;
    let digits = 0;
    for (; ; end += 1) {
      const byte = body[end] ?? 0;
      if (byte >= ZERO && byte <= NINE) digits = digits * 10 + (byte - ZERO);
      else if (byte === POINT && point < 0) point = end;
      else break;
    }
    const isNumber = end > from && point !== from && point !== end - 1;
    const hasExponent = ((body[end] ?? 0) | LOWER_CASE) === LETTER_E;
    const hasLeadingZero = body[from] === ZERO && end - from > 1 && point !== from + 1;
    if (!isNumber || hasExponent || hasLeadingZero) return false;
    const decimals = point < 0 ? 0 : end - point - 1;
    const isExact = end - from <= POWERS_OF_TEN.length && digits <= Number.MAX_SAFE_INTEGER;
    const scale = isExact ? POWERS_OF_TEN[decimals] : undefined;
    const size = scale === undefined ? Number(body.toString('latin1', from, end)) : digits / scale;
    this.#value = from === this.#at ? size : -size;
    this.#at = end;
    return true;
  }
}

/** A place for each field in a table without collisions. */
function placeOf(bytes: Buffer, from: number, end: number): number {
  return (end - from + (bytes[from + 1] ?? 0) * 9 + (bytes[end - 1] ?? 0) * 21) & 63;
}

function equals(body: Buffer, from: number, end: number, bytes: Buffer): boolean {
  if (bytes.length !== end - from) return false;
  for (let at = 0; at < bytes.length; at += 1) if (body[from + at] !== bytes[at]) return false;
  return true;
}
