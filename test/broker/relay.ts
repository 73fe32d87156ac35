/** A TCP relay before a server, that can fall silent as a network does that drops everything, or be cut. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { freePort } from '../real/free-port.ts';

export interface Relay {
  readonly port: number;
  /** Carries nothing any more, in either direction, and closes nothing; new connections are taken and get no answer. */
  silence(): void;
  /** Takes nothing any more from either side, as a process that is stopped: senders have to wait. */
  stall(): void;
  /** Closes all connections, and new ones at once. */
  cut(): void;
  /** Carries everything again, for new connections; those there were are closed. */
  restore(): void;
  /** Resolves when all clients have closed their connections. */
  deserted(): Promise<void>;
}

export async function startRelay(t: TestContext, targetPort: number): Promise<Relay> {
  const port = await freePort();
  const sockets = new Set<Socket>();
  const clients = new Set<Promise<unknown>>();
  let state: 'carrying' | 'silent' | 'cut' = 'carrying';
  const server = createServer((client) => {
    if (state === 'cut') {
      client.destroy();
      return;
    }
    const target = connect({ host: '127.0.0.1', port: targetPort });
    clients.add(once(client, 'close'));
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    if (state === 'silent') client.resume();
    else client.pipe(target).pipe(client);
  });
  await once(server.listen({ host: '127.0.0.1', port }), 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  function destroyAll(): void {
    for (const socket of sockets) socket.destroy();
  }
  return {
    port,
    cut() {
      state = 'cut';
      destroyAll();
    },
    restore() {
      state = 'carrying';
      destroyAll();
    },
    silence() {
      state = 'silent';
      for (const socket of sockets) {
        socket.unpipe();
        // Reading on is what shows that the other side has closed.
        socket.resume();
      }
    },
    stall() {
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    deserted: async () => void (await Promise.all(clients)),
  };
}
