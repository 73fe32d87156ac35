/**
 * Opens the envelope in which kombu publishes a message to Redis (transport/virtual/base.py, `Message`): JSON with the
 * properties, and the body in base64. It checks the size and the structure first and never throws.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { excessOf, isJsonObject } from '../../text/json-structure.ts';
import type { RawMessage } from '../broker.ts';
import { HEADER_LIMITS } from '../header-limits.ts';

/** The most bytes around the body: properties and headers. */
const AROUND_BYTES_MAX = 64 * 1024;
/** Envelopes of up to this many bytes are parsed without a check: they cannot contain much. */
const UNSCANNED_BYTES_MAX = 16 * 1024;
/** The levels of nesting outside of the values of the headers: the envelope and its headers. */
const LEVELS_AROUND_HEADERS = 2;
const STRUCTURE = {
  depthMax: HEADER_LIMITS.header_depth.max + LEVELS_AROUND_HEADERS,
  tokensMax: 2 * HEADER_LIMITS.header_values.max,
};

export interface Opened {
  readonly message: RawMessage;
  /** Identifies the message, which may arrive on two channels; '' if unknown. */
  readonly deliveryTag: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** The most bytes of an envelope whose body has up to `bodyBytesMax` bytes when decoded. */
export function envelopeBytesMax(bodyBytesMax: number): number {
  return Math.ceil(bodyBytesMax / 3) * 4 + AROUND_BYTES_MAX;
}

/** @param bodyBytesMax a larger body is dropped */
export function openEnvelope(envelope: Buffer, arrivedAtMs: number, bodyBytesMax: number): Opened {
  const fields = fieldsOf(envelope, bodyBytesMax);
  if (fields === 'too-large') return unreadable(arrivedAtMs, undefined);
  const properties = objectOf(fields?.['properties']);
  const body = bodyOf(fields?.['body'], properties?.['body_encoding'], bodyBytesMax);
  const headers = objectOf(fields?.['headers']);
  if (fields === undefined || body === 'malformed' || headers === undefined || !isBounded(headers)) {
    return unreadable(arrivedAtMs, NOTHING);
  }
  const delivery = objectOf(properties?.['delivery_info']);
  return {
    message: {
      arrivedAtMs,
      exchange: textOf(delivery?.['exchange']),
      routingKey: textOf(delivery?.['routing_key']),
      contentType: textOf(fields['content-type']),
      contentEncoding: textOf(fields['content-encoding']),
      headers,
      body,
    },
    deliveryTag: textOf(properties?.['delivery_tag']),
  };
}

const NOTHING = Buffer.alloc(0);

/** A message of which only the arrival time is known. */
function unreadable(arrivedAtMs: number, body: Buffer | undefined): Opened {
  const unknown = { exchange: '', routingKey: '', contentType: '', contentEncoding: '', headers: undefined };
  return { message: { arrivedAtMs, ...unknown, body }, deliveryTag: '' };
}

function fieldsOf(envelope: Buffer, bodyBytesMax: number): Fields | 'too-large' | undefined {
  if (envelope.length > envelopeBytesMax(bodyBytesMax)) return 'too-large';
  if (envelope.length > UNSCANNED_BYTES_MAX && excessOf(envelope, STRUCTURE) !== undefined) return undefined;
  // Python writes ASCII JSON by default, which is decoded faster as latin1.
  const isPlain = isAscii(envelope);
  if (!(isPlain || isUtf8(envelope))) return undefined;
  try {
    return objectOf(JSON.parse(envelope.toString(isPlain ? 'latin1' : 'utf8')));
  } catch {
    return undefined;
  }
}

/** kombu’s `body_encoding` is base64 unless a transport option changes it: then the body is the text itself. */
function bodyOf(body: unknown, encoding: unknown, bytesMax: number): Buffer | undefined | 'malformed' {
  if (typeof body !== 'string') return 'malformed';
  const decoded = Buffer.from(body, encoding === 'base64' ? 'base64' : 'utf8');
  return decoded.length > bytesMax ? undefined : decoded;
}

/** Whether the headers, as the first level of nesting, are within the same limits as in AMQP. */
function isBounded(headers: Fields): boolean {
  let level: readonly object[] = [headers];
  let values = 0;
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > HEADER_LIMITS.header_depth.max) return false;
    const held: readonly unknown[] = level.flatMap((each) => Object.values(each));
    values += held.length;
    if (values > HEADER_LIMITS.header_values.max) return false;
    level = held.filter((value) => typeof value === 'object' && value !== null);
  }
  return true;
}

function objectOf(value: unknown): Fields | undefined {
  return isJsonObject(value) ? value : undefined;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
