/**
 * Estimates the size of spans and log records: their approximate memory, which bounds the queue; and an upper bound for their
 * size in a request in any encoding, since backends limit requests. Pure.
 */
import type { LogRecord } from '../../logger/log-record.ts';
import type { Attributes, Span } from '../../tracer/span.ts';

/** The bytes of ids, times and objects. */
const ITEM_BYTES = 150;
const ATTRIBUTE_BYTES = 20;

/**
 * How many encoded bytes one byte in memory may need: a control character has six bytes in JSON, and field names are
 * covered, too.
 */
const ENCODED_BYTES = 6;

const sharedBytes = new WeakMap<Attributes, number>();

/** The memory of a span, without the attributes that it shares with other spans, which are in memory once. */
export function bytesOfSpan({ name, error, traceState, attributes, links, events }: Span): number {
  let bytes = ITEM_BYTES + name.length + traceState.length + attributesBytes(attributes);
  if (error !== undefined) bytes += error.description.length;
  for (const link of links) bytes += ITEM_BYTES + attributesBytes(link.attributes);
  for (const event of events) bytes += ITEM_BYTES + event.name.length + attributesBytes(event.attributes);
  return bytes;
}

/** @param bytes the result of {@link bytesOfSpan} */
export function requestBytesOfSpan({ shared }: Span, bytes: number): number {
  let ofShared = sharedBytes.get(shared);
  if (ofShared === undefined) {
    ofShared = attributesBytes(shared);
    sharedBytes.set(shared, ofShared);
  }
  return ENCODED_BYTES * (bytes + ofShared);
}

export function bytesOfLogRecord({ body, eventName, severityText, attributes }: LogRecord): number {
  return ITEM_BYTES + body.length + eventName.length + severityText.length + attributesBytes(attributes);
}

export function requestBytesOfLogRecord(_: LogRecord, bytes: number): number {
  return ENCODED_BYTES * bytes;
}

function attributesBytes(attributes: Attributes): number {
  let bytes = 0;
  for (const key in attributes) {
    const value = attributes[key];
    bytes += ATTRIBUTE_BYTES + key.length + (typeof value === 'string' ? value.length : 0);
  }
  return bytes;
}
