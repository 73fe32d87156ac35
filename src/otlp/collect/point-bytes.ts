/**
 * How large points become in a request, erring upwards: gRPC servers take 4 MiB, whatever is in it. Pure; which points go
 * together is decided elsewhere.
 */
import type { Attributes, AttributeValue } from '@opentelemetry/api';

/** Times, keys of JSON, sum, extremes. */
const POINT_BYTES = 400;
/** A count and a bound, in digits. */
const BUCKET_BYTES = 28;
/** `{"key":"","value":{"stringValue":""}},`, and what protobuf needs is less. */
const ATTRIBUTE_BYTES = 48;
/** A control character as JSON escapes it; no other is longer in UTF-8. */
const CHARACTER_BYTES = 6;

/** @param buckets of a histogram; 0 for a number */
export function pointBytes(attributesBytes: number, buckets: number): number {
  return POINT_BYTES + attributesBytes + buckets * BUCKET_BYTES;
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
  // Of a list, every element has the same around it as an attribute.
  return Array.isArray(value) ? text + (value.length * ATTRIBUTE_BYTES) / CHARACTER_BYTES : text;
}
