/**
 * Reads the messages for our consumer straight from the frames of a connection; other frames are left to amqplib.
 * amqplib takes longer to read a message than it takes to count its events, collects bodies of any size, and ends the
 * session at headers that it cannot decode. When the reading time of an event loop turn is used up, it pauses before
 * the next message: the rest goes back to the stream, so that it is not lost if the stream ends.
 */
import type { Readable } from 'node:stream';
import { endOfFrame, frameReader, OFFSET, TYPE } from './frames.ts';
import { type Properties, PropertiesDecoder } from './properties.ts';

/** Identifies our consumer among others of the connection. */
export const CONSUMER_TAG = 'celery-otel';

/** How a delivery to our consumer begins: class and method of basic.deliver (AMQP 0-9-1, 1.8.3.13), and the consumer’s tag. */
const TO_US = Buffer.from(`\0\x3c\0\x3c${String.fromCharCode(CONSUMER_TAG.length)}${CONSUMER_TAG}`, 'latin1');
/** The offset of the exchange’s name in a delivery, after the delivery tag and the redelivered flag. */
const EXCHANGE = OFFSET.payload + TO_US.length + 9;
const BASIC = 60;
const NOTHING = Buffer.alloc(0);
/** How many decoded routes are cached; a cluster has few. */
const ROUTES_MAX = 1000;

export interface Route {
  readonly exchange: string;
  readonly routingKey: string;
}

export interface DeliveryOptions {
  readonly stream: Readable;
  /** A body with more bytes is dropped as it arrives. */
  readonly bodyBytesMax: number;
  /** Called before each message; if it returns false, it also schedules the next read. */
  readonly hasTime: () => boolean;
  /** @param body undefined if it was dropped; valid until the next message is read */
  readonly onDelivery: (route: Route, properties: Properties, body: Buffer | undefined) => void;
}

/** Replaces how amqplib reads the frames of a connection. @param connection of amqplib, whose types do not describe how it reads */
export function readDeliveries(connection: object, options: DeliveryOptions): void {
  const reader = frameReader(connection);
  const receive = reader.recvFrame.bind(reader);
  const incoming = new IncomingMessage(new PropertiesDecoder(reader, receive), options);
  reader.recvFrame = () => {
    const { rest } = reader;
    let at = 0;
    for (let end = endOfFrame(rest, at); end > at; end = endOfFrame(rest, at)) {
      if (rest[at] === TYPE.method && !options.hasTime()) {
        reader.rest = NOTHING;
        options.stream.unshift(rest.subarray(at));
        return false;
      }
      if (!incoming.takes(rest, at, end)) break;
      at = end;
    }
    reader.rest = rest.subarray(at);
    return receive();
  };
}

/** The message whose frames are arriving. */
class IncomingMessage {
  readonly #decoder: PropertiesDecoder;
  readonly #options: DeliveryOptions;
  readonly #routes = new Map<string, Route>();
  /** The channel of the arriving message; undefined between messages. */
  #channel: number | undefined;
  #route: Route = { exchange: '', routingKey: '' };
  /** The properties of the arriving message; undefined before its content header. */
  #properties: Properties | undefined;
  #isDropped = false;
  #missingBytes = 0;
  /** Holds a body that arrives in several parts; reused, since buffers of megabytes stay in memory until a garbage collection. */
  #room = NOTHING;
  #filled = 0;

  constructor(decoder: PropertiesDecoder, options: DeliveryOptions) {
    this.#decoder = decoder;
    this.#options = options;
  }

  /** Reads the frame if it is part of a message for us; returns whether it was. */
  takes(bytes: Buffer, at: number, end: number): boolean {
    const channel = bytes.readUInt16BE(at + OFFSET.channel);
    if (bytes[at] === TYPE.method) return this.#takesMethod(bytes, at, end, channel);
    if (channel !== this.#channel) return false;
    if (this.#properties !== undefined)
      return bytes[at] === TYPE.body && this.#takesBody(bytes.subarray(at + OFFSET.payload, end - 1));
    return bytes[at] === TYPE.header && this.#takesHeader(bytes, at, end);
  }

  #takesMethod(bytes: Buffer, at: number, end: number, channel: number): boolean {
    if (end <= at + EXCHANGE || !isToUs(bytes, at + OFFSET.payload)) return false;
    if (this.#channel !== undefined) throw new Error('a message begins before the previous one is complete');
    this.#channel = channel;
    this.#route = this.#routeOf(bytes.toString('latin1', at + EXCHANGE, end - 1));
    this.#properties = undefined;
    return true;
  }

  #takesHeader(bytes: Buffer, at: number, end: number): boolean {
    if (end <= at + OFFSET.flags || bytes.readUInt16BE(at + OFFSET.classId) !== BASIC) return false;
    this.#properties = this.#decoder.decode(bytes, at, end);
    // As a float, since a hostile size may be beyond 2^53.
    this.#missingBytes =
      bytes.readUInt32BE(at + OFFSET.bodySize) * 2 ** 32 + bytes.readUInt32BE(at + OFFSET.bodySize + 4);
    this.#isDropped = this.#missingBytes > this.#options.bodyBytesMax;
    if (this.#missingBytes === 0) this.#handOver(NOTHING);
    return true;
  }

  #takesBody(part: Buffer): boolean {
    this.#missingBytes -= part.length;
    if (this.#missingBytes < 0) throw new Error('a body is longer than announced');
    const isWhole = this.#missingBytes === 0 && this.#filled === 0;
    if (!isWhole && !this.#isDropped) this.#keep(part);
    if (this.#missingBytes === 0) this.#handOver(isWhole ? part : this.#room.subarray(0, this.#filled));
    return true;
  }

  #keep(part: Buffer): void {
    const bytes = this.#filled + part.length + this.#missingBytes;
    if (this.#room.length < bytes) this.#room = Buffer.allocUnsafeSlow(bytes);
    this.#filled += part.copy(this.#room, this.#filled);
  }

  #handOver(body: Buffer): void {
    const properties = this.#properties;
    this.#channel = undefined;
    this.#filled = 0;
    if (properties !== undefined)
      this.#options.onDelivery(this.#route, properties, this.#isDropped ? undefined : body);
  }

  #routeOf(encoded: string): Route {
    let route = this.#routes.get(encoded);
    if (route === undefined) {
      const bytes = Buffer.from(encoded, 'latin1');
      const key = 1 + (bytes[0] ?? 0);
      route = { exchange: bytes.toString('utf8', 1, key), routingKey: bytes.toString('utf8', key + 1) };
      if (this.#routes.size >= ROUTES_MAX) this.#routes.clear();
      this.#routes.set(encoded, route);
    }
    return route;
  }
}

function isToUs(bytes: Buffer, at: number): boolean {
  for (let index = 0; index < TO_US.length; index += 1) if (bytes[at + index] !== TO_US[index]) return false;
  return true;
}
