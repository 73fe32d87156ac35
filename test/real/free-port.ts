/**
 * Finds loopback ports for the real servers that tests start, and gives none to two tests, whichever processes they run in.
 * It does not listen there: a program that is no test can still take a port before its server does.
 */
import { randomInt } from 'node:crypto';
import { mkdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/*
 * Below Linux' ephemeral range (32768–60999) on purpose. A restarted server needs its port again, which an outgoing
 * connection could have taken meanwhile; worse, a client that keeps connecting to a closed ephemeral port of its own
 * host may connect to itself (TCP simultaneous open).
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;
const ATTEMPTS_MAX = 100;
/** An empty file for each port that was given away. */
const CLAIMS = join(tmpdir(), 'celery-otel-ports');
/** Longer than any run of all tests. */
const CLAIM_MS = 3_600_000;

/** A loopback TCP port without a listener, for the caller alone. Rejects if a hundred random ones are all taken. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if (claim(port) && (await canListen(port))) return port;
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

/** False if the port was given away within the last hour. */
function claim(port: number): boolean {
  const file = join(CLAIMS, String(port));
  mkdirSync(CLAIMS, { recursive: true });
  try {
    writeFileSync(file, '', { flag: 'wx' });
    return true;
  } catch {
    const now = Date.now();
    if (now - statSync(file).mtimeMs < CLAIM_MS) return false;
    utimesSync(file, now / 1000, now / 1000);
    return true;
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => resolve(true)));
  });
}
