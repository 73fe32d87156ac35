/** Upper bounds on the size of points in a request, because gRPC servers accept only 4 MiB by default. Pure. */
import type { Attributes, AttributeValue } from '@opentelemetry/api';
import type { Exemplar } from '../aggregate/reservoir.ts';

/** The bytes of times, JSON keys, sum, min and max. */
const POINT_BYTES = 400;
/** The bytes of a count and a bound, as digits. */
const BUCKET_BYTES = 28;
/** The bytes of `{"key":"","value":{"stringValue":""}},`; protobuf needs fewer. */
const ATTRIBUTE_BYTES = 48;
/** The bytes of a control character, escaped in JSON. No other character needs more. */
const CHARACTER_BYTES = 6;

/** The bytes of ids, time and value, with their JSON keys. */
const EXEMPLAR_BYTES = 250;

/** @param buckets the number of buckets of a histogram; 0 for a number */
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
