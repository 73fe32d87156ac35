/** Upper bounds for the size of points in a request: gRPC servers accept 4 MiB by default. Pure. */
import type { Attributes, AttributeValue } from '@opentelemetry/api';
import type { Exemplar } from '../aggregate/reservoir.ts';

/** Times, JSON keys, sum, min and max. */
const POINT_BYTES = 400;
/** A count and a bound, as digits. */
const BUCKET_BYTES = 28;
/** `{"key":"","value":{"stringValue":""}},`; protobuf needs less. */
const ATTRIBUTE_BYTES = 48;
/** A control character, escaped in JSON. No other character takes more. */
const CHARACTER_BYTES = 6;

/** Ids, time and value, with their JSON keys. */
const EXEMPLAR_BYTES = 250;

/** @param buckets of a histogram; 0 for a number */
export function pointBytes(attributesBytes: number, buckets: number): number {
  return POINT_BYTES + attributesBytes + buckets * BUCKET_BYTES;
}

export function exemplarsBytes(exemplars: readonly Exemplar[]): number {
  return exemplars.reduce(
    (sum, { context }) => sum + EXEMPLAR_BYTES + attributesBytes(context.attributes),
    0,
  );
}

export function attributesBytes(attributes: Attributes): number {
  let bytes = 0;
  for (const key in attributes) {
    bytes += ATTRIBUTE_BYTES + CHARACTER_BYTES * (key.length + lengthOf(attributes[key]));
  }
  return bytes;
}

function lengthOf(value: AttributeValue | undefined): number {
  if (typeof value === 'string') return value.length;
  const text = JSON.stringify(value ?? null).length;
  // Each element of a list has the same overhead as an attribute.
  return Array.isArray(value) ? text + (value.length * ATTRIBUTE_BYTES) / CHARACTER_BYTES : text;
}
