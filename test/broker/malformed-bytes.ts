/** What no server may send, by what it is. */
import { CONSUMER_TAG } from '../../src/broker/amqp/deliveries.ts';
import { contentHeader, frame, long, method, shortText } from './amqp/frames.ts';
import { bulk, list } from './redis/scripted-redis.ts';

const NOTHING = Buffer.alloc(0);
const CHANNEL = 1;
const DELIVERY = method(
  CHANNEL,
  60,
  60,
  ...[shortText(CONSUMER_TAG), Buffer.alloc(9), shortText('celeryev'), shortText('task.sent')],
);

/** Bytes that answer nothing. */
export const OF_REDIS: Readonly<Record<string, string>> = {
  'a null': '$-1\r\n',
  'a null list': '*-1\r\n',
  'an empty list': '*0\r\n',
  'a message without parts': list(bulk('pmessage')),
  'a subscription to null': list(bulk('psubscribe'), '$-1\r\n', ':1\r\n'),
  'a message of null': list(bulk('pmessage'), bulk('*'), bulk('c'), '$-1\r\n'),
  'a message that is a number': list(bulk('pmessage'), bulk('*'), bulk('c'), ':1\r\n'),
  'a message of a pattern that is null': list(bulk('pmessage'), '$-1\r\n', bulk('c'), bulk('x')),
  'an unknown type': '?1\r\n',
  'an error': '-ERR nothing\r\n',
  'a list of 33 million': '*33000000\r\n',
  'a text of 512 MiB': `$${512 * 1024 * 1024}\r\nx`,
  'ten thousand nulls': '$-1\r\n'.repeat(10_000),
};

export const OF_AMQP: Readonly<Record<string, Buffer>> = {
  'no frame': Buffer.alloc(20, 0xff),
  'a frame of an unknown type': frame(9, 0, NOTHING),
  'an unknown method': method(0, 99, 99),
  'an empty method': frame(1, 0, NOTHING),
  'a frame of a channel that was never opened': method(7, 20, 11, long(0)),
  'an answer to nothing': method(CHANNEL, 20, 11, long(0)),
  'a part of a body': frame(3, CHANNEL, Buffer.from('x')),
  'a content header': contentHeader(CHANNEL, 1, 0, NOTHING),
  'a content header without a size': Buffer.concat([DELIVERY, frame(2, CHANNEL, Buffer.from('003c', 'hex'))]),
  'a content header of another class': frame(2, CHANNEL, Buffer.from('00ff000000000000000000000000', 'hex')),
  'a frame that does not end where it says': Buffer.concat([
    frame(2, CHANNEL, NOTHING).subarray(0, -1),
    Buffer.from([0]),
  ]),
  'the end of the handshake': method(0, 10, 41, shortText('')),
  'a message within a message': Buffer.concat([DELIVERY, DELIVERY]),
};

/** For a fuzz; the long ones say nothing more there. */
export const REDIS_TOKENS: readonly Buffer[] = Object.values(OF_REDIS)
  .filter((text) => text.length < 100)
  .map((text) => Buffer.from(text));
export const AMQP_TOKENS: readonly Buffer[] = Object.values(OF_AMQP);
