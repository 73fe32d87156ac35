/**
 * Sees to it that a body that nobody will read costs no memory: amqplib collects all of it, up to the 128 MiB that RabbitMQ
 * takes. Each frame of such a body is dropped as it is read, and its message is delivered as one without. What becomes of
 * that message is not decided here.
 */
import { AT, BASIC, CONTENT_HEADER, endOfContentHeader, frameReader } from './headers.ts';

/** Stands where the properties of a message are whose body was dropped. */
export const BODY_DROPPED: object = Object.freeze({});

/** What amqplib gets instead: nothing of each frame but the last, and a byte of that, so that it still sees the end. */
const [NOTHING, SOMETHING] = [Buffer.alloc(0), Buffer.alloc(1)];
/** More than was announced, which amqplib takes for the broker's mistake. */
const TOO_MUCH = Buffer.alloc(SOMETHING.length + 1);

interface BodyFrame {
  readonly channel: number;
  readonly content: Buffer;
}

/**
 * @param connection of amqplib; its types do not say how it reads
 * @param bytesMax of a body that is read
 */
export function guardBodies(connection: object, bytesMax: number): void {
  const reader = frameReader(connection);
  const receive = reader.recvFrame.bind(reader);
  /** Channel → what is still to come of a body that is dropped. */
  const missing = new Map<number, number>();

  /** A frame may come through here twice: amqplib calls itself when it has to read more. */
  function withoutBody(frame: BodyFrame): BodyFrame {
    const { channel, content } = frame;
    const bytes = missing.get(channel);
    if (bytes === undefined) return frame;
    const left = bytes - content.length;
    if (left > 0) missing.set(channel, left);
    else missing.delete(channel);
    if (left > 0) return { channel, content: NOTHING };
    return { channel, content: left === 0 ? SOMETHING : TOO_MUCH };
  }

  reader.recvFrame = () => {
    const { rest } = reader;
    const bytes = announcedBytes(rest);
    const end = bytes > bytesMax ? endOfContentHeader(rest) : undefined;
    if (end !== undefined) {
      const channel = rest.readUInt16BE(AT.channel);
      missing.set(channel, bytes);
      reader.rest = rest.subarray(end);
      return { id: BASIC, channel, size: SOMETHING.length, fields: BODY_DROPPED };
    }
    const frame = receive();
    return missing.size > 0 && isBody(frame) ? withoutBody(frame) : frame;
  };
}

/** How large the body is that the next frame announces; 0 where it announces none. */
function announcedBytes(rest: Buffer): number {
  if (rest[0] !== CONTENT_HEADER || rest.length < AT.flags) return 0;
  return rest.readUInt32BE(AT.bodySize) * 2 ** 32 + rest.readUInt32BE(AT.bodySize + 4);
}

function isBody(frame: unknown): frame is BodyFrame {
  return typeof frame === 'object' && frame !== null && 'content' in frame;
}
