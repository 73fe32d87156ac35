/**
 * Checks the properties of a message, then decodes them with amqplib, which throws at headers that it cannot decode, and uses
 * a header named `__proto__` as the prototype of the others. Such properties are reported as undecodable.
 */
import { HEADER_LIMITS } from '../header-limits.ts';
import { type FrameReader, OFFSET } from './frames.ts';

/** The message properties that are used. */
export interface Properties {
  /** The content type; like the encoding, '' if absent. */
  readonly contentType: string;
  readonly contentEncoding: string;
  /** Undefined if they cannot be decoded. */
  readonly headers: Readonly<Record<string, unknown>> | undefined;
}

const UNDECODABLE: Properties = { contentType: '', contentEncoding: '', headers: undefined };
const NO_HEADERS: Readonly<Record<string, unknown>> = Object.freeze({});

const HAS = { contentType: 0x8000, contentEncoding: 0x4000, headers: 0x2000 } as const;

const DEPTH_MAX = HEADER_LIMITS.header_depth.max;
/** The most values in all headers together. With this many, amqplib takes 10 ms to decode a header frame full of names. */
const VALUES_MAX = HEADER_LIMITS.header_values.max;
const PROTOTYPE = '__proto__';

/** How many decoded properties are cached, one for each worker, and their longest encoded form; Celery’s are shorter. */
const KNOWN_MAX = 1000;
const KNOWN_BYTES_MAX = 160;

/** The number of bytes of each type with a fixed length. */
const VALUE_BYTES: ReadonlyMap<number, number> = new Map(
  Object.entries({ V: 0, t: 1, b: 1, B: 1, s: 2, u: 2, I: 4, i: 4, f: 4, D: 5, d: 8, l: 8, L: 8, T: 8 }).map(
    ([tag, bytes]) => [code(tag), bytes],
  ),
);
/** The types whose values begin with their length. */
const [TEXT, BYTES, TABLE, ARRAY] = [code('S'), code('x'), code('F'), code('A')];
const SIZED: ReadonlySet<number> = new Set([TEXT, BYTES, TABLE, ARRAY]);
/** py-amqp writes long integers with the first tag; RabbitMQ accepts both, amqplib only the second. */
const [LONG, LONG_FOR_AMQPLIB] = [code('L'), code('l')];

export class PropertiesDecoder {
  readonly #reader: FrameReader;
  readonly #receive: FrameReader['recvFrame'];
  /** Encoded → decoded: all messages of a worker have the same properties. */
  readonly #known = new Map<string, Properties>();

  /** @param receive amqplib’s frame reader, which decodes the first frame in `rest` */
  constructor(reader: FrameReader, receive: FrameReader['recvFrame']) {
    this.#reader = reader;
    this.#receive = receive;
  }

  /** The properties in the content header from `at` to `end`. Afterwards `rest` of the reader is empty. */
  decode(bytes: Buffer, at: number, end: number): Properties {
    if (end - at > KNOWN_BYTES_MAX) return this.#decoded(bytes, at, end);
    const encoded = bytes.toString('latin1', at + OFFSET.flags, end - 1);
    let properties = this.#known.get(encoded);
    if (properties === undefined) {
      properties = this.#decoded(bytes, at, end);
      if (this.#known.size >= KNOWN_MAX) this.#known.clear();
      this.#known.set(encoded, properties);
    }
    return properties;
  }

  #decoded(bytes: Buffer, at: number, end: number): Properties {
    // A copy: decoded values may share its memory, and would keep the whole chunk alive.
    const frame = Buffer.from(bytes.subarray(at, end));
    if (!rewriteLongs(frame, frame.length - 1)) return UNDECODABLE;
    this.#reader.rest = frame;
    try {
      const { fields = {} } = this.#receive() || {};
      const { contentType = '', contentEncoding = '', headers = NO_HEADERS } = fields;
      return { contentType, contentEncoding, headers };
    } catch {
      // amqplib throws different errors.
      return UNDECODABLE;
    }
  }
}

/**
 * Retags each long integer in the headers for amqplib. Iterative, so nesting cannot exhaust the stack.
 * @param payloadEnd the offset at which the frame’s payload ends
 * @returns whether the headers are well formed and within the limits, and none is named `__proto__`
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

/** The offset at which the headers begin; undefined if there are none. */
function beginningOfHeaders(frame: Buffer, payloadEnd: number): number | undefined {
  const flags = payloadEnd < OFFSET.properties ? 0 : frame.readUInt16BE(OFFSET.flags);
  if ((flags & HAS.headers) === 0) return undefined;
  let at: number = OFFSET.properties;
  for (const text of [HAS.contentType, HAS.contentEncoding]) {
    if ((flags & text) !== 0) at += 1 + (frame[at] ?? 0);
  }
  return at;
}

function code(tag: string): number {
  return tag.charCodeAt(0);
}
