/**
 * The common part of all receivers: a server that listens on loopback only, knows its connections, and closes them. It
 * knows nothing of the protocol.
 */
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';

/** Where to listen. */
export interface LoopbackPlace {
  /** 0 picks a free port. */
  readonly port?: number;
  /** Another address of loopback than 127.0.0.1. */
  readonly host?: string;
  /** Of a Unix domain socket, instead of a port. */
  readonly path?: string;
}

export interface LoopbackServer {
  /** 0 where it listens on no port. */
  readonly port: number;
  /** Connections that are open now. */
  connections(): number;
  /** Connections that were ever made. */
  accepted(): number;
  /** Closes all connections, even during requests. */
  stop(): Promise<void>;
}

/** @param server that does not listen yet */
export async function listenOnLoopback(server: Server, place: LoopbackPlace): Promise<LoopbackServer> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  server.on('connection', (socket: Socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  if (place.path !== undefined) server.listen(place.path);
  else server.listen(place.port ?? 0, place.host ?? '127.0.0.1');
  await once(server, 'listening');
  return {
    port: place.path === undefined ? portOf(server.address()) : 0,
    connections: () => sockets.size,
    accepted: () => accepted,
    async stop() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

export function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('it does not listen on a port');
  return address.port;
}
