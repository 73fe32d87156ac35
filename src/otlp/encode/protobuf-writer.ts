/**
 * Writes messages in protobuf, into one growing buffer. It knows no message. Pure, except that it keeps what messages share as long
 * as that exists.
 *
 * Up to field 15 a tag takes one byte. A nested message is opened with some room for its length. If its length needs more or less,
 * the message is moved. So nothing has to be measured before it is written.
 */
import type { HrTime } from '@opentelemetry/api';
import { nanosOf, secondsOf } from './epoch-time.ts';
import type { Field, MessageField, MessageWriter, Packed } from './message-writer.ts';

/** For shorter texts, a loop is faster than a call of native code. Their length takes one byte. */
const SHORT_TEXT = 64;
/** Upper bound for a tag with a number or a length. */
const FIELD_BYTES_MAX = 24;
/** Upper bound per UTF-16 unit. A lone surrogate becomes U+FFFD. */
const UTF8_BYTES_MAX = 3;
const NUMBER_BYTES_MAX = 10;
const UINT32_END = 2 ** 32;
/** The initial buffer size of what messages share. */
const SHARED_BYTES = 512;
/** The value of each hexadecimal digit, in either case, by its character code. */
const DIGITS = new Uint8Array(128);
for (const digits of ['0123456789abcdef', '0123456789ABCDEF'])
  for (let value = 0; value < digits.length; value += 1) DIGITS[digits.charCodeAt(value)] = value;

/** The encoded fields, by the object that messages share. */
const encodings = new WeakMap<object, Uint8Array>();

export class ProtobufWriter implements MessageWriter {
  #bytes: Buffer;
  #end = 0;

  /** @param bytes the expected number of bytes */
  constructor(bytes: number) {
    this.#bytes = Buffer.allocUnsafe(Math.max(bytes, FIELD_BYTES_MAX));
  }

  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#end);
  }

  open({ tag, width }: MessageField): number {
    this.#reserve(FIELD_BYTES_MAX);
    this.#bytes[this.#end] = tag;
    this.#end += 1 + width;
    return this.#end;
  }

  close({ width }: MessageField, begin: number): void {
    const length = this.#end - begin;
    const needed = varintBytes(length);
    if (needed !== width) {
      this.#reserve(FIELD_BYTES_MAX);
      this.#bytes.copyWithin(begin - width + needed, begin, this.#end);
    }
    this.#end = begin - width;
    this.#varint(length);
    this.#end += length;
  }

  /** The elements of a list need nothing around them. */
  openList(): void {}

  closeList(): void {}

  shared<Of extends object>(of: Of, write: (writer: MessageWriter, of: Of) => void): void {
    let encoded = encodings.get(of);
    if (encoded === undefined) {
      const writer = new ProtobufWriter(SHARED_BYTES);
      write(writer, of);
      encoded = Uint8Array.from(writer.finish());
      encodings.set(of, encoded);
    }
    this.#reserve(encoded.length);
    this.#bytes.set(encoded, this.#end);
    this.#end += encoded.length;
  }

  text({ tag }: Field, text: string): void {
    const { length } = text;
    this.#reserve(length * UTF8_BYTES_MAX + FIELD_BYTES_MAX);
    this.#bytes[this.#end] = tag;
    if (length < SHORT_TEXT && this.#ascii(text, this.#end + 2)) {
      this.#bytes[this.#end + 1] = length;
      this.#end += 2 + length;
      return;
    }
    this.#end += 1;
    this.#varint(Buffer.byteLength(text));
    this.#end += this.#bytes.write(text, this.#end);
  }

  hex({ tag }: Field, digits: string): void {
    const length = digits.length >> 1;
    this.#reserve(length + FIELD_BYTES_MAX);
    const begin = this.#end + 2;
    this.#bytes[this.#end] = tag;
    this.#bytes[this.#end + 1] = length;
    for (let index = 0; index < length; index += 1) {
      const high = DIGITS[digits.charCodeAt(2 * index)] ?? 0;
      this.#bytes[begin + index] = (high << 4) | (DIGITS[digits.charCodeAt(2 * index + 1)] ?? 0);
    }
    this.#end = begin + length;
  }

  bool(field: Field, value: boolean): void {
    this.int(field, value ? 1 : 0);
  }

  int({ tag }: Field, value: number): void {
    this.#reserve(FIELD_BYTES_MAX);
    this.#bytes[this.#end] = tag;
    this.#end += 1;
    this.#varint(value);
  }

  int64({ tag }: Field, value: number): void {
    this.#reserve(FIELD_BYTES_MAX);
    this.#bytes[this.#end] = tag;
    this.#end += 1;
    this.#anyVarint(value);
  }

  fixed32({ tag }: Field, value: number): void {
    this.#reserve(FIELD_BYTES_MAX);
    // Only fields of this type have numbers above 15, so only here the tag is a varint.
    this.#varint(tag);
    this.#int32(value, this.#end);
    this.#end += 4;
  }

  sint32(field: Field, value: number): void {
    this.int(field, ((value << 1) ^ (value >> 31)) >>> 0);
  }

  fixed64({ tag }: Field, value: number): void {
    this.#reserve(FIELD_BYTES_MAX);
    this.#bytes[this.#end] = tag;
    this.#end += 1;
    this.#int64(value);
  }

  double({ tag }: Field, value: number): void {
    this.#reserve(FIELD_BYTES_MAX);
    this.#bytes[this.#end] = tag;
    this.#end = this.#bytes.writeDoubleLE(value, this.#end + 1);
  }

  /** An empty list is not written. */
  packed(field: MessageField, values: readonly number[], as: Packed): void {
    if (values.length === 0) return;
    const list = this.open(field);
    this.#reserve(values.length * NUMBER_BYTES_MAX);
    for (const value of values) {
      if (as === 'double') this.#end = this.#bytes.writeDoubleLE(value, this.#end);
      else if (as === 'fixed64') this.#int64(value);
      else this.#anyVarint(value);
    }
    this.close(field, list);
  }

  time({ tag }: Field, epochMs: number): void {
    const seconds = secondsOf(epochMs);
    this.#time(tag, seconds, nanosOf(epochMs, seconds));
  }

  hrTime({ tag }: Field, [seconds, nanos]: HrTime): void {
    this.#time(tag, seconds, nanos);
  }

  #time(tag: number, seconds: number, nanos: number): void {
    // Computed in two halves, since a double cannot hold the product.
    const upper = Math.floor(seconds / 65_536) * 1e9;
    const lower = (seconds % 65_536) * 1e9 + nanos + (upper % 65_536) * 65_536;
    this.#reserve(FIELD_BYTES_MAX);
    this.#bytes[this.#end] = tag;
    this.#int32(lower % UINT32_END, this.#end + 1);
    this.#int32(Math.floor(upper / 65_536) + Math.floor(lower / UINT32_END), this.#end + 5);
    this.#end += 9;
  }

  /** @param value an integer */
  #anyVarint(value: number): void {
    if (value >= 0 && value < UINT32_END) this.#varint(value);
    else this.#varint64(BigInt.asUintN(64, BigInt(value)));
  }

  /** Writes an integer as two halves of 32 bits each. */
  #int64(value: number): void {
    this.#int32(value, this.#end);
    this.#int32(Math.floor(value / UINT32_END), this.#end + 4);
    this.#end += 8;
  }

  /** Writes an ASCII text. @returns false if it has other characters; the bytes written so far are then to be overwritten */
  #ascii(text: string, begin: number): boolean {
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) return false;
      this.#bytes[begin + index] = code;
    }
    return true;
  }

  #varint(value: number): void {
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) {
      this.#bytes[this.#end] = (rest & 0x7f) | 0x80;
      this.#end += 1;
    }
    this.#bytes[this.#end] = rest;
    this.#end += 1;
  }

  #varint64(value: bigint): void {
    let rest = value;
    for (; rest > 0x7fn; rest >>= 7n) {
      this.#bytes[this.#end] = Number(rest & 0x7fn) | 0x80;
      this.#end += 1;
    }
    this.#bytes[this.#end] = Number(rest);
    this.#end += 1;
  }

  #int32(value: number, at: number): void {
    this.#bytes[at] = value;
    this.#bytes[at + 1] = value >>> 8;
    this.#bytes[at + 2] = value >>> 16;
    this.#bytes[at + 3] = value >>> 24;
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * this.#bytes.length + bytes);
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) bytes += 1;
  return bytes;
}
