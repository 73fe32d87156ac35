/**
 * Sees to it that a chunk with many messages takes no more of a turn than reading may: a few kilobytes can take as long as
 * a whole turn. What is left goes back to the stream, so it is still there where the stream ends meanwhile. What the
 * frames are, and when there is time, is decided elsewhere.
 */
import type { Readable } from 'node:stream';
import { frameReader } from './headers.ts';

/** The type of the frame with which each message begins (AMQP 0-9-1, 4.2.3). */
const METHOD = 1;
const NOTHING = Buffer.alloc(0);

/**
 * @param connection of amqplib; its types do not say how it reads
 * @param stream that it reads from
 * @param hasTime asked before each message; where it says no, it makes the connection read again later
 */
export function paceFrames(connection: object, stream: Readable, hasTime: () => boolean): void {
  const reader = frameReader(connection);
  const receive = reader.recvFrame.bind(reader);
  reader.recvFrame = () => {
    const { rest } = reader;
    if (rest[0] !== METHOD || hasTime()) return receive();
    reader.rest = NOTHING;
    stream.unshift(rest);
    return false;
  };
}
