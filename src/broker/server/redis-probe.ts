/**
 * Checks whether a server that does not reply to another protocol is a Redis server, which still waits for the end of a line.
 * It sends one line, and does not log in.
 */
import type { ConnectionOptions } from 'node:tls';
import { dial } from './dial.ts';

/** Appended to the reason of a failure if the server is a Redis server. */
export const AS_REDIS = '; it replies like a Redis server';

const TIMEOUT_MS = 1000;
/** The beginning of each reply to `PING` of a Redis server, with or without a password, in any state. */
const REPLY = /^(?:\+PONG|-(?:NOAUTH|NOPERM|DENIED|LOADING|MASTERDOWN|ERR) )/u;

/** Never rejects. @param tls the options of TLS; undefined: no TLS */
export function isRedisAt(
  place: { readonly host: string; readonly port: number },
  tls: ConnectionOptions | undefined,
): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = dial(place, tls, () => socket.write('PING\r\n'));
    const settle = (is: boolean): void => {
      socket.destroy();
      resolve(is);
    };
    socket.setTimeout(TIMEOUT_MS, () => settle(false));
    socket.on('error', () => settle(false)).on('close', () => settle(false));
    // Such a short reply arrives in one piece.
    socket.once('data', (bytes: Buffer) => settle(REPLY.test(`${bytes.toString('latin1').trimEnd()} `)));
  });
}
