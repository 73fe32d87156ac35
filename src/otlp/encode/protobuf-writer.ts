/**
 * Writes protobuf into one growing buffer. It handles wire types, and the times and attributes of OTLP, but no other messages.
 * Pure.
 *
 * A tag is the field number times 8, plus the wire type; up to field 15 it takes one byte. A nested message is opened with some
 * room for its length. If its length needs more or less, the message is moved. So nothing has to be measured before it is written.
 */
import type { HrTime } from '@opentelemetry/api';
import { nanosOf, secondsOf } from './epoch-time.ts';

/** For shorter texts, a loop is faster than a call of native code. Their length takes one byte. */
const SHORT_TEXT = 64;
/** Upper bound for a tag with a number or a length. */
const FIELD_BYTES_MAX = 24;
/** Upper bound per UTF-16 unit. A lone surrogate becomes U+FFFD. */
const UTF8_BYTES_MAX = 3;
const NUMBER_BYTES_MAX = 10;
const INT64_END = 2 ** 63;
const UINT32_END = 2 ** 32;
const NO_DOUBLES: ReadonlySet<string> = new Set();
/** The value of each hexadecimal digit, in either case, by its character code. */
const DIGITS = new Uint8Array(128);
for (const digits of ['0123456789abcdef', '0123456789ABCDEF'])
  for (let value = 0; value < digits.length; value += 1) DIGITS[digits.charCodeAt(value)] = value;

export class ProtobufWriter {
  #bytes: Buffer;
  #end = 0;

  /** @param bytes the expected number of bytes */
  constructor(bytes: number) {
    this.#bytes = Buffer.allocUnsafe(Math.max(bytes, FIELD_BYTES_MAX));
  }

  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#end);
  }

  /**
   * Begins a nested message.
   * @param width bytes reserved for the length: 1 for messages up to 127 bytes, 2 up to 16,383
   * @returns the start of the message, for `close`
   */
  open(tag: number, width = 1): number {
    this.#reserve(FIELD_BYTES_MAX);
    this.#bytes[this.#end] = tag;
    this.#end += 1 + width;
    return this.#end;
  }

  close(begin: number, width = 1): void {
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

  /** Copies encoded fields. */
  raw(fields: Uint8Array): void {
    this.#reserve(fields.length);
    this.#bytes.set(fields, this.#end);
    this.#end += fields.length;
  }

  text(tag: number, text: string): void {
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

  /** Writes bytes that are given as hexadecimal digits. */
  hex(tag: number, digits: string): void {
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

  /** Writes a number below 2³¹ as a varint. */
  int(tag: number, value: number): void {
    this.#reserve(FIELD_BYTES_MAX);
    this.#bytes[this.#end] = tag;
    this.#end += 1;
    this.#varint(value);
  }

  fixed32(tag: number, value: number): void {
    this.#reserve(FIELD_BYTES_MAX);
    // Only fields of this type have numbers above 15, so only here the tag is a varint.
    this.#varint(tag);
    this.#int32(value, this.#end);
    this.#end += 4;
  }

  /** Writes a signed integer of 32 bits as `sint32`. */
  sint32(tag: number, value: number): void {
    this.int(tag, ((value << 1) ^ (value >> 31)) >>> 0);
  }

  /** Writes a safe integer as `fixed64` or `sfixed64`. */
  fixed64(tag: number, value: number): void {
    this.#reserve(FIELD_BYTES_MAX);
    this.#bytes[this.#end] = tag;
    this.#end += 1;
    this.#int64(value);
  }

  double(tag: number, value: number): void {
    this.#reserve(FIELD_BYTES_MAX);
    this.#bytes[this.#end] = tag;
    this.#end = this.#bytes.writeDoubleLE(value, this.#end + 1);
  }

  /** Writes a packed list of numbers that are not negative; an empty list is not written. */
  packed(tag: number, values: readonly number[], as: 'fixed64' | 'double' | 'varint'): void {
    if (values.length === 0) return;
    const list = this.open(tag, 2);
    this.#reserve(values.length * NUMBER_BYTES_MAX);
    for (const value of values) {
      if (as === 'double') this.#end = this.#bytes.writeDoubleLE(value, this.#end);
      else if (as === 'fixed64') this.#int64(value);
      else this.#anyVarint(value);
    }
    this.close(list, 2);
  }

  /** Writes nanoseconds since the epoch as fixed64. */
  time(tag: number, epochMs: number): void {
    const seconds = secondsOf(epochMs);
    this.#time(tag, seconds, nanosOf(epochMs, seconds));
  }

  /** Does the same for a time in the representation of the SDK. */
  hrTime(tag: number, [seconds, nanos]: HrTime): void {
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

  /**
   * Writes each attribute as a `KeyValue`.
   * @param doubles the attributes that are written as doubles even if they are whole
   */
  attributes(
    tag: number,
    attributes: Readonly<Record<string, unknown>>,
    doubles: ReadonlySet<string> = NO_DOUBLES,
  ): void {
    for (const key in attributes) {
      const pair = this.open(tag);
      this.text(0x0a, key);
      const value = attributes[key];
      this.anyValue(0x12, value, typeof value === 'number' && doubles.has(key));
      this.close(pair);
    }
  }

  /** Writes an `AnyValue`. It is empty if OTLP has no such value. */
  anyValue(tag: number, value: unknown, isDouble = false): void {
    const any = this.open(tag);
    if (typeof value === 'string') this.text(0x0a, value);
    else if (typeof value === 'number') this.#number(value, isDouble);
    else if (typeof value === 'boolean') this.int(0x10, value ? 1 : 0);
    else if (Array.isArray(value)) {
      const array = this.open(0x2a);
      for (const each of value) this.anyValue(0x0a, each);
      this.close(array);
    }
    this.close(any);
  }

  /** An integer as `int_value` unless it is to be a double, anything else as `double_value`. */
  #number(value: number, isDouble: boolean): void {
    this.#reserve(FIELD_BYTES_MAX);
    const isInteger = !isDouble && Number.isInteger(value) && value >= -INT64_END && value < INT64_END;
    this.#bytes[this.#end] = isInteger ? 0x18 : 0x21;
    this.#end += 1;
    if (!isInteger) this.#end = this.#bytes.writeDoubleLE(value, this.#end);
    else this.#anyVarint(value);
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
