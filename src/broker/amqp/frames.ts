/** The layout of AMQP 0-9-1 frames (2.3.5 and 4.2), and access to amqplib’s frame reader. It decodes nothing. */
import type { MessageProperties } from 'amqplib';

/** The types of the frames that make a message. */
export const TYPE = { method: 1, header: 2, body: 3 } as const;

/** Byte offsets within a frame; `classId` and the following ones apply to a content header. */
export const OFFSET = {
  channel: 1,
  size: 3,
  payload: 7,
  classId: 7,
  bodySize: 11,
  flags: 19,
  properties: 21,
} as const;
const FRAME_END = 206;

/** The part of amqplib’s connection that reads frames. */
export interface FrameReader {
  /** Bytes that were read and not decoded yet. */
  rest: Buffer;
  /** Takes the next frame off `rest` and decodes it; false if the frame is incomplete. */
  recvFrame: () => false | { readonly fields?: Partial<MessageProperties> };
}

/** @throws if amqplib’s internals have changed */
export function frameReader(connection: object): FrameReader {
  if (!isFrameReader(connection)) throw new Error('this version of amqplib reads frames in an unknown way');
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

/** Where the frame that begins at `start` ends; `start` if it is incomplete or malformed. */
export function endOfFrame(bytes: Buffer, start: number): number {
  if (bytes.length < start + OFFSET.payload) return start;
  const last = start + OFFSET.payload + bytes.readUInt32BE(start + OFFSET.size);
  return bytes[last] === FRAME_END ? last + 1 : start;
}
