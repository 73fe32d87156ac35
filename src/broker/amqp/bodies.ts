/**
 * Keeps oversized bodies out of memory: amqplib collects a whole body, up to RabbitMQ’s 128 MiB. Here each frame of such a
 * body is dropped as it is read, and its message is delivered without a body. How that message is counted is decided
 * elsewhere.
 */
import { AT, BASIC, CONTENT_HEADER, endOfContentHeader, frameReader } from './headers.ts';

/** Replaces the properties of a message whose body was dropped. */
export const BODY_DROPPED: object = Object.freeze({});

/** What amqplib gets instead of frames: one byte for the last, so that it still sees the end, and nothing before. */
const [NOTHING, LAST_BYTE] = [Buffer.alloc(0), Buffer.alloc(1)];
/** More than was announced: amqplib reports it as a protocol error. */
const TOO_MUCH = Buffer.alloc(LAST_BYTE.length + 1);

interface BodyFrame {
  readonly channel: number;
  readonly content: Buffer;
}

/**
 * @param connection amqplib’s; its types do not say how it reads
 * @param bytesMax larger bodies are dropped
 */
export function guardBodies(connection: object, bytesMax: number): void {
  const reader = frameReader(connection);
  const receive = reader.recvFrame.bind(reader);
  /** Channel → bytes still to come of a body that is dropped. */
  const missing = new Map<number, number>();

  /** A frame may pass through here twice: amqplib calls itself when it has to read more. */
  function withoutBody(frame: BodyFrame): BodyFrame {
    const { channel, content } = frame;
    const bytes = missing.get(channel);
    if (bytes === undefined) return frame;
    const left = bytes - content.length;
    if (left > 0) missing.set(channel, left);
    else missing.delete(channel);
    if (left > 0) return { channel, content: NOTHING };
    return { channel, content: left === 0 ? LAST_BYTE : TOO_MUCH };
  }

  reader.recvFrame = () => {
    const { rest } = reader;
    const bytes = announcedBytes(rest);
    const end = bytes > bytesMax ? endOfContentHeader(rest) : undefined;
    if (end !== undefined) {
      const channel = rest.readUInt16BE(AT.channel);
      missing.set(channel, bytes);
      reader.rest = rest.subarray(end);
      return { id: BASIC, channel, size: LAST_BYTE.length, fields: BODY_DROPPED };
    }
    const frame = receive();
    return missing.size > 0 && isBody(frame) ? withoutBody(frame) : frame;
  };
}

/** The size of the body that the next frame announces; 0 if it announces none. */
function announcedBytes(rest: Buffer): number {
  if (rest[0] !== CONTENT_HEADER || rest.length < AT.flags) return 0;
  return rest.readUInt32BE(AT.bodySize) * 2 ** 32 + rest.readUInt32BE(AT.bodySize + 4);
}

function isBody(frame: unknown): frame is BodyFrame {
  return typeof frame === 'object' && frame !== null && 'content' in frame;
}
