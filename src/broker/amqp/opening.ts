/**
 * Opens a connection with amqplib, and holds back the data that the broker sends right after the handshake: amqplib would
 * read it before anyone can listen to the connection’s errors, so a malformed frame would end the process. It reads no
 * messages.
 */
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import type { ChannelModel } from 'amqplib';
import { endOfFrame, OFFSET, TYPE } from './frames.ts';

/** Class and method of Connection.OpenOk (AMQP 0-9-1, 1.4.2.8), the end of the handshake. */
const OPEN_OK = 0x00_0a_00_29;

/** @param connect must create its socket before it returns */
export async function opened(isSecure: boolean, connect: () => Promise<ChannelModel>): Promise<ChannelModel> {
  const { socket, result: opening } = socketOf(isSecure ? tls : net, connect);
  const release = socket === undefined ? undefined : holdBack(socket);
  const model = await opening;
  if (release === undefined) throw new Error('this version of amqplib connects in an unknown way');
  // An error also rejects the call that it concerns, or closes the connection, where it is handled.
  model.on('error', () => undefined);
  // The caller must add its listeners first.
  setImmediate(release);
  return model;
}

/** The socket that `connect` creates: amqplib accepts none from outside, and does not expose its own in time. */
function socketOf<Result>(module: typeof net | typeof tls, connect: () => Result) {
  const original = module.connect;
  let socket: Socket | undefined;
  Reflect.set(module, 'connect', (...args: Parameters<typeof original>) => {
    socket = Reflect.apply(original, module, args);
    return socket;
  });
  try {
    const result = connect();
    return { socket, result };
  } finally {
    Reflect.set(module, 'connect', original);
  }
}

/** Keeps the data after the handshake in the stream. @returns a function that releases it */
function holdBack(socket: Socket): () => void {
  const read = socket.read.bind(socket);
  /** The start of an incomplete frame; amqplib limits its length. */
  let begun: Buffer = Buffer.alloc(0);
  let isOpen = false;
  let isReleased = false;
  socket.read = (size?: number): unknown => {
    if (isReleased) return read(size);
    const chunk: unknown = isOpen ? null : read(size);
    if (!Buffer.isBuffer(chunk)) return chunk;
    const bytes = Buffer.concat([begun, chunk]);
    let at = 0;
    for (let end = endOfFrame(bytes, at); end > at && !isOpen; end = endOfFrame(bytes, at)) {
      isOpen = isOpenOk(bytes.subarray(at, end));
      at = end;
    }
    if (!isOpen) {
      begun = bytes.subarray(at);
      return chunk;
    }
    const taken = at - begun.length;
    if (taken < chunk.length) socket.unshift(chunk.subarray(taken));
    return chunk.subarray(0, taken);
  };
  return () => {
    isReleased = true;
    if (!socket.destroyed) socket.emit('readable');
  };
}

function isOpenOk(frame: Buffer): boolean {
  return (
    frame[0] === TYPE.method &&
    frame.length > OFFSET.payload + 4 &&
    frame.readUInt32BE(OFFSET.payload) === OPEN_OK
  );
}
