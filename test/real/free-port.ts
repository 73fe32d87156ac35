/**
 * Finds loopback ports for the real servers that tests start. It reserves nothing: a port is free when it is returned.
 */
import { randomInt } from 'node:crypto';
import { connect, createServer } from 'node:net';

/*
 * Below Linux' ephemeral range (32768–60999) on purpose. A restarted server needs its port again, which an outgoing
 * connection could have taken meanwhile; worse, a client that keeps connecting to a closed ephemeral port of its own
 * host may connect to itself (TCP simultaneous open).
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;
const ATTEMPTS_MAX = 100;

/** A loopback TCP port without a listener. Rejects if a hundred random ones are all taken. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if (await canListen(port)) return port;
  }
  throw new Error(`no free loopback port between ${FIRST_PORT} and ${LAST_PORT}`);
}

/** Resolves true if something accepts TCP connections at that loopback port. */
export function isPortOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => resolve(true)));
  });
}
