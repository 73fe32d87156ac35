/**
 * Writes messages in the JSON encoding of OTLP: ids are hexadecimal, times are texts, enums are numbers. It knows no message. Pure,
 * except that it keeps what messages share as long as that exists.
 *
 * It makes objects of them, which `JSON.stringify` writes faster than any code of ours could. Numbers are numbers, as those of
 * the SDK, unless a reader would take them for others: integers that a double cannot hold safely, and what is not finite, are
 * texts, as the JSON encoding of protobuf has them.
 */
import type { HrTime } from '@opentelemetry/api';
import { hrTimeOf } from './epoch-time.ts';
import type { Field, MessageField, MessageWriter, Packed } from './message-writer.ts';

const NANOS_DIGITS = 9;

type Message = Record<string, unknown>;

/** The elements of a list, by the object that messages share. */
const elements = new WeakMap<object, readonly Message[]>();

export class JsonWriter implements MessageWriter {
  #message: Message = {};
  #list: Message[] = [];
  /** What is open around the current message and list. */
  readonly #messages: Message[] = [];
  readonly #lists: Message[][] = [];

  finish(): Uint8Array {
    return new TextEncoder().encode(JSON.stringify(this.#message));
  }

  open({ name, isRepeated }: MessageField): number {
    const message: Message = {};
    if (isRepeated) this.#list.push(message);
    else this.#message[name] = message;
    this.#messages.push(this.#message);
    this.#message = message;
    return 0;
  }

  close(): void {
    this.#message = this.#messages.pop() ?? {};
  }

  openList({ name }: MessageField): void {
    this.#lists.push(this.#list);
    this.#list = [];
    this.#message[name] = this.#list;
  }

  closeList(): void {
    this.#list = this.#lists.pop() ?? [];
  }

  shared<Of extends object>(of: Of, write: (writer: MessageWriter, of: Of) => void): void {
    let known = elements.get(of);
    if (known === undefined) {
      const writer = new JsonWriter();
      write(writer, of);
      known = writer.#list;
      elements.set(of, known);
    }
    for (const each of known) this.#list.push(each);
  }

  text({ name }: Field, text: string): void {
    // A lone surrogate becomes U+FFFD, as in protobuf. Some readers refuse its escape sequence.
    this.#message[name] = text.toWellFormed();
  }

  hex({ name }: Field, digits: string): void {
    this.#message[name] = digits;
  }

  bool({ name }: Field, value: boolean): void {
    this.#message[name] = value;
  }

  int({ name }: Field, value: number): void {
    this.#message[name] = value;
  }

  int64({ name }: Field, value: number): void {
    this.#message[name] = integer(value);
  }

  sint32({ name }: Field, value: number): void {
    this.#message[name] = value;
  }

  fixed32({ name }: Field, value: number): void {
    this.#message[name] = value;
  }

  fixed64({ name }: Field, value: number): void {
    this.#message[name] = integer(value);
  }

  double({ name }: Field, value: number): void {
    this.#message[name] = double(value);
  }

  packed({ name }: MessageField, values: readonly number[], as: Packed): void {
    this.#message[name] = values.map(as === 'double' ? double : integer);
  }

  time(field: Field, epochMs: number): void {
    this.hrTime(field, hrTimeOf(epochMs));
  }

  hrTime({ name }: Field, [seconds, nanos]: HrTime): void {
    this.#message[name] = seconds === 0 ? `${nanos}` : `${seconds}${`${nanos}`.padStart(NANOS_DIGITS, '0')}`;
  }
}

/** Never throws: of a value that is no integer, whatever its instrument promised, it is the whole part, as in protobuf. */
function integer(value: number): number | string {
  if (Number.isSafeInteger(value)) return value;
  return Number.isFinite(value) ? `${BigInt(Math.trunc(value))}` : 0;
}

/** `JSON.stringify` would write `null` for what is not finite. */
function double(value: number): number | string {
  return Number.isFinite(value) ? value : `${value}`;
}
