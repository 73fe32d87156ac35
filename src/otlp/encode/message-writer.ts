/**
 * What a writer of messages does, in any encoding, and how a message names its fields to it. It encodes nothing. So each message of
 * OTLP is written once: `writer.text(SPAN.name, span.name)`.
 */
import type { HrTime } from '@opentelemetry/api';

export interface Field {
  /** In protobuf: the field number times 8, plus the wire type. */
  readonly tag: number;
  /** In JSON. */
  readonly name: string;
}

/** A field that is a message, or a list of numbers. */
export interface MessageField extends Field {
  /** Expected bytes of its length in protobuf: 1 for up to 127 bytes, 2 for up to 16,383. Another length costs a move. */
  readonly width: number;
  /** Whether it is a message in a list of such messages. */
  readonly isRepeated: boolean;
}

/** How the numbers of a list are written. */
export type Packed = 'fixed64' | 'double' | 'varint';

export interface MessageWriter {
  /** Begins a message. @returns where it begins, for `close` */
  open(field: MessageField): number;
  close(field: MessageField, begin: number): void;
  /** Begins a list, whose elements are messages. */
  openList(field: MessageField): void;
  closeList(): void;
  /** Writes what many messages have in common. Their object may be written once and copied then, always as the same field. */
  shared<Of extends object>(of: Of, write: (writer: MessageWriter, of: Of) => void): void;
  text(field: Field, text: string): void;
  /** Bytes that are given as hexadecimal digits. */
  hex(field: Field, digits: string): void;
  bool(field: Field, value: boolean): void;
  /** A number from 0 to below 2³¹, also an enum. */
  int(field: Field, value: number): void;
  /** A signed integer of 64 bits. */
  int64(field: Field, value: number): void;
  /** A signed integer of 32 bits as `sint32`. */
  sint32(field: Field, value: number): void;
  fixed32(field: Field, value: number): void;
  /** A safe integer as `fixed64` or `sfixed64`. */
  fixed64(field: Field, value: number): void;
  double(field: Field, value: number): void;
  /** A list of numbers that are not negative, within a field of its own. */
  packed(field: MessageField, values: readonly number[], as: Packed): void;
  /** Nanoseconds since the epoch. */
  time(field: Field, epochMs: number): void;
  /** The same, of a time in the representation of the SDK. */
  hrTime(field: Field, time: HrTime): void;
  finish(): Uint8Array;
}

/** @param bytes the expected number of bytes */
export type NewWriter = (bytes: number) => MessageWriter;

/** Writes each item as an element of a list. */
export function writeList<Item>(
  writer: MessageWriter,
  field: MessageField,
  items: readonly Item[],
  write: (writer: MessageWriter, item: Item) => void,
): void {
  writer.openList(field);
  for (const item of items) {
    const begin = writer.open(field);
    write(writer, item);
    writer.close(field, begin);
  }
  writer.closeList();
}
