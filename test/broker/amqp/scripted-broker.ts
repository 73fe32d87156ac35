/** A broker that accepts a subscription and then sends exactly the bytes that a test gives it. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { CONSUMER_TAG } from '../../../src/broker/amqp/deliveries.ts';
import type { Ending } from '../../e2e/bridge-process.ts';
import { long, longText, method, short, shortText } from './frames.ts';

const CHANNEL = 1;
const NO_TABLE = long(0);
const CONSUME = '60.20';

export interface ScriptedBroker {
  readonly url: string;
  /** Sends a message: its method frame, then these frames. */
  deliver(frames: Buffer): Buffer;
  /** Sends bytes to all clients. */
  send(bytes: Buffer): void;
  /** Closes the connection. */
  sendLast(bytes: Buffer): void;
}

/** A message: the method that announces it, and these frames. */
export function deliver(frames: Buffer): Buffer {
  const announced = [shortText(CONSUMER_TAG), Buffer.alloc(9), shortText('celeryev'), shortText('task.sent')];
  return Buffer.concat([method(CHANNEL, 60, 60, ...announced), frames]);
}

/** The reply to a method, by class and method. The handshake begins with the client’s header. */
const ANSWERS = new Map<string, (channel: number) => Buffer>([
  ['10.11', () => method(0, 10, 30, short(2047), long(131_072), short(0))],
  ['10.40', () => method(0, 10, 41, shortText(''))],
  ['10.50', () => method(0, 10, 51)],
  ['20.10', (channel) => method(channel, 20, 11, longText(''))],
  ['20.40', (channel) => method(channel, 20, 41)],
  ['40.10', (channel) => method(channel, 40, 11)],
  ['50.10', (channel) => method(channel, 50, 11, shortText('queue'), long(0), long(0))],
  ['50.20', (channel) => method(channel, 50, 21)],
  ['60.10', (channel) => method(channel, 60, 11)],
  [CONSUME, (channel) => method(channel, 60, 21, shortText(CONSUMER_TAG))],
]);

/** What is sent instead of the reply to a method, by class and method; undefined: the reply. */
export type Instead = (name: string, channel: number, reply: Buffer | undefined) => Buffer | undefined;

/** @param first sent together with the reply to the subscription */
export async function startScriptedBroker(
  t: Ending,
  first = Buffer.alloc(0),
  instead: Instead = () => undefined,
): Promise<ScriptedBroker> {
  const clients = new Set<Socket>();
  const server = createServer((socket) => {
    clients.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => clients.delete(socket));
    answer(socket, first, instead);
  });
  await once(server.listen({ host: '127.0.0.1', port: 0 }), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it has no port');
  // Clients that are still connected close by themselves.
  t.after(() => void server.close());
  return {
    url: `amqp://127.0.0.1:${address.port}`,
    deliver,
    send(bytes) {
      for (const socket of clients) socket.write(bytes);
    },
    sendLast(bytes) {
      for (const socket of clients) socket.end(bytes);
    },
  };
}

function answer(socket: Socket, first: Buffer, instead: Instead): void {
  let received = Buffer.alloc(0);
  let greeted = false;
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk]);
    if (!greeted && received.length >= 8) {
      greeted = true;
      received = received.subarray(8);
      const versions = Buffer.from([0, 9]);
      const start = method(0, 10, 10, versions, NO_TABLE, longText('PLAIN'), longText('en_US'));
      socket.write(instead('', 0, start) ?? start);
    }
    while (greeted && received.length >= 8 && received.length >= 8 + received.readUInt32BE(3)) {
      const size = received.readUInt32BE(3);
      if (received[0] === 1) {
        const name = `${received.readUInt16BE(7)}.${received.readUInt16BE(9)}`;
        const channel = received.readUInt16BE(1);
        const reply = ANSWERS.get(name)?.(channel);
        const frames = instead(name, channel, reply) ?? reply;
        if (frames !== undefined) socket.write(name === CONSUME ? Buffer.concat([frames, first]) : frames);
      }
      received = received.subarray(8 + size);
    }
  });
}
