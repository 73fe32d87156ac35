/** A TCP relay in front of a server, which can go silent like a network that drops all packets, or be cut. */
import { EventEmitter, on, once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { freePort } from '../real/free-port.ts';

export interface Relay {
  readonly port: number;
  /** Stops relaying in both directions without closing; new connections are accepted and get no reply. */
  silence(): void;
  /** Stops reading from both sides, like a suspended process: senders have to wait. */
  stall(): void;
  /** Closes all connections, and new ones at once. */
  cut(): void;
  /** Relays again for new connections; existing ones are closed. */
  restore(): void;
  /** Resolves when a client has sent that text in one piece. */
  hasSent(text: string): Promise<void>;
  /** Resolves when all clients have closed their connections. */
  deserted(): Promise<void>;
}

export async function startRelay(t: TestContext, targetPort: number): Promise<Relay> {
  const port = await freePort();
  const sockets = new Set<Socket>();
  const clients = new Set<Promise<unknown>>();
  const sent = new EventEmitter().setMaxListeners(0);
  let state: 'carrying' | 'silent' | 'cut' = 'carrying';
  const server = createServer((client) => {
    if (state === 'cut') {
      client.destroy();
      return;
    }
    const target = connect({ host: '127.0.0.1', port: targetPort });
    // Also after an error.
    clients.add(new Promise<void>((resolve) => client.once('close', () => resolve())));
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    if (state === 'silent') client.resume();
    else client.pipe(target).pipe(client);
    client.on('data', (piece: Buffer) => sent.emit('piece', piece.toString('latin1')));
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
        // Only reading shows that the other side has closed.
        socket.resume();
      }
    },
    stall() {
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    async hasSent(text) {
      for await (const [piece] of on(sent, 'piece')) if (String(piece).includes(text)) return;
    },
    deserted: async () => void (await Promise.all(clients)),
  };
}
