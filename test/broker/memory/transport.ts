/** The transport of a broker of the tests’ own: what is published reaches those who listen, and nothing is kept. */
import type { RawMessage, Session, SessionEnd, Transport } from '../../../src/broker/broker.ts';
import type { ListeningClock } from '../../../src/broker/session/listening-clock.ts';
import { MEMORY } from './kind.ts';

/** As on a network, data proves regularly that messages can arrive. */
const PROOF_MS = 100;

type Listeners = Set<(message: RawMessage) => void>;

/** The listeners of each memory that exists. */
const memories = new Map<string, Listeners>();

/** Makes a memory. @returns a function that publishes, and returns how many listen */
export function remember(name: string): (message: RawMessage) => number {
  const listeners: Listeners = new Set();
  memories.set(name, listeners);
  return (message) => {
    for (const listener of [...listeners]) listener(message);
    return listeners.size;
  };
}

export function createMemoryTransport(_: unknown, listening: ListeningClock): Transport {
  return {
    async open({ url, signal }) {
      if (signal.aborted) return { kind: 'stopped' };
      const listeners = MEMORY.owns(url) ? memories.get(url.name) : undefined;
      if (listeners === undefined) return { kind: 'unreachable', reason: 'forgotten' };
      // As on a network, opening takes a turn of the event loop.
      await new Promise(setImmediate);
      if (signal.aborted) return { kind: 'stopped' };
      return { kind: 'opened', session: openSession(listeners, listening, signal) };
    },
    now: () => listening.wallMs(performance.now(), Date.now()),
    listenedMs: () => listening.listenedMs,
    reachable: async (url) => MEMORY.owns(url) && memories.has(url.name),
  };
}

function openSession(listeners: Listeners, listening: ListeningClock, signal: AbortSignal): Session {
  const early: RawMessage[] = [];
  let take = (message: RawMessage): void => void early.push(message);
  const listener = (message: RawMessage): void => take({ ...message, arrivedAtMs: Date.now() });
  const { promise, resolve } = Promise.withResolvers<SessionEnd>();
  const prove = (): void => listening.proven(performance.now(), Date.now());
  listening.begin(performance.now(), Date.now());
  const proofs = setInterval(prove, PROOF_MS);
  listeners.add(listener);
  const end = (): void => {
    clearInterval(proofs);
    listeners.delete(listener);
    listening.end();
    resolve({ kind: 'stopped' });
  };
  signal.addEventListener('abort', end, { once: true });
  return {
    exchange: 'events',
    receive(deliver) {
      take = (message) => {
        prove();
        deliver(message, listening.listenedMs, listening.steadyMs);
      };
      for (const message of early) take(message);
      return promise;
    },
  };
}
