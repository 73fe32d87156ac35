/**
 * Keeps undecodable message headers from ending a session: amqplib throws at them, which closes the connection. Such a
 * message is delivered without its properties. Only content headers are treated so: anything else that cannot be decoded
 * is the broker’s error and still ends the session.
 */
import { HEADER_LIMITS } from '../header-limits.ts';

/** The part of amqplib’s connection that reads frames. */
interface FrameReader {
  /** Bytes that were read and not decoded yet. */
  rest: Buffer;
  /** Takes the next frame off `rest` and decodes it; false if the frame is incomplete. */
  recvFrame: () => unknown;
}

/** Replaces the properties of a message where they cannot be decoded. */
export const UNDECODABLE: object = Object.freeze({});

/** Byte offsets in a content header frame (AMQP 0-9-1, 2.3.5.2 and 4.2.6.1). */
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
/** amqplib takes 10 ms to decode a header frame full of names. */
const VALUES_MAX = HEADER_LIMITS.header_values.max;
/** Too short to exceed either limit, since each level takes a tag and a length. Celery’s own headers are shorter. */
const HARMLESS_BYTES = 5 * DEPTH_MAX;

/** amqplib would take the value of such a header as the prototype of all headers. */
const PROTOTYPE = '__proto__';

/** Cached properties; a cluster has one for each worker. */
const KNOWN_MAX = 1000;

/** Types of a fixed length. */
const VALUE_BYTES: ReadonlyMap<number, number> = new Map(
  Object.entries({ V: 0, t: 1, b: 1, B: 1, s: 2, u: 2, I: 4, i: 4, f: 4, D: 5, d: 8, l: 8, L: 8, T: 8 }).map(
    ([tag, bytes]) => [code(tag), bytes],
  ),
);
/** Types that begin with their length. */
const [TEXT, BYTES, TABLE, ARRAY] = [code('S'), code('x'), code('F'), code('A')];
const SIZED: ReadonlySet<number> = new Set([TEXT, BYTES, TABLE, ARRAY]);
/** py-amqp writes long integers with the first tag; RabbitMQ accepts both, amqplib only the second. */
const [LONG, LONG_FOR_AMQPLIB] = [code('L'), code('l')];

/** @param connection amqplib’s; its types do not say how it reads */
export function guardHeaders(connection: object): void {
  const reader = frameReader(connection);
  const receive = reader.recvFrame.bind(reader);
  /** Encoded properties → decoded: all messages of a worker have the same. */
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
      // A copy: decoded values may share its memory, and would keep the whole chunk alive.
      reader.rest = Buffer.from(rest.subarray(0, end));
      const frame = encoded.includes(PROTOTYPE) ? undefined : decoded(receive);
      reader.rest = rest.subarray(end);
      if (frame !== undefined) {
        if (known.size >= KNOWN_MAX) known.clear();
        if (hasFields(frame)) known.set(encoded, Object.freeze(frame.fields));
        return frame;
      }
    }
    reader.rest = rest;
    const frame = rewriteLongs(rest, end - 1) ? decoded(receive) : undefined;
    if (frame !== undefined) return frame;
    reader.rest = rest.subarray(end);
    return contentHeader(rest, UNDECODABLE);
  };
}

/** The frame in the shape that amqplib’s reader returns. */
function contentHeader(frame: Buffer, fields: object) {
  const size = Number(frame.readBigInt64BE(AT.bodySize));
  return { id: BASIC, channel: frame.readUInt16BE(AT.channel), size, fields };
}

function hasFields(frame: unknown): frame is { readonly fields: object } {
  return typeof frame === 'object' && frame !== null && 'fields' in frame && typeof frame.fields === 'object';
}

/** @throws if amqplib’s internals have changed */
export function frameReader(connection: object): FrameReader {
  if (!isFrameReader(connection)) throw new Error('amqplib reads frames in a way that we do not know');
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

/** Where the next frame ends, if it is a complete content header; else undefined. */
export function endOfContentHeader(rest: Buffer): number | undefined {
  if (rest[0] !== CONTENT_HEADER || rest.length < AT.flags || rest.readUInt16BE(AT.classId) !== BASIC) {
    return undefined;
  }
  const last = AT.payload + rest.readUInt32BE(AT.size);
  return last >= AT.flags && rest[last] === FRAME_END ? last + 1 : undefined;
}

/** undefined if it cannot be decoded; which error amqplib throws then varies. */
function decoded(receive: () => unknown): unknown {
  try {
    return receive();
  } catch {
    return undefined;
  }
}

/**
 * Retags each long integer in the headers for amqplib. Iterative, so nesting cannot exhaust the stack.
 * @param payloadEnd of the frame
 * @returns whether the headers are well formed, within the limits, and none is a prototype
 */
function rewriteLongs(frame: Buffer, payloadEnd: number): boolean {
  let at = beginningOfHeaders(frame, payloadEnd);
  if (at === undefined) return true;
  const enclosing: { readonly end: number; readonly keyed: boolean }[] = [];
  // The headers themselves are a table, without a key or tag before it.
  let tag = TABLE;
  for (let values = 0; values <= VALUES_MAX; values += 1) {
    const bytes = VALUE_BYTES.get(tag);
    if (bytes === undefined) {
      if (!SIZED.has(tag) || at + 4 > payloadEnd) return false;
      const end: number = at + 4 + frame.readUInt32BE(at);
      if (tag === TEXT || tag === BYTES) {
        at = end;
      } else {
        if (enclosing.length === DEPTH_MAX || end > (enclosing.at(-1)?.end ?? payloadEnd)) return false;
        enclosing.push({ end, keyed: tag === TABLE });
        at += 4;
      }
    } else {
      at += bytes;
    }
    while (at === enclosing.at(-1)?.end) enclosing.pop();
    const inner = enclosing.at(-1);
    if (inner === undefined) return true;
    if (inner.keyed) {
      const name: number = at + 1;
      at = name + (frame[at] ?? 0);
      if (at - name === PROTOTYPE.length && frame.toString('latin1', name, at) === PROTOTYPE) return false;
    }
    if (at >= inner.end) return false;
    tag = frame[at] ?? 0;
    if (tag === LONG) frame[at] = LONG_FOR_AMQPLIB;
    at += 1;
  }
  return false;
}

/** undefined if there are none. */
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
