/**
 * Sees to it that no headers of a message end a session: amqplib throws where it cannot decode them, and that ends the
 * connection. Such a message is delivered as one without known properties. It touches content headers only: whatever
 * else cannot be decoded is the broker's own mistake, and still ends the session.
 */
import { HEADER_LIMITS } from '../header-limits.ts';

/** What amqplib's connection reads frames with. */
interface FrameReader {
  /** What was read and is not decoded yet. */
  rest: Buffer;
  /** Takes the next frame off `rest`, then decodes it; false where it is not whole yet. */
  recvFrame: () => unknown;
}

/** Stands where the properties of a message cannot be decoded. */
export const UNDECODABLE: object = Object.freeze({});

/** Where things are in a content header frame (AMQP 0-9-1, 2.3.5.2 and 4.2.6.1). */
export const AT = {
  channel: 1,
  size: 3,
  payload: 7,
  classId: 7,
  bodySize: 11,
  flags: 19,
  properties: 21,
} as const;
export const CONTENT_HEADER = 2;
const FRAME_END = 206;
export const BASIC = 60;
const HAS = { contentType: 0x8000, contentEncoding: 0x4000, headers: 0x2000 } as const;

const DEPTH_MAX = HEADER_LIMITS.header_depth.max;
/** A header frame full of names takes amqplib 10 ms. */
const VALUES_MAX = HEADER_LIMITS.header_values.max;
/** Too short for either, since a level takes its tag and its length: Celery's own headers are. */
const HARMLESS_BYTES = 5 * DEPTH_MAX;

/** Ways to write the properties of a message; a cluster has as many as it has workers. */
const KNOWN_MAX = 1000;

/** How long a value is, where its tag says so. */
const VALUE_BYTES: ReadonlyMap<number, number> = new Map(
  Object.entries({ V: 0, t: 1, b: 1, B: 1, s: 2, u: 2, I: 4, i: 4, f: 4, D: 5, d: 8, l: 8, L: 8, T: 8 }).map(
    ([tag, bytes]) => [code(tag), bytes],
  ),
);
/** And those that begin with their length. */
const [TEXT, BYTES, TABLE, ARRAY] = [code('S'), code('x'), code('F'), code('A')];
const SIZED: ReadonlySet<number> = new Set([TEXT, BYTES, TABLE, ARRAY]);
/** py-amqp writes integers beyond 32 bits so, and RabbitMQ takes both for the same; amqplib knows only the second. */
const [LONG, LONG_FOR_AMQPLIB] = [code('L'), code('l')];

/** @param connection of amqplib; its types do not say how it reads */
export function guardHeaders(connection: object): void {
  const reader = frameReader(connection);
  const receive = reader.recvFrame.bind(reader);
  /** By what they were decoded from: a worker’s are the same in all of its messages. */
  const known = new Map<string, object>();
  reader.recvFrame = () => {
    const { rest } = reader;
    const end = endOfContentHeader(rest);
    if (end === undefined) return receive();
    if (end <= HARMLESS_BYTES) {
      const encoded = rest.toString('latin1', AT.flags, end - 1);
      const fields = known.get(encoded);
      if (fields !== undefined) {
        reader.rest = rest.subarray(end);
        return contentHeader(rest, fields);
      }
      // A copy: values may be parts of what they were decoded from, and keep all that was read with it in memory.
      reader.rest = Buffer.from(rest.subarray(0, end));
      const asItIs = decoded(receive);
      reader.rest = rest.subarray(end);
      if (asItIs !== undefined) {
        if (known.size >= KNOWN_MAX) known.clear();
        if (hasFields(asItIs)) known.set(encoded, Object.freeze(asItIs.fields));
        return asItIs;
      }
    }
    reader.rest = rest;
    const respelt = respell(rest, end - 1) ? decoded(receive) : undefined;
    if (respelt !== undefined) return respelt;
    reader.rest = rest.subarray(end);
    return contentHeader(rest, UNDECODABLE);
  };
}

/** The frame as amqplib’s reader gives it. */
function contentHeader(frame: Buffer, fields: object) {
  const size = Number(frame.readBigInt64BE(AT.bodySize));
  return { id: BASIC, channel: frame.readUInt16BE(AT.channel), size, fields };
}

function hasFields(frame: unknown): frame is { readonly fields: object } {
  return typeof frame === 'object' && frame !== null && 'fields' in frame && typeof frame.fields === 'object';
}

/** @throws where amqplib reads in another way than the one that is known */
export function frameReader(connection: object): FrameReader {
  if (!isFrameReader(connection)) throw new Error('amqplib reads its frames in another way');
  return connection;
}

function isFrameReader(connection: object): connection is FrameReader {
  return (
    'rest' in connection &&
    Buffer.isBuffer(connection.rest) &&
    'recvFrame' in connection &&
    typeof connection.recvFrame === 'function'
  );
}

/** Where the next frame ends, if it is the whole content header of a message; what else it is, amqplib says better. */
export function endOfContentHeader(rest: Buffer): number | undefined {
  if (rest[0] !== CONTENT_HEADER || rest.length < AT.flags || rest.readUInt16BE(AT.classId) !== BASIC) {
    return undefined;
  }
  const last = AT.payload + rest.readUInt32BE(AT.size);
  return last >= AT.flags && rest[last] === FRAME_END ? last + 1 : undefined;
}

/** undefined where it cannot be decoded: what amqplib throws for that depends on what is wrong. */
function decoded(receive: () => unknown): unknown {
  try {
    return receive();
  } catch {
    return undefined;
  }
}

/**
 * Writes each long integer in the headers as amqplib reads it. It walks, and calls nothing for what is nested.
 * @param payloadEnd of the frame
 * @returns whether the headers are well formed and within the bounds
 */
function respell(frame: Buffer, payloadEnd: number): boolean {
  let at = beginningOfHeaders(frame, payloadEnd);
  if (at === undefined) return true;
  const around: { readonly end: number; readonly keyed: boolean }[] = [];
  // The headers themselves are a table like those in them, but that neither key nor tag stands before it.
  let tag = TABLE;
  for (let values = 0; values <= VALUES_MAX; values += 1) {
    const bytes = VALUE_BYTES.get(tag);
    if (bytes === undefined) {
      if (!SIZED.has(tag) || at + 4 > payloadEnd) return false;
      const end: number = at + 4 + frame.readUInt32BE(at);
      if (tag === TEXT || tag === BYTES) {
        at = end;
      } else {
        if (around.length === DEPTH_MAX || end > (around.at(-1)?.end ?? payloadEnd)) return false;
        around.push({ end, keyed: tag === TABLE });
        at += 4;
      }
    } else {
      at += bytes;
    }
    while (at === around.at(-1)?.end) around.pop();
    const inner = around.at(-1);
    if (inner === undefined) return true;
    if (inner.keyed) at += 1 + (frame[at] ?? 0);
    if (at >= inner.end) return false;
    tag = frame[at] ?? 0;
    if (tag === LONG) frame[at] = LONG_FOR_AMQPLIB;
    at += 1;
  }
  return false;
}

/** undefined where there are none. */
function beginningOfHeaders(frame: Buffer, payloadEnd: number): number | undefined {
  const flags = payloadEnd < AT.properties ? 0 : frame.readUInt16BE(AT.flags);
  if ((flags & HAS.headers) === 0) return undefined;
  let at: number = AT.properties;
  for (const text of [HAS.contentType, HAS.contentEncoding]) {
    if ((flags & text) !== 0) at += 1 + (frame[at] ?? 0);
  }
  return at;
}

function code(tag: string): number {
  return tag.charCodeAt(0);
}
