/**
 * Pauses between the messages of a chunk when the time for reading in an event loop turn is up: a few kilobytes of messages
 * can take a whole turn. The rest goes back to the stream, so it is not lost if the stream ends meanwhile. It does not
 * decode frames, and does not decide when the time is up.
 */
import type { Readable } from 'node:stream';
import { frameReader } from './headers.ts';

/** The type of the first frame of each message (AMQP 0-9-1, 4.2.3). */
const METHOD = 1;
const NOTHING = Buffer.alloc(0);

/**
 * @param connection amqplib’s; its types do not say how it reads
 * @param stream that it reads from
 * @param hasTime called before each message; if it returns false, it also schedules the next read
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
