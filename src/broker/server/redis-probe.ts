/**
 * Asks whether a server that said nothing to another protocol is a Redis, which waits for the end of a line. It sends one line, and
 * does not log in.
 */
import type { ConnectionOptions } from 'node:tls';
import { dial } from './dial.ts';

/** What the reason of a failure ends with if it is one. */
export const AS_REDIS = '; it answers as a Redis';

const TIMEOUT_MS = 1000;
/** With or without a password, and whatever state it is in. */
const REPLY = /^(?:\+PONG|-(?:NOAUTH|NOPERM|DENIED|LOADING|MASTERDOWN|ERR) )/u;

/** Never rejects. @param tls undefined without it */
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
    // A reply that short comes in one piece.
    socket.once('data', (bytes: Buffer) => settle(REPLY.test(`${bytes.toString('latin1').trimEnd()} `)));
  });
}
