/** Encodes attributes and values of any type for OTLP (opentelemetry/proto/common/v1/common.proto). Pure. */
import type { MessageField, MessageWriter } from './message-writer.ts';

const KEY_VALUE = {
  key: { tag: 0x0a, name: 'key' },
  value: { tag: 0x12, name: 'value', width: 1, isRepeated: false },
};
const ANY_VALUE = {
  stringValue: { tag: 0x0a, name: 'stringValue' },
  boolValue: { tag: 0x10, name: 'boolValue' },
  intValue: { tag: 0x18, name: 'intValue' },
  doubleValue: { tag: 0x21, name: 'doubleValue' },
  arrayValue: { tag: 0x2a, name: 'arrayValue', width: 1, isRepeated: false },
};
const ARRAY_VALUE = { values: { tag: 0x0a, name: 'values', width: 1, isRepeated: true } };

const INT64_END = 2 ** 63;
const NO_DOUBLES: ReadonlySet<string> = new Set();

export type AnyAttributes = Readonly<Record<string, unknown>>;

/** Writes the whole list. */
export function writeAttributes(writer: MessageWriter, field: MessageField, attributes: AnyAttributes): void {
  writer.openList(field);
  writeKeyValues(writer, field, attributes);
  writer.closeList();
}

/**
 * Writes each attribute as an element of a list that is open.
 * @param doubles the attributes that are written as doubles even if they are whole
 */
export function writeKeyValues(
  writer: MessageWriter,
  field: MessageField,
  attributes: AnyAttributes,
  doubles: ReadonlySet<string> = NO_DOUBLES,
): void {
  for (const key in attributes) {
    const pair = writer.open(field);
    writer.text(KEY_VALUE.key, key);
    const value = attributes[key];
    writeAnyValue(writer, KEY_VALUE.value, value, typeof value === 'number' && doubles.has(key));
    writer.close(field, pair);
  }
}

/** Writes an `AnyValue`. It is empty if OTLP has no such value. */
export function writeAnyValue(
  writer: MessageWriter,
  field: MessageField,
  value: unknown,
  isDouble = false,
): void {
  const any = writer.open(field);
  if (typeof value === 'string') writer.text(ANY_VALUE.stringValue, value);
  else if (typeof value === 'number') {
    if (!isDouble && isInt64(value)) writer.int64(ANY_VALUE.intValue, value);
    else writer.double(ANY_VALUE.doubleValue, value);
  } else if (typeof value === 'boolean') writer.bool(ANY_VALUE.boolValue, value);
  else if (Array.isArray(value)) writeArray(writer, value);
  writer.close(field, any);
}

function writeArray(writer: MessageWriter, values: readonly unknown[]): void {
  const array = writer.open(ANY_VALUE.arrayValue);
  writer.openList(ARRAY_VALUE.values);
  for (const each of values) writeAnyValue(writer, ARRAY_VALUE.values, each);
  writer.closeList();
  writer.close(ANY_VALUE.arrayValue, array);
}

function isInt64(value: number): boolean {
  return Number.isInteger(value) && value >= -INT64_END && value < INT64_END;
}
