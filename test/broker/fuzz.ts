/**
 * Sessions with a broker whose bytes arrive changed, at any moment from the handshake to the close: the process goes on, each session
 * ends when it is asked to, and another service misses nothing. All of it follows from a seed.
 */
import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Ending } from '../e2e/bridge-process.ts';
import { type Random, seeded } from '../e2e/seeded.ts';
import { listenOnLoopback } from '../otlp/send/loopback-server.ts';
import { attend, PARTS } from './attended-service.ts';
import { published, startScriptedRedis } from './redis/scripted-redis.ts';

export interface Fuzzed {
  /** Of a broker; `PORT` stands for the port where its bytes arrive changed. */
  readonly urlAt: (port: number) => string;
  readonly port: number;
  /** What is put between its bytes. */
  readonly tokens: readonly Buffer[];
  /** Sends something to all who listen. */
  readonly publish: () => unknown;
}

const AT_ONCE = 20;
/** Of the pieces that a server sends to a connection, the last one that may be the first that is changed. */
const PIECES_MAX = 14;
const CHANGED = 0.5;
const SESSION_MS = 250;

/** @returns how the sessions and attempts ended, and how often */
export async function fuzz(
  t: Ending,
  { urlAt, port, tokens, publish }: Fuzzed,
  { sessions, seed }: { readonly sessions: number; readonly seed: number },
): Promise<ReadonlyMap<string, number>> {
  const neighbour = await startNeighbour(t);
  const ends = new Map<string, number>();
  const one = async (index: number): Promise<void> => {
    const random = seeded(seed + index);
    const endings: (() => unknown)[] = [];
    const own = { after: (end: () => unknown) => void endings.push(end) };
    const relay = await startChangingRelay(own, port, changes(random, tokens));
    const service = attend(own, urlAt(relay), 2 * SESSION_MS);
    for (let part = 0; part <= PARTS.length; part += 1) {
      await delay(SESSION_MS / PARTS.length);
      publish();
      neighbour.report();
      const asked = PARTS[part];
      if (asked !== undefined && service.isOpen()) void service.ask(asked).catch(() => undefined);
    }
    await service.stop();
    for (const { end } of service.ends()) ends.set(end, 1 + (ends.get(end) ?? 0));
    for (const end of endings.reverse()) await end();
  };
  for (let from = 0; from < sessions; from += AT_ONCE) {
    const group = Array.from({ length: Math.min(AT_ONCE, sessions - from) }, (_, index) => from + index);
    await Promise.all(group.map(one));
  }
  await neighbour.isExact();
  return ends;
}

async function startNeighbour(t: Ending) {
  const { url, publish } = await startScriptedRedis(t);
  const service = attend(t, url);
  await service.connected();
  let reported = 0;
  return {
    report(): void {
      reported += 1;
      publish(published('/0.celeryev/task.sent', String(reported)));
    },
    async isExact(): Promise<void> {
      await service.bodies.reaches(reported);
      assert.deepEqual(
        service.bodies.items,
        Array.from({ length: reported }, (_, index) => String(index + 1)),
      );
      assert.deepEqual(service.ends(), []);
    },
  };
}

type Change = (piece: Buffer) => Buffer;

/** @returns a change for each connection */
function changes(random: Random, tokens: readonly Buffer[]): () => Change {
  return () => {
    let left = Math.floor(random() * PIECES_MAX);
    return (piece) => {
      left -= 1;
      return left < 0 && random() < CHANGED ? changed(piece, random, tokens) : piece;
    };
  };
}

function changed(piece: Buffer, random: Random, tokens: readonly Buffer[]): Buffer {
  const at = Math.floor(random() * (piece.length + 1));
  const to = at + Math.floor(random() * Math.min(64, piece.length - at + 1));
  const [before, within, after] = [piece.subarray(0, at), piece.subarray(at, to), piece.subarray(to)];
  const token = tokens[Math.floor(random() * tokens.length)] ?? within;
  switch (Math.floor(random() * 6)) {
    case 0:
      return Buffer.concat([before, after]);
    case 1:
      return Buffer.concat([before, within, within, after]);
    case 2:
      return Buffer.concat([before, token, within, after]);
    case 3:
      return Buffer.concat([piece, token]);
    case 4:
      return Buffer.concat([before, Buffer.from(within.map(() => Math.floor(random() * 256))), after]);
    default: {
      const flipped = Buffer.from(piece);
      for (let bits = 0; bits < 3; bits += 1) {
        const byte = Math.floor(random() * flipped.length);
        flipped[byte] = (flipped[byte] ?? 0) ^ (1 << Math.floor(random() * 8));
      }
      return flipped;
    }
  }
}

/** Changes what the server sends. @returns its port */
async function startChangingRelay(t: Ending, target: number, changeOf: () => Change): Promise<number> {
  const server = createServer((client) => {
    const upstream = connect({ host: '127.0.0.1', port: target });
    const change = changeOf();
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
    upstream.on('error', () => client.destroy()).on('close', () => client.end());
    client.pipe(upstream);
    upstream.on('data', (piece: Buffer) => client.write(change(piece)));
  });
  const { port, stop } = await listenOnLoopback(server, {});
  t.after(stop);
  return port;
}
